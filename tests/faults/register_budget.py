"""Three tasks of four warps ask for 240 registers a thread each, more than an SM has.

The compiler drops the requests of all tasks then, without a word, and every thread gets what the launch gives it.
"""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from case import Case, main

CASE = Case(rule="registers", role="store.1", name="", shows="nothing", params={"K": 2})

SIZE = tl.constexpr(128)


@triton.jit
def greedy_tasks(x_ptr, y_ptr, K, FIX: tl.constexpr):
    REGISTERS: tl.constexpr = 152 if FIX else 240
    with tlx.async_tasks():
        with tlx.async_task("default"):
            at = tl.arange(0, SIZE)
            for k in range(K):
                tl.store(y_ptr + (k * 4 + 3) * SIZE + at, tl.load(x_ptr + (k * 4 + 3) * SIZE + at) * 2)
        with tlx.async_task(num_warps=4, num_regs=REGISTERS, replicate=3):  # FAULT
            at = tl.arange(0, SIZE)
            part = tlx.async_task_replica_id()
            for k in range(K):
                tl.store(y_ptr + (k * 4 + part) * SIZE + at, tl.load(x_ptr + (k * 4 + part) * SIZE + at) * 2)


def launch(FIX: bool, K: int):
    x = torch.randn((K, 4, SIZE.value), device="cuda", dtype=torch.float32)
    y = torch.zeros_like(x)
    greedy_tasks[(1,)](x, y, K, FIX=FIX)
    return y, 2 * x


if __name__ == "__main__":
    main(CASE, launch)
