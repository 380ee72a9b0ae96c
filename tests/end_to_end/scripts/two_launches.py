"""Two kernels, one of them launched twice, around eager code."""

import torch
import triton
import triton.language as tl


@triton.jit
def double(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, 2 * tl.load(x + at, mask=at < n), mask=at < n)


@triton.jit
def negate(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, -tl.load(x + at, mask=at < n), mask=at < n)


x = torch.ones(300, device="cuda")
double[(5,)](x, 300, BLOCK=64)
x += 1
negate[(5,)](x, 300, BLOCK=64)
double[(5,)](x, 300, BLOCK=64)
print("sum", x.sum().item())
