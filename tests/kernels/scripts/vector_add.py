"""z = x + y, one block of elements per program."""

import argparse
import sys

import torch
import triton
import triton.language as tl


@triton.jit
def vector_add(x_ptr, y_ptr, z_ptr, size, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < size
    x = tl.load(x_ptr + at, mask=inside)
    y = tl.load(y_ptr + at, mask=inside)
    tl.store(z_ptr + at, x + y, mask=inside)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=10_000)
    parser.add_argument("--block", type=int, default=1024)
    args = parser.parse_args()

    torch.manual_seed(0)
    x = torch.rand(args.size, device="cuda")
    y = torch.rand(args.size, device="cuda")
    z = torch.full_like(x, -1.0)
    vector_add[lambda meta: (triton.cdiv(args.size, meta["BLOCK"]),)](x, y, z, args.size, BLOCK=args.block)
    wrong = int((z != x + y).sum())
    print(f"vector_add {args.size}: {wrong} wrong elements")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
