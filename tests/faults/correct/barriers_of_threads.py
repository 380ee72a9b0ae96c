"""All threads of four warps release a slot by themselves, at a barrier that counts each of them.

The count is 128, of one arrival in the source.
"""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx

SHAPES = ({"K": 1}, {"K": 4})

SIZE = tl.constexpr(128)


@triton.jit
def released_by_threads(x_ptr, y_ptr, K):
    rows = tlx.local_alloc((SIZE,), tl.float32, 1)
    full = tlx.alloc_barriers(1)
    empty = tlx.alloc_warp_barrier(1, num_warps=4)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            for k in range(K):
                values = tl.load(x_ptr + k * SIZE + tl.arange(0, SIZE))
                tlx.barrier_wait(empty[0], (k & 1) ^ 1)
                tlx.local_store(rows[0], values * 2)
                tlx.barrier_arrive(full[0])
        with tlx.async_task(num_warps=4):
            for k in range(K):
                tlx.barrier_wait(full[0], k & 1)
                values = tlx.local_load(rows[0])
                tlx.barrier_arrive(empty[0])
                tl.store(y_ptr + k * SIZE + tl.arange(0, SIZE), values)


def launch(K: int):
    x = torch.randn((K, SIZE.value), device="cuda", dtype=torch.float32)
    y = torch.zeros_like(x)
    released_by_threads[(1,)](x, y, K)
    return y, 2 * x


if __name__ == "__main__":
    for shape in SHAPES:
        torch.testing.assert_close(*launch(**shape), rtol=1e-2, atol=1e-2)
