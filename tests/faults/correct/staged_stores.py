"""Two staging buffers take turns, and each is written again when all stores but the newest have been read.

Between a store and the next write of its buffer there is no barrier, only a wait for reads.
"""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from triton.tools.tensor_descriptor import TensorDescriptor

SHAPES = ({"TILES": 1}, {"TILES": 5})

SIDE = tl.constexpr(64)


@triton.jit
def alternating_buffers(x_ptr, y_desc, TILES):
    at = tl.arange(0, SIDE)[:, None] * SIDE + tl.arange(0, SIDE)[None, :]
    staging = tlx.local_alloc((SIDE, SIDE), tl.float16, 2)
    for t in range(TILES):
        x = tl.load(x_ptr + t * SIDE * SIDE + at)
        tlx.async_descriptor_store_wait(1)
        tlx.local_store(staging[t % 2], x + x)
        tlx.fence("async_shared")
        tlx.async_descriptor_store(y_desc, staging[t % 2], [t * SIDE, 0])
    tlx.async_descriptor_store_wait(0)


def launch(TILES: int):
    side = SIDE.value
    x = torch.randn((TILES * side, side), device="cuda", dtype=torch.float16)
    y = torch.zeros_like(x)
    alternating_buffers[(1,)](x, TensorDescriptor.from_tensor(y, [side, side]), TILES)
    return y, x + x


if __name__ == "__main__":
    for shape in SHAPES:
        torch.testing.assert_close(*launch(**shape), rtol=1e-2, atol=1e-2)
