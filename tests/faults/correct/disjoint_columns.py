"""Two tasks read and write the left and the right half of one accumulator's columns at the same time.

Both hold views of the same slot, which do not overlap.
"""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx

TLXVIZ_DEVICE = "sim:b200"
SHAPES = ({"ROUNDS": 1}, {"ROUNDS": 3})

ROWS = tl.constexpr(128)
SIDE = tl.constexpr(64)


@triton.jit
def halves_of_columns(x_ptr, y_ptr, ROUNDS):
    acc = tlx.local_alloc((ROWS, SIDE), tl.float32, 1, tlx.storage_kind.tmem)
    filled = tlx.alloc_barriers(1)
    done = tlx.alloc_barriers(1, arrive_count=2)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            at = tl.arange(0, ROWS)[:, None] * SIDE + tl.arange(0, SIDE)[None, :]
            tlx.local_store(acc[0], tl.load(x_ptr + at))
            tlx.barrier_arrive(filled[0])
            tlx.barrier_wait(done[0], 0)
            tl.store(y_ptr + at, tlx.local_load(acc[0]))
        with tlx.async_task(num_warps=4, replicate=2):
            half: tl.constexpr = tlx.async_task_replica_id()
            part = tlx.local_slice(acc[0], [0, half * (SIDE // 2)], [ROWS, SIDE // 2])
            tlx.barrier_wait(filled[0], 0)
            for _ in range(ROUNDS):
                tlx.local_store(part, tlx.local_load(part) + (half + 1))
            tlx.barrier_arrive(done[0])


def launch(ROUNDS: int):
    x = torch.randn((ROWS.value, SIDE.value), device="cuda", dtype=torch.float32)
    y = torch.zeros_like(x)
    halves_of_columns[(1,)](x, y, ROUNDS)
    return y, x + ROUNDS * (1 + (torch.arange(SIDE.value, device="cuda") >= SIDE.value // 2))


if __name__ == "__main__":
    for shape in SHAPES:
        torch.testing.assert_close(*launch(**shape), rtol=1e-2, atol=1e-2)
