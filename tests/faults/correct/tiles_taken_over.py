"""CTAs of 32 warps, of which two fit on an SM, take further tiles by launch control; both of a cluster get the answers.

Nobody releases the last answer, since there is no further request to wait for that.
"""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx

TLXVIZ_DEVICE = "sim:b200"
SHAPES = ({"TILES": 1, "CTAS": 1}, {"TILES": 320, "CTAS": 1}, {"TILES": 160, "CTAS": 2})


@triton.jit
def numbered_tiles(y_ptr, CTAS: tl.constexpr):
    requests = tlx.clc_create_context(num_consumers=CTAS)
    tile = tl.program_id(0)
    i = 0
    while tile >= 0:
        tlx.clc_producer(requests, (i & 1) ^ 1, multi_ctas=CTAS == 2)
        tl.store(y_ptr + tile, tile + 1)
        tile = tlx.clc_consumer(requests, i & 1, multi_ctas=CTAS == 2)
        i += 1


def launch(TILES: int, CTAS: int):
    y = torch.zeros(TILES * CTAS, device="cuda", dtype=torch.int32)
    numbered_tiles[(TILES * CTAS,)](y, CTAS=CTAS, num_warps=32, ctas_per_cga=(CTAS, 1, 1))
    return y, torch.arange(1, TILES * CTAS + 1, device="cuda", dtype=torch.int32)


if __name__ == "__main__":
    for shape in SHAPES:
        torch.testing.assert_close(*launch(**shape), rtol=1e-2, atol=1e-2)
