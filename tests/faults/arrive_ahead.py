"""A producer announces one row after another at a named barrier and never waits for the consumer between.

It can come twice to the same phase, whose count is then reached without the consumer.
"""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from case import Case, main

CASE = Case(rule="named-barrier", role="compute", name="9", shows="hang", params={"K": 3})

SIZE = tl.constexpr(128)


@triton.jit
def announced_rows(x_ptr, y_ptr, K, FIX: tl.constexpr):
    rows = tlx.local_alloc((SIZE,), tl.float32, 4)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            for k in range(K):
                for i in range(8):  # slower than the producer
                    tl.store(y_ptr + k * SIZE + tl.arange(0, SIZE), tl.load(y_ptr + k * SIZE + tl.arange(0, SIZE)) + i)
                tlx.named_barrier_wait(9, 256)  # FAULT
                tl.store(y_ptr + k * SIZE + tl.arange(0, SIZE), tlx.local_load(rows[k % 4]))
                if FIX:
                    tlx.named_barrier_arrive(10, 256)
        with tlx.async_task(num_warps=4):
            for k in range(K):
                values = tl.load(x_ptr + k * SIZE + tl.arange(0, SIZE))
                if FIX and k > 0:
                    tlx.named_barrier_wait(10, 256)
                tlx.local_store(rows[k % 4], values * 2)
                tlx.named_barrier_arrive(9, 256)  # FAULT
            if FIX and K > 0:
                tlx.named_barrier_wait(10, 256)


def launch(FIX: bool, K: int):
    x = torch.randn((K, SIZE.value), device="cuda", dtype=torch.float32)
    y = torch.zeros_like(x)
    announced_rows[(1,)](x, y, K, FIX=FIX)
    return y, 2 * x


if __name__ == "__main__":
    main(CASE, launch)
