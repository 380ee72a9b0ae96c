"""The answer to a request for the next tile goes to both CTAs of a cluster, but only the first one expects its bytes.

In the other CTA no arrival completes the phase, and it waits for ever.
"""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from case import Case, main

TLXVIZ_DEVICE = "sim:b200"
CASE = Case(rule="cluster", role="compute", name="full", shows="hang", params={"TILES": 2})


@triton.jit
def tiles_taken_over(y_ptr, FIX: tl.constexpr):
    answer = tlx._alloc_clc_responses(1)
    full = tlx.alloc_barriers(1)
    empty = tlx.alloc_barriers(1, arrive_count=2)
    rank = tlx.cluster_cta_rank()
    tile = tl.program_id(0)
    i = 0
    while tile >= 0:
        tlx.barrier_wait(empty[0], (i & 1) ^ 1, pred=rank == 0)
        if FIX:
            tlx.barrier_expect_bytes(full[0], 16)
        else:
            tlx.barrier_expect_bytes(full[0], 16, pred=rank == 0)  # FAULT
        tlx._clc_issue(answer[0], full[0])
        tl.store(y_ptr + tile, tile + 1)
        tlx.barrier_wait(full[0], i & 1)  # FAULT
        tile, _, _ = tlx._clc_query(answer[0])
        tlx.fence("async_shared")
        tlx.barrier_arrive(empty[0], 1, remote_cta_rank=0, pred=tile >= 0)
        i += 1


def launch(FIX: bool, TILES: int):
    y = torch.zeros(2 * TILES, device="cuda", dtype=torch.int32)
    tiles_taken_over[(2 * TILES,)](y, FIX=FIX, ctas_per_cga=(2, 1, 1))
    return y, torch.arange(1, 2 * TILES + 1, device="cuda")


if __name__ == "__main__":
    main(CASE, launch)
