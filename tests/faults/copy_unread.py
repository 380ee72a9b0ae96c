"""A consumer waits for the barrier of the slot before the one that it reads.

The copy into its own slot may still be on the way, so that it reads what was there before, or part of both.
"""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from case import Case, main
from triton.tools.tensor_descriptor import TensorDescriptor

CASE = Case(rule="async-not-waited", role="epilogue", name="tiles", shows="error", params={"K": 5, "S": 2})

SIDE = tl.constexpr(64)


@triton.jit
def one_slot_behind(x_desc, y_ptr, K, S: tl.constexpr, FIX: tl.constexpr):
    tiles = tlx.local_alloc((SIDE, SIDE), tl.float16, S)
    full = tlx.alloc_barriers(S)
    empty = tlx.alloc_barriers(S)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            at = tl.arange(0, SIDE)[:, None] * SIDE + tl.arange(0, SIDE)[None, :]
            for k in range(K):
                slot = k % S
                if FIX:
                    tlx.barrier_wait(full[slot], (k // S) & 1)
                elif k > 0:
                    tlx.barrier_wait(full[(k - 1) % S], ((k - 1) // S) & 1)
                values = tlx.local_load(tiles[slot])  # FAULT
                tlx.fence("async_shared")
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
    one_slot_behind[(1,)](TensorDescriptor.from_tensor(x, [side, side]), y, K, S=S, FIX=FIX)
    return y, x


if __name__ == "__main__":
    main(CASE, launch)
