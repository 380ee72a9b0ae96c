"""Barriers are allocated inside the loop over tiles, so that each tile initialises anew what is a barrier in use.

A copy of the last tile that nobody has waited for may complete the new barrier before the new copy has landed.
"""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from case import Case, main
from triton.tools.tensor_descriptor import TensorDescriptor

CASE = Case(rule="barrier-lifetime", role="compute", name="came", shows="nothing", params={"TILES": 4})

SIDE = tl.constexpr(64)


@triton.jit
def tiles_and_notes(x_desc, y_ptr, TILES, FIX: tl.constexpr):
    """Each tile comes with notes, which every other tile adds to itself."""
    at = tl.arange(0, SIDE)[:, None] * SIDE + tl.arange(0, SIDE)[None, :]
    tile = tlx.local_alloc((SIDE, SIDE), tl.float16, 2)
    kept = tlx.alloc_barriers(2)
    for t in range(TILES):
        came = kept if FIX else tlx.alloc_barriers(2)  # FAULT
        phase = t & 1 if FIX else 0
        for i in tl.static_range(2):
            tlx.barrier_expect_bytes(came[i], SIDE * SIDE * 2)
            tlx.async_descriptor_load(x_desc, tile[i], [(2 * t + i) * SIDE, 0], came[i])
        tlx.barrier_wait(came[0], phase)
        values = tlx.local_load(tile[0])
        if FIX:
            tlx.barrier_wait(came[1], phase)
        if t % 2 == 1:
            if not FIX:
                tlx.barrier_wait(came[1], phase)
            values += tlx.local_load(tile[1])
        tlx.fence("async_shared")
        tl.store(y_ptr + t * SIDE * SIDE + at, values)


def launch(FIX: bool, TILES: int):
    side = SIDE.value
    x = torch.randn((TILES * 2 * side, side), device="cuda", dtype=torch.float16)
    y = torch.zeros((TILES, side, side), device="cuda", dtype=torch.float16)
    tiles_and_notes[(1,)](TensorDescriptor.from_tensor(x, [side, side]), y, TILES, FIX=FIX)
    parts = x.view(TILES, 2, side, side)
    odd = torch.arange(TILES, device="cuda") % 2
    return y, parts[:, 0] + parts[:, 1] * odd[:, None, None]


if __name__ == "__main__":
    main(CASE, launch)
