"""The thread count of a named barrier is that of one loader warp and the epilogue, but LOADERS warps arrive at it.

Five loaders complete a phase by themselves, and the epilogue is left waiting for arrivals that have been used up.
"""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from case import Case, main

CASE = Case(rule="named-barrier", role="epilogue", name="9", shows="hang", params={"LOADERS": 5})


@triton.jit
def gathered_rows(x_ptr, scale_ptr, y_ptr, LOADERS: tl.constexpr, FIX: tl.constexpr):
    THREADS: tl.constexpr = 128 + (LOADERS if FIX else 1) * 32
    rows = tlx.local_alloc((128,), tl.float32, LOADERS)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            at = tl.arange(0, 128)
            scale = tl.load(scale_ptr + tl.load(scale_ptr).to(tl.int32))
            tlx.named_barrier_wait(9, THREADS)  # FAULT
            for i in tl.static_range(LOADERS):
                tl.store(y_ptr + i * 128 + at, scale * tlx.local_load(rows[i]))
        with tlx.async_task(num_warps=1, replicate=LOADERS):
            row = tlx.async_task_replica_id()
            tlx.local_store(rows[row], tl.load(x_ptr + row * 128 + tl.arange(0, 128)))
            tlx.named_barrier_arrive(9, THREADS)  # FAULT


def launch(FIX: bool, LOADERS: int):
    x = torch.randn((LOADERS, 128), device="cuda", dtype=torch.float32)
    scale = torch.tensor([1.0, 0.5], device="cuda")  # the first number is the place of the scale
    y = torch.zeros_like(x)
    gathered_rows[(1,)](x, scale, y, LOADERS=LOADERS, FIX=FIX)
    return y, x / 2


if __name__ == "__main__":
    main(CASE, launch)
