"""A kernel that needs a cluster of two CTAs."""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def pairs(out):
    tl.store(out + tl.program_id(0), tlx.cluster_cta_rank())


out = torch.zeros(2, dtype=torch.int32, device="cuda")
pairs[(2,)](out, ctas_per_cga=(2, 1, 1))
