"""A barrier counts three arrivals, which come from three tasks that store a third of a row each.

No task arrives more than once in a phase.
"""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx

SHAPES = ({"K": 1}, {"K": 4})

SIZE = tl.constexpr(128)


@triton.jit
def rows_in_parts(x_ptr, y_ptr, K):
    parts = tlx.local_alloc((SIZE,), tl.float32, 3)
    full = tlx.alloc_barriers(1, arrive_count=3)
    empty = tlx.alloc_barriers(1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            at = tl.arange(0, SIZE)
            for k in range(K):
                tlx.barrier_wait(full[0], k & 1)
                total = tlx.local_load(parts[0]) + tlx.local_load(parts[1]) + tlx.local_load(parts[2])
                tlx.barrier_arrive(empty[0])
                tl.store(y_ptr + k * SIZE + at, total)
        with tlx.async_task(num_warps=1, replicate=3):
            part = tlx.async_task_replica_id()
            at = tl.arange(0, SIZE)
            for k in range(K):
                values = tl.load(x_ptr + (k * 3 + part) * SIZE + at)
                tlx.barrier_wait(empty[0], (k & 1) ^ 1)
                tlx.local_store(parts[part], values)
                tlx.barrier_arrive(full[0])


def launch(K: int):
    x = torch.randn((K, 3, SIZE.value), device="cuda", dtype=torch.float32)
    y = torch.zeros((K, SIZE.value), device="cuda", dtype=torch.float32)
    rows_in_parts[(1,)](x, y, K)
    return y, x.sum(1)


if __name__ == "__main__":
    for shape in SHAPES:
        torch.testing.assert_close(*launch(**shape), rtol=1e-2, atol=1e-2)
