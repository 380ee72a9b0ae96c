"""Matrix products off the beaten track: exact fp32, scaled operands of four and eight bits; and what they take."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
import triton
import triton.language as tl
from kernel_runner import Run, executes, h200, run_kernel

FP4 = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])
"""E2M1, by its four bits."""
M, N, K = 64, 64, 128


@triton.jit
def product(a, b, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, PRECISION: tl.constexpr):
    r, k, n = tl.arange(0, M), tl.arange(0, K), tl.arange(0, N)
    x, y = tl.load(a + r[:, None] * K + k[None, :]), tl.load(b + k[:, None] * N + n[None, :])
    tl.store(out + r[:, None] * N + n[None, :], tl.dot(x, y, input_precision=PRECISION))


def multiply(precision: str, dtype: torch.dtype = torch.float32, *, values: bool = True) -> tuple[Run, float]:
    """A run, and its relative error."""
    a, b, out = torch.randn(M, K).to(dtype), torch.randn(K, N).to(dtype), torch.zeros(M, N)
    run = run_kernel(product, (1,), a, b, out, M=M, N=N, K=K, PRECISION=precision, values=values)
    wanted = a.double() @ b.double()
    return run, ((out - wanted).norm() / wanted.norm()).item()


@executes("tt.dot")
def test_ieee_products_are_exact():
    run, error = multiply("ieee")
    assert error < 1e-6
    assert "tt.dot" in run.launch.ttgir
    assert "warp_group_dot" not in run.launch.ttgir


@pytest.mark.parametrize(("precision", "low", "high"), [("tf32", 1e-4, 1e-3), ("tf32x3", 0, 1e-5), ("bf16x3", 0, 1e-4)])
@executes("ttng.warp_group_dot")
def test_products_on_tensor_cores_lose_bits(precision: str, low: float, high: float):
    _, error = multiply(precision)
    assert low < error < high


def test_products_without_tensor_cores_take_multiply_adds():
    run, _ = multiply("ieee")
    assert run.trace.flop == 2 * M * N * K
    assert [track.name for track in run.trace.tracks if track.name == "tensor core" and track.end] == []
    assert not any(run.trace.sites[site].kind == "mma" for site in run.trace.events["site"].tolist())
    least = M * N * K / h200().alu.fp32
    tensor_cores, _ = multiply("tf32")
    assert run.cycles - tensor_cores.cycles > 0.8 * least
    assert run.cycles == multiply("ieee", values=False)[0].cycles


@triton.jit
def scaled(
    a, a_scale, b, b_scale, out,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, A: tl.constexpr, B: tl.constexpr, SCALE_B: tl.constexpr,
):  # fmt: skip
    A_BYTES: tl.constexpr = K // 2 if A == "e2m1" else K
    B_BYTES: tl.constexpr = K // 2 if B == "e2m1" else K
    r, n, groups = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K // 32)
    x = tl.load(a + r[:, None] * A_BYTES + tl.arange(0, A_BYTES)[None, :])
    y = tl.load(b + tl.arange(0, B_BYTES)[:, None] * N + n[None, :])
    x_scale = tl.load(a_scale + r[:, None] * (K // 32) + groups[None, :])
    y_scale = tl.load(b_scale + n[:, None] * (K // 32) + groups[None, :]) if SCALE_B else None
    tl.store(out + r[:, None] * N + n[None, :], tl.dot_scaled(x, x_scale, A, y, y_scale, B))


def numbers(kind: str, shape: tuple[int, int], axis: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Numbers of a format as the kernel reads them, and as f32; `axis` is the one that is summed over."""
    match kind:
        case "e2m1":
            packed = torch.randint(0, 256, [size // 2 if at == axis else size for at, size in enumerate(shape)])
            pairs = torch.stack([FP4[packed & 15], FP4[packed >> 4]], dim=axis + 1)
            return packed.to(torch.uint8), pairs.reshape(shape)
        case "e4m3" | "e5m2":
            dtype = torch.float8_e4m3fn if kind == "e4m3" else torch.float8_e5m2
            made = torch.randn(shape).to(dtype)
            return made.view(torch.uint8), made.float()
        case _:
            made = torch.randn(shape).to(torch.bfloat16 if kind == "bf16" else torch.float16)
            return made, made.float()


def scales(rows: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Powers of two as their exponents plus 127, and as factors for each number."""
    exponents = torch.randint(124, 131, (rows, K // 32), dtype=torch.uint8)
    return exponents, torch.exp2(exponents.float() - 127).repeat_interleave(32, dim=1)


@pytest.mark.parametrize(
    ("a_kind", "b_kind"),
    [
        ("e4m3", "e4m3"), ("e5m2", "e4m3"), ("e2m1", "e4m3"), ("e4m3", "e2m1"), ("e2m1", "e2m1"),
        ("e4m3", "bf16"), ("e2m1", "bf16"), ("e2m1", "fp16"),
    ],
)  # fmt: skip
def test_scaled_products(a_kind: str, b_kind: str):
    a, a_wide = numbers(a_kind, (M, K), 1)
    b, b_wide = numbers(b_kind, (K, N), 0)
    scale_b = b_kind not in ("bf16", "fp16")
    (a_scale, a_factor), (b_scale, b_factor) = scales(M), scales(N)
    out = torch.zeros(M, N)
    options: dict[str, Any] = {"M": M, "N": N, "K": K, "A": a_kind, "B": b_kind, "SCALE_B": scale_b}
    run_kernel(scaled, (1,), a, a_scale, b, b_scale, out, **options)
    wanted = (a_wide * a_factor) @ (b_wide * b_factor.T if scale_b else b_wide)
    assert ((out - wanted).norm() / wanted.norm()).item() < 1e-6


@executes("ttg.fp4_to_fp")
def test_all_numbers_of_four_bits():
    a = torch.arange(256, dtype=torch.uint8).repeat(16).view(64, 64)
    b = torch.eye(K).to(torch.bfloat16)[:, :N].contiguous()
    one = torch.full((64, K // 32), 127, dtype=torch.uint8)
    out = torch.zeros(M, N)
    run_kernel(scaled, (1,), a, one, b, one, out, M=M, N=N, K=K, A="e2m1", B="bf16", SCALE_B=False)
    low, high = FP4[a.long() & 15], FP4[a.long() >> 4]
    assert torch.equal(out, torch.stack([low, high], dim=2).view(M, K)[:, :N])
    assert math.isclose(out.abs().max().item(), 6)
