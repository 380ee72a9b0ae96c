"""Two tasks hand rows over by named barrier 2, which the compiler uses itself, for the warps of the first async task.

A sum over these warps meets on the same barrier, with another number of threads.
"""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from case import Case, main

CASE = Case(rule="named-barrier", role="store", name="2", shows="nothing", params={"K": 3})

SIZE = tl.constexpr(512)


@triton.jit
def sums_of_rows(x_ptr, y_ptr, K, FIX: tl.constexpr):
    FILLED: tl.constexpr = 9 if FIX else 2
    row = tlx.local_alloc((SIZE,), tl.float32, 1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            for k in range(K):
                values = tl.load(x_ptr + k * SIZE + tl.arange(0, SIZE))
                if k > 0:
                    tlx.named_barrier_wait(10, 256)
                tlx.local_store(row[0], values)
                tlx.named_barrier_arrive(FILLED, 256)  # FAULT
        with tlx.async_task(num_warps=4):
            for k in range(K):
                tlx.named_barrier_wait(FILLED, 256)  # FAULT
                total = tl.sum(tlx.local_load(row[0]), 0)
                if k < K - 1:
                    tlx.named_barrier_arrive(10, 256)
                tl.store(y_ptr + k, total)


def launch(FIX: bool, K: int):
    x = torch.randn((K, SIZE.value), device="cuda", dtype=torch.float32)
    y = torch.zeros(K, device="cuda", dtype=torch.float32)
    sums_of_rows[(1,)](x, y, K, FIX=FIX)
    return y, x.sum(1)


if __name__ == "__main__":
    main(CASE, launch)
