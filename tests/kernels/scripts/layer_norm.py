"""Layer normalisation, forward: one row per program, in three passes over it (mean, variance, result)."""

import argparse
import sys

import torch
import triton
import triton.language as tl


@triton.jit
def layer_norm_forward(
    x_ptr, y_ptr, weight_ptr, bias_ptr, mean_ptr, rstd_ptr, stride, columns, eps, BLOCK: tl.constexpr
):
    row = tl.program_id(0)
    x_ptr += row * stride
    y_ptr += row * stride

    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + at, mask=at < columns, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / columns

    squares = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + at, mask=at < columns, other=0.0).to(tl.float32)
        centred = tl.where(at < columns, x - mean, 0.0)
        squares += centred * centred
    rstd = 1 / tl.sqrt(tl.sum(squares, axis=0) / columns + eps)
    tl.store(mean_ptr + row, mean)
    tl.store(rstd_ptr + row, rstd)

    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        inside = at < columns
        x = tl.load(x_ptr + at, mask=inside, other=0.0).to(tl.float32)
        weight = tl.load(weight_ptr + at, mask=inside)
        bias = tl.load(bias_ptr + at, mask=inside)
        tl.store(y_ptr + at, (x - mean) * rstd * weight + bias, mask=inside)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=20)
    parser.add_argument("--columns", type=int, default=1500)
    parser.add_argument("--block", type=int, default=512)
    args = parser.parse_args()

    torch.manual_seed(0)
    x = (3.0 * torch.randn(args.rows, args.columns, device="cuda") - 1.0).half()
    weight = torch.rand(args.columns, device="cuda").half()
    bias = torch.rand(args.columns, device="cuda").half()
    y = torch.full_like(x, -1.0)
    mean = torch.empty(args.rows, device="cuda")
    rstd = torch.empty(args.rows, device="cuda")
    layer_norm_forward[(args.rows,)](
        x, y, weight, bias, mean, rstd, x.stride(0), args.columns, 1e-5, BLOCK=args.block, num_warps=4
    )
    expected = torch.nn.functional.layer_norm(x.float(), (args.columns,), weight.float(), bias.float(), 1e-5)
    error = float((y.float() - expected).abs().max())
    mean_error = float((mean - x.float().mean(dim=1)).abs().max())
    rstd_error = float((rstd * (x.float().var(dim=1, correction=0) + 1e-5).sqrt() - 1.0).abs().max())
    print(f"layer_norm {args.rows}x{args.columns}: error {error:.2e}, mean {mean_error:.2e}, rstd {rstd_error:.2e}")
    return 0 if error <= 5e-3 and mean_error <= 1e-5 and rstd_error <= 1e-4 else 1


if __name__ == "__main__":
    sys.exit(main())
