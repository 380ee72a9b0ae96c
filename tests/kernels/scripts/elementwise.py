"""One kernel that mixes integers, floats and booleans: casts, wrap-around, division, shifts, where, exp, sqrt."""

import argparse
import sys

import torch
import triton
import triton.language as tl


@triton.jit
def elementwise(
    x_ptr,  # fp32
    n_ptr,  # int32
    flag_ptr,  # bool
    float_ptr,  # fp32
    half_ptr,  # fp16
    int_ptr,  # int32
    byte_ptr,  # int8
    bool_ptr,  # bool
    size,
    scale,
    negate: tl.constexpr,
    BLOCK: tl.constexpr,
):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < size
    x = tl.load(x_ptr + at, mask=inside, other=0.0)
    n = tl.load(n_ptr + at, mask=inside, other=1)
    flag = tl.load(flag_ptr + at, mask=inside, other=0).to(tl.int1)

    y = tl.where(flag, tl.exp(-tl.abs(x)), tl.sqrt(tl.abs(x) + 1.0)) * scale
    if negate:
        y = -y
    tl.store(float_ptr + at, y, mask=inside)
    tl.store(half_ptr + at, (x * n.to(tl.float32) / 1024.0).to(tl.float16), mask=inside)

    mixed = n * 1_103_515_245 + 12_345  # wraps around
    mixed = mixed ^ (mixed >> 7)
    quotient = tl.where(n != 0, mixed // tl.where(n == 0, 1, n), 0)
    tl.store(int_ptr + at, tl.maximum(quotient % 1000, n & 255), mask=inside)
    tl.store(byte_ptr + at, n.to(tl.int8), mask=inside)
    tl.store(bool_ptr + at, (x > 0.5) & (flag | (n < 0)), mask=inside)


def c_division(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Division of integers as in C, towards zero."""
    return torch.div(a, b, rounding_mode="trunc")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=3000)
    parser.add_argument("--negate", action="store_true")
    args = parser.parse_args()

    torch.manual_seed(0)
    x = torch.randn(args.size, device="cuda") * 2
    n = torch.randint(-100_000, 100_000, (args.size,), device="cuda", dtype=torch.int32)
    flag = torch.rand(args.size, device="cuda") < 0.5
    floats = torch.empty(args.size, device="cuda")
    halves = torch.empty(args.size, device="cuda", dtype=torch.float16)
    integers = torch.empty(args.size, device="cuda", dtype=torch.int32)
    octets = torch.empty(args.size, device="cuda", dtype=torch.int8)
    booleans = torch.empty(args.size, device="cuda", dtype=torch.bool)
    grid = (triton.cdiv(args.size, 256),)
    elementwise[grid](
        x, n, flag, floats, halves, integers, octets, booleans, args.size, 1.5, negate=args.negate, BLOCK=256
    )

    expected = torch.where(flag, torch.exp(-x.abs()), torch.sqrt(x.abs() + 1.0)) * (-1.5 if args.negate else 1.5)
    wide = (n.long() * 1_103_515_245 + 12_345).to(torch.int32)
    wide = wide ^ (wide >> 7)
    quotient = torch.where(n != 0, c_division(wide, torch.where(n == 0, 1, n)), 0)
    remainder = quotient - c_division(quotient, torch.full_like(quotient, 1000)) * 1000
    wrong = {
        "float": int(((floats - expected).abs() > 1e-5).sum()),
        "half": int(((halves.float() - x * n.float() / 1024.0).abs() > 0.3).sum()),
        "int": int((integers != torch.maximum(remainder, n & 255)).sum()),
        "byte": int((octets != n.to(torch.int8)).sum()),
        "bool": int((booleans != ((x > 0.5) & (flag | (n < 0)))).sum()),
    }
    print(f"elementwise {args.size}: wrong elements {wrong}")
    return 1 if any(wrong.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
