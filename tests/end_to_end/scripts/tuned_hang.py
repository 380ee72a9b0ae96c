"""The second configuration waits for an arrival that nobody makes."""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.autotune([triton.Config({"N": n}) for n in (1, 2)], key=[])
@triton.jit
def stuck(x_ptr, N: tl.constexpr):
    bars = tlx.alloc_barriers(1, arrive_count=N)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.barrier_wait(bars[0], 0)
        with tlx.async_task(num_warps=4):
            tlx.barrier_arrive(bars[0], 1)


stuck[(1,)](torch.zeros(1, device="cuda"))
