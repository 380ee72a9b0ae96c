"""The consumer skips the wait of every third step, as if two steps shared a slot there.

All accesses are ordered, but at those steps it reads the slot again that it has read before.
"""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from case import Case, main
from triton.tools.tensor_descriptor import TensorDescriptor

CASE = Case(rule="slot-reuse", role="epilogue", name="tiles", shows="wrong", params={"K": 6})

SIDE = tl.constexpr(64)


@triton.jit
def lagging_consumer(x_desc, y_ptr, K, FIX: tl.constexpr):
    tiles = tlx.local_alloc((SIDE, SIDE), tl.float16, 2)
    full = tlx.alloc_barriers(2)
    empty = tlx.alloc_barriers(2)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            at = tl.arange(0, SIDE)[:, None] * SIDE + tl.arange(0, SIDE)[None, :]
            n = 0
            for k in range(K):
                if FIX or k % 3 != 2:
                    if k > 0:
                        tlx.barrier_arrive(empty[(n - 1) % 2])
                    tlx.barrier_wait(full[n % 2], (n // 2) & 1)
                    n += 1
                values = tlx.local_load(tiles[(n - 1) % 2])  # FAULT
                tlx.fence("async_shared")
                tl.store(y_ptr + k * SIDE * SIDE + at, values)
        with tlx.async_task(num_warps=1):
            filled = K if FIX else K - K // 3
            for n in range(filled):
                tlx.barrier_wait(empty[n % 2], ((n // 2) & 1) ^ 1)
                tlx.barrier_expect_bytes(full[n % 2], SIDE * SIDE * 2)
                tlx.async_descriptor_load(x_desc, tiles[n % 2], [n * SIDE, 0], full[n % 2])


def launch(FIX: bool, K: int):
    side = SIDE.value
    x = torch.randn((K * side, side), device="cuda", dtype=torch.float16)
    y = torch.zeros_like(x)
    lagging_consumer[(1,)](TensorDescriptor.from_tensor(x, [side, side]), y, K, FIX=FIX)
    return y, x


if __name__ == "__main__":
    main(CASE, launch)
