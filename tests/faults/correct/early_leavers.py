"""A persistent kernel with more CTAs than tiles: some CTAs have one tile more than others, and some have none.

In those all roles end at once, with barriers that nobody ever touched.
"""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from triton.tools.tensor_descriptor import TensorDescriptor

SHAPES = ({"CTAS": 3, "TILES": 4}, {"CTAS": 4, "TILES": 2})

SIDE = tl.constexpr(64)


@triton.jit
def spread_tiles(x_desc, y_ptr, TILES):
    tiles = tlx.local_alloc((SIDE, SIDE), tl.float16, 2)
    full = tlx.alloc_barriers(2)
    empty = tlx.alloc_barriers(2)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            at = tl.arange(0, SIDE)[:, None] * SIDE + tl.arange(0, SIDE)[None, :]
            n = 0
            for t in range(tl.program_id(0), TILES, tl.num_programs(0)):
                tlx.barrier_wait(full[n % 2], (n // 2) & 1)
                values = tlx.local_load(tiles[n % 2])
                tlx.fence("async_shared")
                tlx.barrier_arrive(empty[n % 2])
                tl.store(y_ptr + t * SIDE * SIDE + at, values)
                n += 1
        with tlx.async_task(num_warps=1):
            n = 0
            for t in range(tl.program_id(0), TILES, tl.num_programs(0)):
                tlx.barrier_wait(empty[n % 2], ((n // 2) & 1) ^ 1)
                tlx.barrier_expect_bytes(full[n % 2], SIDE * SIDE * 2)
                tlx.async_descriptor_load(x_desc, tiles[n % 2], [t * SIDE, 0], full[n % 2])
                n += 1


def launch(CTAS: int, TILES: int):
    side = SIDE.value
    x = torch.randn((TILES * side, side), device="cuda", dtype=torch.float16)
    y = torch.zeros_like(x)
    spread_tiles[(CTAS,)](TensorDescriptor.from_tensor(x, [side, side]), y, TILES)
    return y, x


if __name__ == "__main__":
    for shape in SHAPES:
        torch.testing.assert_close(*launch(**shape), rtol=1e-2, atol=1e-2)
