"""Dropout that keeps a seed instead of a mask."""

import torch
import triton
import triton.language as tl

DEVICE = triton.runtime.driver.active.get_active_torch_device()
BLOCKS = [triton.Config({"BLOCK": block}, num_warps=warps) for block, warps in ((128, 1), (1024, 4))]


@triton.autotune(configs=BLOCKS, key=["n"])
@triton.jit
def masked(x_ptr, keep_ptr, y_ptr, n, p, BLOCK: tl.constexpr):
    at = tl.program_id(axis=0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    keep = tl.load(keep_ptr + at, mask=at < n)
    tl.store(y_ptr + at, tl.where(keep, x / (1 - p), 0.0), mask=at < n)


@triton.autotune(configs=BLOCKS, key=["n"])
@triton.jit
def seeded(x_ptr, y_ptr, n, p, seed, BLOCK: tl.constexpr):
    at = tl.program_id(axis=0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    keep = tl.rand(seed, at) > p
    tl.store(y_ptr + at, tl.where(keep, x / (1 - p), 0.0), mask=at < n)


def grid(meta):
    return (triton.cdiv(meta["n"], meta["BLOCK"]),)


def dropout(x, p, seed):
    y = torch.empty_like(x)
    assert x.is_contiguous()
    seeded[grid](x, y, x.numel(), p, seed)
    return y


x = torch.randn(size=(10,)).cuda()
keep = (torch.rand(size=(10,)) > 0.5).to(torch.int32).cuda()
y = torch.empty_like(x)
masked[grid](x, keep, y, 10, 0.5)
torch.testing.assert_close(y, torch.where(keep != 0, x / 0.5, torch.zeros_like(x)))

first, second, third = dropout(x, 0.5, 123), dropout(x, 0.5, 123), dropout(x, 0.5, 512)
print("repeats:", torch.equal(first, second), "other seed differs:", not torch.equal(first, third))
print("kept of ten:", (first != 0).sum().item())
many = torch.ones(20_000, device=DEVICE)
share = (dropout(many, p=0.25, seed=7) != 0).float().mean().item()
print(f"share kept {share:.2f}")


@triton.testing.perf_report(
    triton.testing.Benchmark(["n"], [4096], "provider", ["seeded"], ["Seeded"], "dropout", {}, ylabel="ms")
)
def measure(n, provider):
    x = torch.randn(n, device="cuda")
    return triton.testing.do_bench(lambda: dropout(x, p=0.5, seed=1), warmup=5, rep=20)


measure.run(print_data=True)
