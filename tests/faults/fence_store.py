"""A tile is written to shared memory by ordinary stores and handed to a TMA store without a fence between.

The TMA reads through another proxy, which may not see what was stored.
"""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from case import Case, main
from triton.tools.tensor_descriptor import TensorDescriptor

CASE = Case(rule="proxy-fence", role="compute", name="staging", shows="nothing", params={"TILES": 3})

SIDE = tl.constexpr(64)


@triton.jit
def unfenced_tiles(x_ptr, y_desc, TILES, FIX: tl.constexpr):
    staging = tlx.local_alloc((SIDE, SIDE), tl.float16, 2)
    full = tlx.alloc_barriers(2)
    empty = tlx.alloc_barriers(2)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            at = tl.arange(0, SIDE)[:, None] * SIDE + tl.arange(0, SIDE)[None, :]
            for t in range(TILES):
                x = tl.load(x_ptr + t * SIDE * SIDE + at)
                tlx.barrier_wait(empty[t % 2], ((t // 2) & 1) ^ 1)
                tlx.local_store(staging[t % 2], x + x)  # FAULT
                if FIX:
                    tlx.fence("async_shared")
                tlx.barrier_arrive(full[t % 2])
        with tlx.async_task(num_warps=1):
            for t in range(TILES):
                tlx.barrier_wait(full[t % 2], (t // 2) & 1)
                tlx.async_descriptor_store(y_desc, staging[t % 2], [t * SIDE, 0])  # FAULT
                tlx.async_descriptor_store_wait(0)
                tlx.barrier_arrive(empty[t % 2])


def launch(FIX: bool, TILES: int):
    side = SIDE.value
    x = torch.randn((TILES * side, side), device="cuda", dtype=torch.float16)
    y = torch.zeros_like(x)
    unfenced_tiles[(1,)](x, TensorDescriptor.from_tensor(y, [side, side]), TILES, FIX=FIX)
    return y, x + x


if __name__ == "__main__":
    main(CASE, launch)
