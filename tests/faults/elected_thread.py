"""A producer of one warp lets only the thread of number 0 arrive, as one does in a kernel with a single role.

Threads are numbered within the CTA: thread 0 belongs to another task, nobody arrives, and the consumer waits for ever.
"""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from case import Case, main

CASE = Case(rule="lane", role="compute", name="full", shows="hang", params={"K": 3})

SIZE = tl.constexpr(128)


@triton.jit
def handed_over(x_ptr, y_ptr, K, FIX: tl.constexpr):
    rows = tlx.local_alloc((SIZE,), tl.float32, 1)
    full = tlx.alloc_barriers(1)
    empty = tlx.alloc_barriers(1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            for k in range(K):
                tlx.barrier_wait(full[0], k & 1)
                values = tlx.local_load(rows[0])
                tlx.barrier_arrive(empty[0])
                tl.store(y_ptr + k * SIZE + tl.arange(0, SIZE), values)
        with tlx.async_task(num_warps=1):
            for k in range(K):
                values = tl.load(x_ptr + k * SIZE + tl.arange(0, SIZE))
                tlx.barrier_wait(empty[0], (k & 1) ^ 1)
                tlx.local_store(rows[0], values * 2)
                if FIX:
                    tlx.barrier_arrive(full[0])
                else:
                    tlx.barrier_arrive(full[0], pred=tlx.thread_id(0) == 0)  # FAULT


def launch(FIX: bool, K: int):
    x = torch.randn((K, SIZE.value), device="cuda", dtype=torch.float32)
    y = torch.zeros_like(x)
    handed_over[(1,)](x, y, K, FIX=FIX)
    return y, 2 * x


if __name__ == "__main__":
    main(CASE, launch)
