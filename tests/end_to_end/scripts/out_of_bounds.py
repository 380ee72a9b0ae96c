"""A kernel that forgets its mask."""

import torch
import triton
import triton.language as tl


@triton.jit
def careless(out, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, at)


careless[(2,)](torch.zeros(100, dtype=torch.int32, device="cuda"), BLOCK=64)
