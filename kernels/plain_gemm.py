"""C[M, N] = A[M, K] @ B[K, N] in ordinary Triton: one program per tile of C, a loop that loads and multiplies.

The other kernels of this folder are measured against it. `--stages 1` keeps the loop synchronous (load, wait,
multiply); with more stages the compiler prefetches with `cp.async`.

    python kernels/plain_gemm.py --m 512 --n 512 --k 512
"""

from __future__ import annotations

import argparse
import sys

import torch
import triton
import triton.language as tl

TOLERANCE = 1e-3


@triton.jit
def tile_of_program(program, tiles_m, tiles_n, GROUP_M: tl.constexpr):
    """Walk the tiles in bands of GROUP_M rows, so that programs that run together share panels of A and B in L2."""
    band_size = GROUP_M * tiles_n
    first_m = (program // band_size) * GROUP_M
    rows = min(tiles_m - first_m, GROUP_M)
    within = program % band_size
    return first_m + within % rows, within // rows


@triton.jit
def plain_gemm(
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
):
    tile_m, tile_n = tile_of_program(tl.program_id(0), tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N), GROUP_M)
    rows = tile_m * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tile_n * BLOCK_N + tl.arange(0, BLOCK_N)
    depth = tl.arange(0, BLOCK_K)

    a_ptrs = a_ptr + rows[:, None] * stride_am + depth[None, :] * stride_ak
    b_ptrs = b_ptr + depth[:, None] * stride_bk + columns[None, :] * stride_bn
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_K)):
        left = K - k * BLOCK_K
        a = tl.load(a_ptrs, mask=(rows[:, None] < M) & (depth[None, :] < left), other=0.0)
        b = tl.load(b_ptrs, mask=(depth[:, None] < left) & (columns[None, :] < N), other=0.0)
        acc = tl.dot(a, b, acc)
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk

    c_ptrs = c_ptr + rows[:, None] * stride_cm + columns[None, :] * stride_cn
    tl.store(c_ptrs, acc.to(tl.float16), mask=(rows[:, None] < M) & (columns[None, :] < N))


def check_sizes(m: int, n: int, k: int) -> None:
    for name, size in (("M", m), ("N", n), ("K", k)):
        if size < 1:
            raise ValueError(f"{name} is {size} and must be 1 or more")


def matmul(
    a: torch.Tensor,
    b: torch.Tensor,
    *,
    block_m: int = 128,
    block_n: int = 128,
    block_k: int = 64,
    group_m: int = 8,
    stages: int = 3,
    num_warps: int = 8,
) -> torch.Tensor:
    """a @ b for two fp16 matrices of any strides."""
    m, k = a.shape
    n = b.shape[1]
    if b.shape[0] != k:
        raise ValueError(f"A is {m}x{k} and B is {b.shape[0]}x{n}: the inner sizes differ")
    check_sizes(m, n, k)
    for name, block in (("BLOCK_M", block_m), ("BLOCK_N", block_n)):
        if block < 1 or block & (block - 1):
            raise ValueError(f"{name} is {block} and must be a power of two")
    if block_k not in (16, 32, 64, 128):
        raise ValueError(f"BLOCK_K is {block_k} and must be 16, 32, 64 or 128: tensor cores multiply 16 deep")
    if stages < 1:
        raise ValueError(f"STAGES is {stages} and must be 1 or more")
    c = torch.empty((m, n), device=a.device, dtype=torch.float16)
    grid = (triton.cdiv(m, block_m) * triton.cdiv(n, block_n),)
    plain_gemm[grid](
        a,
        b,
        c,
        m,
        n,
        k,
        a.stride(0),
        a.stride(1),
        b.stride(0),
        b.stride(1),
        c.stride(0),
        c.stride(1),
        BLOCK_M=block_m,
        BLOCK_N=block_n,
        BLOCK_K=block_k,
        GROUP_M=group_m,
        num_stages=stages,
        num_warps=num_warps,
    )
    return c


def main() -> int:
    parser = argparse.ArgumentParser(description="Plain Triton GEMM: one launch, checked against torch.")
    for size in ("m", "n", "k"):
        parser.add_argument(f"--{size}", type=int, default=512)
    parser.add_argument("--block-m", type=int, default=128)
    parser.add_argument("--block-n", type=int, default=128)
    parser.add_argument("--block-k", type=int, default=64)
    parser.add_argument("--stages", type=int, default=3, help="1 keeps the loop synchronous")
    args = parser.parse_args()

    torch.manual_seed(0)
    try:
        check_sizes(args.m, args.n, args.k)
        a = torch.randn((args.m, args.k), device="cuda", dtype=torch.float16)
        b = torch.randn((args.k, args.n), device="cuda", dtype=torch.float16)
        c = matmul(a, b, block_m=args.block_m, block_n=args.block_n, block_k=args.block_k, stages=args.stages)
    except ValueError as error:
        print(f"plain_gemm: {error}", file=sys.stderr)
        return 1

    expected = a.float() @ b.float()
    error = float((c.float() - expected).norm() / expected.norm())
    print(f"plain_gemm {args.m}x{args.n}x{args.k}: relative error {error:.2e}")
    if not error <= TOLERANCE:  # written so that a NaN fails
        print(f"plain_gemm: the relative error is above {TOLERANCE:g}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
