"""Two pairs of tasks hand data over by a named barrier each, but both pairs use the same one.

The two consumers, which come first, meet each other and read what has not been written yet.
"""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from case import Case, main

CASE = Case(rule="named-barrier", role="store.0", name="9", shows="wrong")


@triton.jit
def two_handovers(x_ptr, y_ptr, FIX: tl.constexpr):
    SECOND: tl.constexpr = 10 if FIX else 9
    first = tlx.local_alloc((128,), tl.float32, 1)
    second = tlx.local_alloc((128,), tl.float32, 1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            at = tl.arange(0, 128)
            tlx.local_store(first[0], tl.load(x_ptr + at))
            tlx.named_barrier_wait(9, 256)  # FAULT
        with tlx.async_task(num_warps=4):
            tlx.named_barrier_wait(9, 256)  # FAULT
            tl.store(y_ptr + tl.arange(0, 128), tlx.local_load(first[0]))
        with tlx.async_task(num_warps=4):
            at = 128 + tl.arange(0, 128)
            tlx.local_store(second[0], tl.load(x_ptr + at))
            tlx.named_barrier_wait(SECOND, 256)  # FAULT
        with tlx.async_task(num_warps=4):
            tlx.named_barrier_wait(SECOND, 256)  # FAULT
            tl.store(y_ptr + 128 + tl.arange(0, 128), tlx.local_load(second[0]))


def launch(FIX: bool):
    x = torch.randn(256, device="cuda", dtype=torch.float32)
    y = torch.zeros_like(x)
    two_handovers[(1,)](x, y, FIX=FIX)
    return y, x


if __name__ == "__main__":
    main(CASE, launch)
