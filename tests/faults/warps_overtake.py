"""One task of eight warps reads scores and stores probabilities over half of their columns, with no barrier between.

Warps divide 32-bit and 16-bit columns differently, so that one may store what another has still to read.
"""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from case import Case, main

TLXVIZ_DEVICE = "sim:b200"
CASE = Case(rule="tmem-alias", role="compute", name="scores", shows="nothing", params={"N": 64})

ROWS = tl.constexpr(128)


@triton.jit
def overlaid(s_ptr, s_out_ptr, p_out_ptr, N: tl.constexpr, FIX: tl.constexpr):
    """Scores of N columns; half of them, as they have 16 bits, take the upper half of the columns."""
    at = tl.arange(0, ROWS)[:, None] * N + tl.arange(0, N)[None, :]
    scores = tlx.local_alloc((ROWS, N), tl.float32, 1, tlx.storage_kind.tmem)
    p = tlx.local_alloc((ROWS, N), tl.float16, 2, tlx.storage_kind.tmem, reuse=scores)
    tlx.local_store(scores[0], tl.load(s_ptr + at))
    tl.debug_barrier()
    s = tlx.local_load(scores[0])  # FAULT
    if FIX:
        tl.debug_barrier()
    tlx.local_store(p[1], (s * 0.5).to(tl.float16))  # FAULT
    tl.debug_barrier()
    tl.store(p_out_ptr + at, tlx.local_load(p[1]).to(tl.float32))
    tl.store(s_out_ptr + at, s)


def launch(FIX: bool, N: int):
    s = torch.randn((ROWS.value, N), device="cuda", dtype=torch.float32)
    s_out, p_out = torch.zeros_like(s), torch.zeros_like(s)
    overlaid[(1,)](s, s_out, p_out, N=N, FIX=FIX, num_warps=8)
    return torch.stack((s_out, p_out)), torch.stack((s, s / 2))


if __name__ == "__main__":
    main(CASE, launch)
