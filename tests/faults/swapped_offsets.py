"""The producer gives the coordinates of a tile in the wrong order, and from the second step on they are out of range.

TMA fills what is out of range with zeros and counts all bytes, so that nothing hangs and the sum is wrong.
"""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from case import Case, main
from triton.tools.tensor_descriptor import TensorDescriptor

CASE = Case(rule="descriptor", role="load", name="x_desc", shows="wrong", params={"K": 3})

SIDE = tl.constexpr(64)


@triton.jit
def sum_of_columns(x_desc, y_ptr, K, FIX: tl.constexpr):
    tiles = tlx.local_alloc((SIDE, SIDE), tl.float16, 2)
    full = tlx.alloc_barriers(2)
    empty = tlx.alloc_barriers(2)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            at = tl.arange(0, SIDE)[:, None] * SIDE + tl.arange(0, SIDE)[None, :]
            total = tl.zeros((SIDE, SIDE), tl.float32)
            for k in range(K):
                tlx.barrier_wait(full[k % 2], (k // 2) & 1)
                total += tlx.local_load(tiles[k % 2]).to(tl.float32)
                tlx.fence("async_shared")
                tlx.barrier_arrive(empty[k % 2])
            tl.store(y_ptr + at, total)
        with tlx.async_task(num_warps=1):
            for k in range(K):
                tlx.barrier_wait(empty[k % 2], ((k // 2) & 1) ^ 1)
                tlx.barrier_expect_bytes(full[k % 2], SIDE * SIDE * 2)
                if FIX:
                    tlx.async_descriptor_load(x_desc, tiles[k % 2], [0, k * SIDE], full[k % 2])
                else:
                    tlx.async_descriptor_load(x_desc, tiles[k % 2], [k * SIDE, 0], full[k % 2])  # FAULT


def launch(FIX: bool, K: int):
    side = SIDE.value
    x = torch.randn((side, K * side), device="cuda", dtype=torch.float16)
    y = torch.zeros((side, side), device="cuda", dtype=torch.float32)
    sum_of_columns[(1,)](TensorDescriptor.from_tensor(x, [side, side]), y, K, FIX=FIX)
    return y, x.float().view(side, K, side).sum(1)


if __name__ == "__main__":
    main(CASE, launch)
