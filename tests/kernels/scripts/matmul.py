"""C = A @ B with an optional leaky ReLU; rows and columns beyond the matrices wrap around instead of being masked."""

import argparse
import sys

import torch
import triton
import triton.language as tl


@triton.jit
def leaky_relu(x, slope):
    return tl.where(x >= 0, x, slope * x)


@triton.jit
def matmul(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    stride_am,
    stride_ak,
    stride_bk,
    stride_bn,
    stride_cm,
    stride_cn,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr,
    ACTIVATION: tl.constexpr,
):
    program = tl.program_id(0)
    tiles_m = tl.cdiv(M, BLOCK_M)
    tiles_n = tl.cdiv(N, BLOCK_N)
    in_group = GROUP_M * tiles_n
    first = program // in_group * GROUP_M
    group = min(tiles_m - first, GROUP_M)
    tile_m = first + program % in_group % group
    tile_n = program % in_group // group
    tl.assume(tile_m >= 0)
    tl.assume(tile_n >= 0)

    row = (tile_m * BLOCK_M + tl.arange(0, BLOCK_M)) % M
    column = (tile_n * BLOCK_N + tl.arange(0, BLOCK_N)) % N
    depth = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + row[:, None] * stride_am + depth[None, :] * stride_ak
    b_ptrs = b_ptr + depth[:, None] * stride_bk + column[None, :] * stride_bn
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(tl.cdiv(K, BLOCK_K)):
        a = tl.load(a_ptrs, mask=depth[None, :] < K - k * BLOCK_K, other=0.0)
        b = tl.load(b_ptrs, mask=depth[:, None] < K - k * BLOCK_K, other=0.0)
        acc = tl.dot(a, b, acc)
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk
    if ACTIVATION == "leaky_relu":
        acc = leaky_relu(acc, 0.01)

    row = tile_m * BLOCK_M + tl.arange(0, BLOCK_M)
    column = tile_n * BLOCK_N + tl.arange(0, BLOCK_N)
    c_ptrs = c_ptr + row[:, None] * stride_cm + column[None, :] * stride_cn
    tl.store(c_ptrs, acc.to(tl.float16), mask=(row[:, None] < M) & (column[None, :] < N))


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--m", type=int, default=256)
    parser.add_argument("--n", type=int, default=192)
    parser.add_argument("--k", type=int, default=160)
    parser.add_argument("--activation", choices=["", "leaky_relu"], default="")
    parser.add_argument("--stages", type=int, default=3)
    args = parser.parse_args()

    torch.manual_seed(0)
    a = torch.randn((args.m, args.k), device="cuda", dtype=torch.float16)
    b = torch.randn((args.n, args.k), device="cuda", dtype=torch.float16).T
    c = torch.full((args.m, args.n), -1.0, device="cuda", dtype=torch.float16)
    matmul[lambda meta: (triton.cdiv(args.m, meta["BLOCK_M"]) * triton.cdiv(args.n, meta["BLOCK_N"]),)](
        a,
        b,
        c,
        args.m,
        args.n,
        args.k,
        *a.stride(),
        *b.stride(),
        *c.stride(),
        BLOCK_M=64,
        BLOCK_N=64,
        BLOCK_K=32,
        GROUP_M=4,
        ACTIVATION=args.activation,
        num_stages=args.stages,
        num_warps=4,
    )
    expected = a.float() @ b.float()
    if args.activation:
        expected = torch.nn.functional.leaky_relu(expected, 0.01)
    error = float((c.float() - expected).norm() / expected.norm())
    print(f"matmul {args.m}x{args.n}x{args.k} {args.activation}: relative error {error:.2e}")
    return 0 if error <= 1e-3 else 1


if __name__ == "__main__":
    sys.exit(main())
