"""One task writes an operand to shared memory, another one multiplies it, and no fence makes the stores seen by wgmma.

The fence stands behind the arrival, where it comes too late for the task that the arrival lets go.
"""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from case import Case, main

CASE = Case(rule="proxy-fence", role="compute", name="left", shows="nothing", params={"STEPS": 3})

SIDE = tl.constexpr(64)


@triton.jit
def converted_operand(x_ptr, w_ptr, y_ptr, STEPS, FIX: tl.constexpr):
    left = tlx.local_alloc((SIDE, SIDE), tl.float16, 2)
    right = tlx.local_alloc((SIDE, SIDE), tl.float16, 1)
    full = tlx.alloc_barriers(2)
    empty = tlx.alloc_barriers(2)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            at = tl.arange(0, SIDE)[:, None] * SIDE + tl.arange(0, SIDE)[None, :]
            tlx.local_store(right[0], tl.load(w_ptr + at))
            tlx.fence("async_shared")
            for n in range(STEPS):
                x = tl.load(x_ptr + n * SIDE * SIDE + at)
                tlx.barrier_wait(empty[n % 2], ((n // 2) & 1) ^ 1)
                tlx.local_store(left[n % 2], x.to(tl.float16))  # FAULT
                if FIX:
                    tlx.fence("async_shared")
                tlx.barrier_arrive(full[n % 2])
                if not FIX:
                    tlx.fence("async_shared")
        with tlx.async_task(num_warps=4):
            at = tl.arange(0, SIDE)[:, None] * SIDE + tl.arange(0, SIDE)[None, :]
            acc = tl.zeros((SIDE, SIDE), tl.float32)
            for n in range(STEPS):
                tlx.barrier_wait(full[n % 2], (n // 2) & 1)
                acc = tlx.async_dot(left[n % 2], right[0], acc)  # FAULT
                acc = tlx.async_dot_wait(0, acc)
                tlx.barrier_arrive(empty[n % 2])
            tl.store(y_ptr + at, acc)


def launch(FIX: bool, STEPS: int):
    side = SIDE.value
    x = torch.randn((STEPS, side, side), device="cuda", dtype=torch.float32)
    w = torch.randn((side, side), device="cuda", dtype=torch.float16)
    y = torch.zeros((side, side), device="cuda", dtype=torch.float32)
    converted_operand[(1,)](x, w, y, STEPS, FIX=FIX)
    return y, (x.half().float() @ w.float()).sum(0)


if __name__ == "__main__":
    main(CASE, launch)
