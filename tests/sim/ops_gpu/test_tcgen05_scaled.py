"""tcgen05 with block-scaled operands: MX formats of 8 and 4 bits, and nvfp4."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
import torch
from kernel_runner import b200, compile_kernel, execute, executes, fbtriton_only
from test_tcgen05 import close, run

triton = pytest.importorskip("triton")
tl = pytest.importorskip("triton.language")
tlx = pytest.importorskip("triton.language.extra.tlx")

pytestmark = fbtriton_only("its kernels for Blackwell are not what is tested here")


@triton.jit
def scaled(
    a_ptr,
    b_ptr,
    a_scale_ptr,
    b_scale_ptr,
    c_ptr,
    M: tl.constexpr,
    N: tl.constexpr,
    K: tl.constexpr,
    A: tl.constexpr,
    B: tl.constexpr,
    COPIED: tl.constexpr,
):
    m, n = tl.arange(0, M), tl.arange(0, N)
    a_width: tl.constexpr = K // 2 if A == "e2m1" else K
    b_width: tl.constexpr = K // 2 if B == "e2m1" else K
    a_tile = tlx.local_alloc((M, a_width), tlx.dtype_of(a_ptr), 1)
    b_tile = tlx.local_alloc((N, b_width), tlx.dtype_of(b_ptr), 1)
    tlx.local_store(a_tile[0], tl.load(a_ptr + m[:, None] * a_width + tl.arange(0, a_width)[None, :]))
    tlx.local_store(b_tile[0], tl.load(b_ptr + n[:, None] * b_width + tl.arange(0, b_width)[None, :]))
    a_scales = tlx.local_alloc((1, M // 128, K // 128, 2, 256), tl.uint8, 1)
    b_scales = tlx.local_alloc((1, N // 128, K // 128, 2, 256), tl.uint8, 1)
    a_bytes = tl.load(a_scale_ptr + tl.arange(0, M * K // 32))
    b_bytes = tl.load(b_scale_ptr + tl.arange(0, N * K // 32))
    tlx.local_store(a_scales[0], tl.reshape(a_bytes, (1, M // 128, K // 128, 2, 256)))
    tlx.local_store(b_scales[0], tl.reshape(b_bytes, (1, N // 128, K // 128, 2, 256)))
    tlx.fence("async_shared")
    sums = tlx.local_alloc((M, N), tl.float32, 1, tlx.storage_kind.tmem)
    done = tlx.alloc_barriers(1)
    left, right = a_tile[0], tlx.local_trans(b_tile[0])
    if COPIED:
        a_near = tlx.local_alloc((M, K // 32), tl.uint8, 1, tlx.storage_kind.tmem)
        b_near = tlx.local_alloc((N, K // 32), tl.uint8, 1, tlx.storage_kind.tmem)
        tlx.tmem_copy(a_scales[0], a_near[0])
        tlx.tmem_copy(b_scales[0], b_near[0])
        tlx.async_dot_scaled(left, right, sums[0], a_near[0], A, b_near[0], B, use_acc=False, mBarriers=[done[0]])
    else:
        tlx.async_dot_scaled(left, right, sums[0], a_scales[0], A, b_scales[0], B, use_acc=False, mBarriers=[done[0]])
    tlx.barrier_wait(done[0], 0)
    tl.store(c_ptr + m[:, None] * N + n[None, :], tlx.local_load(sums[0]))


FP4 = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
"""What the patterns of E2M1 stand for, as the OCP specification has it; the upper half are the negative ones."""


def operand(rows: int, depth: int, kind: str) -> tuple[torch.Tensor, torch.Tensor]:
    """As memory has it, and its numbers."""
    if kind != "e2m1":
        dtype = {"e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2}[kind]
        held = torch.randn(rows, depth).to(dtype)
        return held, held.double()
    patterns = torch.randint(0, 16, (rows, depth))
    table = torch.tensor([*FP4, *(-each for each in FP4)], dtype=torch.float64)
    return (patterns[:, 0::2] | patterns[:, 1::2] << 4).to(torch.uint8), table[patterns]


def blocked(scales: torch.Tensor) -> torch.Tensor:
    """Scales of 128 x 4 each in 512 bytes, as cuBLAS and TMA have them: row r at 16 * (r % 32) + 4 * (r // 32)."""
    rows, groups = scales.shape
    found = torch.empty(rows // 128, groups // 4, 512, dtype=scales.dtype)
    for row in range(rows):
        for group in range(groups):
            at = 16 * (row % 32) + 4 * (row % 128 // 32) + group % 4
            found[row // 128, group // 4, at] = scales[row, group]
    return found.flatten()


@pytest.mark.parametrize("copied", [True, False], ids=["tensor-memory", "shared-memory"])
@pytest.mark.parametrize(("a", "b"), [("e4m3", "e4m3"), ("e5m2", "e4m3"), ("e2m1", "e2m1"), ("e4m3", "e2m1")])
@pytest.mark.parametrize(("n", "k"), [(128, 128), pytest.param(256, 256, marks=pytest.mark.slow)])
@executes("ttng.tc_gen5_mma_scaled", "ttng.tmem_copy")
def test_formats_with_scales_of_32(a: str, b: str, n: int, k: int, copied: bool):
    m = 128
    (left, x), (right, y) = operand(m, k, a), operand(n, k, b)
    a_scales, b_scales = (torch.randint(120, 135, (rows, k // 32), dtype=torch.uint8) for rows in (m, n))
    c = torch.zeros(m, n)
    run(scaled, left, right, blocked(a_scales), blocked(b_scales), c, M=m, N=n, K=k, A=a, B=b, COPIED=copied)
    x, y = (
        each * (2.0 ** (scales.double() - 127)).repeat_interleave(32, 1)
        for each, scales in ((x, a_scales), (y, b_scales))
    )
    close(c, x @ y.t())


def test_a_scale_of_255_is_no_number():
    (left, _), (right, _) = operand(128, 128, "e4m3"), operand(128, 128, "e4m3")
    a_scales = torch.full((128, 4), 127, dtype=torch.uint8)
    a_scales[5, 2] = 255
    c = torch.zeros(128, 128)
    sizes = {"M": 128, "N": 128, "K": 128, "A": "e4m3", "B": "e4m3", "COPIED": True}
    run(scaled, left, right, blocked(a_scales), torch.full((512,), 127, dtype=torch.uint8), c, **sizes)
    assert c[5].isnan().all()
    assert c.isnan().sum() == 128


def test_nvfp4_has_scales_of_16_that_are_e4m3():
    """No function of TLX makes it: the TTGIR of packed fp4 with twice the scales, in another type."""
    m = n = 128
    k = 256
    (left, x), (right, y) = operand(m, k, "e2m1"), operand(n, k, "e2m1")
    a_scales, b_scales = (torch.rand(rows, k // 16).add(0.5).to(torch.float8_e4m3fn) for rows in (m, n))
    c = torch.zeros(m, n)
    sizes = {"M": m, "N": n, "K": k, "A": "e2m1", "B": "e2m1", "COPIED": False}
    bytes_ = [blocked(scales.view(torch.uint8)) for scales in (a_scales, b_scales)]
    launch = compile_kernel(scaled, (1,), left, right, *bytes_, c, device=b200(), **sizes)
    text = launch.ttgir
    for before, after in (
        ("1x1x2x2x256xi8", "1x1x4x2x256xi8"),
        ("128x8xi8, #tmem_scales", "128x16xf8E4M3FN, #tmem_scales"),
        ("end = 1024", "end = 2048"),
    ):
        assert before in text
        text = text.replace(before, after)
    text = re.sub(r"tensor<1024x", "tensor<2048x", text)
    execute(replace(launch, ttgir=text), device=b200())
    x, y = (each * scales.double().repeat_interleave(16, 1) for each, scales in ((x, a_scales), (y, b_scales)))
    close(c, x @ y.t())
