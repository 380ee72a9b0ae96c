"""A launch of very many small CTAs."""

import torch
import triton
import triton.language as tl


@triton.jit
def count(out, n):
    at = tl.program_id(0)
    if at < n:
        tl.store(out + at, at)


out = torch.zeros(3_000_000, dtype=torch.int32, device="cuda")
count[(10,)](out, 10)
print("launching", flush=True)
count[(3_000_000,)](out, 3_000_000)
