"""A consumer gives its slot back to the producer first, and then reads it.

The next copy may land in the slot between the release and the read.
"""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from case import Case, main
from triton.tools.tensor_descriptor import TensorDescriptor

CASE = Case(rule="slot-reuse", role="epilogue", name="tiles", shows="nothing", params={"K": 5, "S": 2})

SIDE = tl.constexpr(64)


@triton.jit
def released_too_early(x_desc, y_ptr, K, S: tl.constexpr, FIX: tl.constexpr):
    tiles = tlx.local_alloc((SIDE, SIDE), tl.float16, S)
    full = tlx.alloc_barriers(S)
    empty = tlx.alloc_barriers(S)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            at = tl.arange(0, SIDE)[:, None] * SIDE + tl.arange(0, SIDE)[None, :]
            for k in range(K):
                slot = k % S
                tlx.barrier_wait(full[slot], (k // S) & 1)
                if not FIX:
                    tlx.barrier_arrive(empty[slot])  # FAULT
                values = tlx.local_load(tiles[slot])  # FAULT
                tlx.fence("async_shared")
                if FIX:
                    tlx.barrier_arrive(empty[slot])
                tl.store(y_ptr + k * SIDE * SIDE + at, values)
        with tlx.async_task(num_warps=1):
            for k in range(K):
                slot = k % S
                tlx.barrier_wait(empty[slot], ((k // S) & 1) ^ 1)
                tlx.barrier_expect_bytes(full[slot], SIDE * SIDE * 2)
                tlx.async_descriptor_load(x_desc, tiles[slot], [k * SIDE, 0], full[slot])  # FAULT


def launch(FIX: bool, K: int, S: int):
    side = SIDE.value
    x = torch.randn((K * side, side), device="cuda", dtype=torch.float16)
    y = torch.zeros_like(x)
    released_too_early[(1,)](TensorDescriptor.from_tensor(x, [side, side]), y, K, S=S, FIX=FIX)
    return y, x


if __name__ == "__main__":
    main(CASE, launch)
