"""A staging buffer is written again while the TMA store that was started from it may still read it.

Two stores may be in flight, but there is one buffer: the wait allows one more than there is room for.
"""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from case import Case, main
from triton.tools.tensor_descriptor import TensorDescriptor

CASE = Case(rule="async-not-waited", role="compute", name="staging", shows="wrong", params={"TILES": 4})

SIDE = tl.constexpr(64)


@triton.jit
def staged_tiles(x_ptr, y_desc, TILES, FIX: tl.constexpr):
    at = tl.arange(0, SIDE)[:, None] * SIDE + tl.arange(0, SIDE)[None, :]
    staging = tlx.local_alloc((SIDE, SIDE), tl.float16, 1)
    x = tl.load(x_ptr + at)
    for t in range(TILES):
        if FIX:
            tlx.async_descriptor_store_wait(0)
        else:
            tlx.async_descriptor_store_wait(1)  # FAULT
        tlx.local_store(staging[0], x)  # FAULT
        tlx.fence("async_shared")
        tlx.async_descriptor_store(y_desc, staging[0], [t * SIDE, 0])
        x += 1
    tlx.async_descriptor_store_wait(0)


def launch(FIX: bool, TILES: int):
    side = SIDE.value
    x = torch.randn((side, side), device="cuda", dtype=torch.float16)
    y = torch.zeros((TILES, side, side), device="cuda", dtype=torch.float16)
    staged_tiles[(1,)](x, TensorDescriptor.from_tensor(y.view(TILES * side, side), [side, side]), TILES, FIX=FIX)
    return y, x + torch.arange(TILES, device="cuda")[:, None, None]


if __name__ == "__main__":
    main(CASE, launch)
