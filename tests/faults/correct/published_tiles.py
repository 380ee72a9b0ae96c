"""A scheduler publishes tile numbers through a slot that two roles of different sizes read before they release it.

Its end is one more publication, after which nobody releases the slot.
"""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx

SHAPES = ({"TILES": 0}, {"TILES": 1}, {"TILES": 5})


@triton.jit
def scheduled_tiles(y_ptr, TILES):
    next_tile = tlx.local_alloc((32,), tl.int32, 1)
    published = tlx.alloc_barriers(1)
    free = tlx.alloc_barriers(1, arrive_count=2)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            i = 0
            tile = 0
            while tile >= 0:
                tlx.barrier_wait(published[0], i & 1)
                tile = tl.max(tlx.local_load(next_tile[0]), 0)
                if tile >= 0:
                    tlx.barrier_arrive(free[0])
                    at = y_ptr + tile * 64 + 32 + tl.arange(0, 32)
                    tl.store(at, tl.load(at) + 2)
                i += 1
        with tlx.async_task(num_warps=1):
            i = 0
            tile = 0
            while tile >= 0:
                tlx.barrier_wait(published[0], i & 1)
                tile = tl.max(tlx.local_load(next_tile[0]), 0)
                if tile >= 0:
                    tlx.barrier_arrive(free[0])
                    at = y_ptr + tile * 64 + tl.arange(0, 32)
                    tl.store(at, tl.load(at) + 1)
                i += 1
        with tlx.async_task(num_warps=1):
            for i in range(TILES + 1):
                tlx.barrier_wait(free[0], (i & 1) ^ 1)
                tile = i if i < TILES else -1
                tlx.local_store(next_tile[0], tl.zeros((32,), tl.int32) + tile)
                tlx.barrier_arrive(published[0])


def launch(TILES: int):
    y = torch.zeros((max(TILES, 1), 2, 32), device="cuda", dtype=torch.int32)
    scheduled_tiles[(1,)](y, TILES)
    return y[:TILES], torch.tensor([1, 2], device="cuda", dtype=torch.int32)[:, None].expand(TILES, 2, 32)


if __name__ == "__main__":
    for shape in SHAPES:
        torch.testing.assert_close(*launch(**shape), rtol=1e-2, atol=1e-2)
