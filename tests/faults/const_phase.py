"""The wait for an empty staging slot has a constant parity, although its barrier completes once per tile.

Tile 1 overwrites a slot that is still being stored or, if the release came first, waits for one that only it leads to.
"""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from case import Case, main
from triton.tools.tensor_descriptor import TensorDescriptor

CASE = Case(rule="parity", role="compute", name="empty", shows="wrong", params={"TILES": 4, "S": 1})
SIDE = tl.constexpr(64)


@triton.jit
def doubled_tiles(x_ptr, y_desc, TILES, S: tl.constexpr, FIX: tl.constexpr):
    staging = tlx.local_alloc((SIDE, SIDE), tl.float16, S)
    full = tlx.alloc_barriers(S)
    empty = tlx.alloc_barriers(S)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            at = tl.arange(0, SIDE)[:, None] * SIDE + tl.arange(0, SIDE)[None, :]
            for t in range(TILES):
                x = tl.load(x_ptr + t * SIDE * SIDE + at)
                if FIX:
                    tlx.barrier_wait(empty[t % S], ((t // S) & 1) ^ 1)
                else:
                    tlx.barrier_wait(empty[t % S], 1)  # FAULT
                tlx.local_store(staging[t % S], x + x)
                tlx.fence("async_shared")
                tlx.barrier_arrive(full[t % S])
        with tlx.async_task(num_warps=1):
            for t in range(TILES):
                tlx.barrier_wait(full[t % S], (t // S) & 1)
                tlx.async_descriptor_store(y_desc, staging[t % S], [t * SIDE, 0])
                tlx.async_descriptor_store_wait(0)
                tlx.barrier_arrive(empty[t % S])


def launch(FIX: bool, TILES: int, S: int):
    side = SIDE.value
    x = torch.randn((TILES * side, side), device="cuda", dtype=torch.float16)
    y = torch.zeros_like(x)
    doubled_tiles[(1,)](x, TensorDescriptor.from_tensor(y, [side, side]), TILES, S=S, FIX=FIX)
    return y, x + x


if __name__ == "__main__":
    main(CASE, launch)
