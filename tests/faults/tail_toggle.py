"""The last step of each tile waits for `full` but does not toggle the phase: STEPS waits, STEPS - 1 toggles.

From the second tile on, the consumer asks for a phase that it has consumed already, and multiplies stale operands.
"""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from case import Case, main

CASE = Case(rule="parity", role="mma", name="full", shows="hang", params={"TILES": 3, "STEPS": 2})
SIDE = tl.constexpr(64)


@triton.jit
def summed_products(x_ptr, w_ptr, y_ptr, TILES, STEPS, FIX: tl.constexpr):
    left = tlx.local_alloc((SIDE, SIDE), tl.float16, 1)
    right = tlx.local_alloc((SIDE, SIDE), tl.float16, 1)
    full = tlx.alloc_barriers(1)
    empty = tlx.alloc_barriers(1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            at = tl.arange(0, SIDE)[:, None] * SIDE + tl.arange(0, SIDE)[None, :]
            tlx.local_store(right[0], tl.load(w_ptr + at))
            for n in range(TILES * STEPS):
                x = tl.load(x_ptr + n * SIDE * SIDE + at)
                tlx.barrier_wait(empty[0], (n & 1) ^ 1)
                tlx.local_store(left[0], x)
                tlx.fence("async_shared")
                tlx.barrier_arrive(full[0])
        with tlx.async_task(num_warps=4):
            at = tl.arange(0, SIDE)[:, None] * SIDE + tl.arange(0, SIDE)[None, :]
            phase = 0
            for t in range(TILES):
                acc = tl.zeros((SIDE, SIDE), tl.float32)
                for s in range(STEPS):
                    tlx.barrier_wait(full[0], phase)  # FAULT
                    acc = tlx.async_dot(left[0], right[0], acc)
                    acc = tlx.async_dot_wait(0, acc)
                    tlx.barrier_arrive(empty[0])
                    if FIX:
                        phase ^= 1
                    else:
                        phase = phase ^ (s < STEPS - 1).to(tl.int32)
                tl.store(y_ptr + t * SIDE * SIDE + at, acc)


def launch(FIX: bool, TILES: int, STEPS: int):
    side = SIDE.value
    x = torch.randn((TILES, STEPS, side, side), device="cuda", dtype=torch.float16)
    w = torch.randn((side, side), device="cuda", dtype=torch.float16)
    y = torch.zeros((TILES, side, side), device="cuda", dtype=torch.float32)
    summed_products[(1,)](x, w, y, TILES, STEPS, FIX=FIX)
    return y, (x.float() @ w.float()).sum(1)


if __name__ == "__main__":
    main(CASE, launch)
