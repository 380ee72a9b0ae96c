"""Two tasks write the upper and the lower half of one tile at the same time, through views that do not overlap.

Only the whole tile is stored by TMA, when both have arrived.
"""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from triton.tools.tensor_descriptor import TensorDescriptor

SHAPES = ({"TILES": 1}, {"TILES": 3})

SIDE = tl.constexpr(64)
HALF = tl.constexpr(32)


@triton.jit
def halves_of_a_tile(x_ptr, y_desc, TILES):
    tile = tlx.local_alloc((SIDE, SIDE), tl.float16, 1)
    full = tlx.alloc_barriers(1, arrive_count=2)
    empty = tlx.alloc_barriers(1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            for t in range(TILES):
                tlx.barrier_wait(full[0], t & 1)
                tlx.async_descriptor_store(y_desc, tile[0], [t * SIDE, 0])
                tlx.async_descriptor_store_wait(0)
                tlx.barrier_arrive(empty[0])
        with tlx.async_task(num_warps=4, replicate=2):
            HALVES: tl.constexpr = tlx.async_task_replica_id()
            row = HALVES * HALF + tl.arange(0, HALF)
            at = row[:, None] * SIDE + tl.arange(0, SIDE)[None, :]
            for t in range(TILES):
                x = tl.load(x_ptr + t * SIDE * SIDE + at)
                tlx.barrier_wait(empty[0], (t & 1) ^ 1)
                if HALVES == 0:
                    tlx.local_store(tlx.local_slice(tile[0], [0, 0], [HALF, SIDE]), x)
                else:
                    tlx.local_store(tlx.local_slice(tile[0], [HALF, 0], [HALF, SIDE]), x)
                tlx.fence("async_shared")
                tlx.barrier_arrive(full[0])


def launch(TILES: int):
    side = SIDE.value
    x = torch.randn((TILES * side, side), device="cuda", dtype=torch.float16)
    y = torch.zeros_like(x)
    halves_of_a_tile[(1,)](x, TensorDescriptor.from_tensor(y, [side, side]), TILES)
    return y, x


if __name__ == "__main__":
    for shape in SHAPES:
        torch.testing.assert_close(*launch(**shape), rtol=1e-2, atol=1e-2)
