"""Two roles read tile numbers from a slot that the scheduler fills, and hand the slot back before they have read it.

The scheduler may already have stored the next number, or the end, so that a tile is left out or done twice.
"""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from case import Case, main

CASE = Case(rule="slot-reuse", role="store.0", name="next_tile", shows="nothing", params={"TILES": 6})


@triton.jit
def scheduled_tiles(y_ptr, TILES, FIX: tl.constexpr):
    """Each of two roles adds 1 to its half of every tile."""
    next_tile = tlx.local_alloc((32,), tl.int32, 1)
    published = tlx.alloc_barriers(1)
    free = tlx.alloc_barriers(1, arrive_count=2)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            for i in range(TILES + 1):
                tlx.barrier_wait(free[0], (i & 1) ^ 1)
                tile = i if i < TILES else -1
                tlx.local_store(next_tile[0], tl.zeros((32,), tl.int32) + tile)
                tlx.barrier_arrive(published[0])
        with tlx.async_task(num_warps=1, replicate=2):
            half = tlx.async_task_replica_id() * 32 + tl.arange(0, 32)
            i = 0
            tile = 0
            while tile >= 0:
                tlx.barrier_wait(published[0], i & 1)
                if not FIX:
                    tlx.barrier_arrive(free[0])  # FAULT
                tile = tl.max(tlx.local_load(next_tile[0]), 0)  # FAULT
                if FIX:
                    tlx.barrier_arrive(free[0])
                done = tl.load(y_ptr + tile * 64 + half, mask=half + tile * 64 >= 0)
                tl.store(y_ptr + tile * 64 + half, done + 1, mask=half + tile * 64 >= 0)
                i += 1


def launch(FIX: bool, TILES: int):
    y = torch.zeros(TILES * 64, device="cuda", dtype=torch.int32)
    scheduled_tiles[(1,)](y, TILES, FIX=FIX)
    return y, torch.ones_like(y)


if __name__ == "__main__":
    main(CASE, launch)
