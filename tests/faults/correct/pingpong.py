"""Two consumers multiply in turn: each waits at a named barrier, at which the other one has arrived beforehand.

The first turn is handed over before the loop, and the last one by nobody.
"""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx

SHAPES = ({"STEPS": 1}, {"STEPS": 4})

SIDE = tl.constexpr(64)


@triton.jit
def alternating(a_ptr, b_ptr, y_ptr, STEPS):
    a = tlx.local_alloc((SIDE, SIDE), tl.float16, 2)
    b = tlx.local_alloc((SIDE, SIDE), tl.float16, 1)
    ready = tlx.alloc_barriers(1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            at = tl.arange(0, SIDE)[:, None] * SIDE + tl.arange(0, SIDE)[None, :]
            tlx.local_store(a[0], tl.load(a_ptr + at))
            tlx.local_store(a[1], tl.load(a_ptr + SIDE * SIDE + at))
            tlx.local_store(b[0], tl.load(b_ptr + at))
            tlx.fence("async_shared")
            tlx.barrier_arrive(ready[0])
        with tlx.async_task(num_warps=4, replicate=2):
            turn = tlx.async_task_replica_id()
            tlx.barrier_wait(ready[0], 0)
            if turn == 1:
                tlx.named_barrier_arrive(9, 256)
            acc = tl.zeros((SIDE, SIDE), tl.float32)
            for i in range(STEPS):
                tlx.named_barrier_wait(9 + turn, 256)
                acc = tlx.async_dot(a[turn], b[0], acc)
                if turn == 0 or i < STEPS - 1:
                    tlx.named_barrier_arrive(10 - turn, 256)
                acc = tlx.async_dot_wait(0, acc)
            at = tl.arange(0, SIDE)[:, None] * SIDE + tl.arange(0, SIDE)[None, :]
            tl.store(y_ptr + turn * SIDE * SIDE + at, acc)


def launch(STEPS: int):
    side = SIDE.value
    a = torch.randn((2, side, side), device="cuda", dtype=torch.float16)
    b = torch.randn((side, side), device="cuda", dtype=torch.float16)
    y = torch.zeros((2, side, side), device="cuda", dtype=torch.float32)
    alternating[(1,)](a, b, y, STEPS)
    return y, STEPS * (a.float() @ b.float())


if __name__ == "__main__":
    for shape in SHAPES:
        torch.testing.assert_close(*launch(**shape), rtol=1e-2, atol=1e-2)
