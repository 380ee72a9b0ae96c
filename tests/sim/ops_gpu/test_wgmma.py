"""wgmma: operands in shared memory and in registers, shapes, element types, groups in flight."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
import torch
from kernel_runner import compile_kernel, execute, executes, run_kernel

triton = pytest.importorskip("triton")
tlx = pytest.importorskip("triton.language.extra.tlx")
tl = pytest.importorskip("triton.language")

TOLERANCE = 1e-5


@triton.jit
def product(
    a_ptr,
    b_ptr,
    c_ptr,
    M: tl.constexpr,
    N: tl.constexpr,
    K: tl.constexpr,
    TURN_A: tl.constexpr,
    TURN_B: tl.constexpr,
    FROM_REGISTERS: tl.constexpr,
    OUT: tl.constexpr,
):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    if TURN_A:
        a_tile = tlx.local_alloc((K, M), tlx.dtype_of(a_ptr), 1)
        tlx.local_store(a_tile[0], tl.load(a_ptr + k[:, None] * M + m[None, :]))
        a = tlx.local_trans(a_tile[0])
    else:
        a_tile = tlx.local_alloc((M, K), tlx.dtype_of(a_ptr), 1)
        tlx.local_store(a_tile[0], tl.load(a_ptr + m[:, None] * K + k[None, :]))
        a = tlx.local_view(a_tile, 0)
    if TURN_B:
        b_tile = tlx.local_alloc((N, K), tlx.dtype_of(b_ptr), 1)
        tlx.local_store(b_tile[0], tl.load(b_ptr + n[:, None] * K + k[None, :]))
        b = tlx.local_trans(b_tile[0])
    else:
        b_tile = tlx.local_alloc((K, N), tlx.dtype_of(b_ptr), 1)
        tlx.local_store(b_tile[0], tl.load(b_ptr + k[:, None] * N + n[None, :]))
        b = tlx.local_view(b_tile, 0)
    tlx.fence("async_shared")
    if FROM_REGISTERS:
        acc = tlx.async_dot(tl.load(a_ptr + m[:, None] * K + k[None, :]), b, out_dtype=OUT)
    else:
        acc = tlx.async_dot(a, b, out_dtype=OUT)
    acc = tlx.async_dot_wait(0, acc)
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc)


def check(
    a: torch.Tensor,
    b: torch.Tensor,
    *,
    turn_a: bool = False,
    turn_b: bool = False,
    registers: bool = False,
    exact: bool = False,
    warps: int = 4,
) -> None:
    (m, k), n = a.shape, b.shape[1]
    integer = a.dtype == torch.int8
    c = torch.zeros(m, n, dtype=torch.int32 if integer else torch.float32)
    left = a.t().contiguous() if turn_a else a
    right = b.t().contiguous() if turn_b else b
    run_kernel(
        product,
        (1,),
        left,
        right,
        c,
        M=m,
        N=n,
        K=k,
        TURN_A=turn_a,
        TURN_B=turn_b,
        FROM_REGISTERS=registers,
        OUT=tl.int32 if integer else tl.float32,
        num_warps=warps,
    )
    wanted = a.double() @ b.double()
    if exact:
        assert torch.equal(c.double(), wanted)
    else:
        assert float((c.double() - wanted).norm() / wanted.norm()) < TOLERANCE


@pytest.mark.parametrize("shape", [(64, 32, 16), (64, 256, 64), (128, 128, 64), (128, 64, 128), (256, 64, 32)], ids=str)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@executes("ttng.warp_group_dot", "ttng.warp_group_dot_wait", "ttng.fence_async_shared")
def test_shapes(shape: tuple[int, int, int], dtype: torch.dtype):
    m, n, k = shape
    check(torch.randn(m, k).to(dtype), torch.randn(k, n).to(dtype))


def test_eight_warps():
    check(torch.randn(128, 64).half(), torch.randn(64, 128).half(), warps=8)


@pytest.mark.parametrize(("turn_a", "turn_b"), [(True, False), (False, True), (True, True)])
@executes("ttg.memdesc_trans", "ttng.warp_group_dot")
def test_transposed_operands(turn_a: bool, turn_b: bool):
    check(torch.randn(64, 32).half(), torch.randn(32, 64).half(), turn_a=turn_a, turn_b=turn_b)


@executes("ttng.warp_group_dot")
def test_the_first_operand_in_registers():
    check(torch.randn(64, 64).half(), torch.randn(64, 128).half(), registers=True)


@pytest.mark.parametrize("dtype", [torch.float8_e5m2, torch.float8_e4m3fn], ids=str)
def test_fp8(dtype: torch.dtype):
    check(torch.randn(64, 64).to(dtype), torch.randn(64, 64).to(dtype), turn_b=True)


def test_int8():
    a = torch.randint(-128, 128, (64, 64), dtype=torch.int8)
    b = torch.randint(-128, 128, (64, 64), dtype=torch.int8)
    check(a, b, turn_b=True, exact=True)


def test_tf32_drops_mantissa_bits():
    """Values with few bits are exact; the low bits of others do not count."""
    a, b = torch.randint(-8, 9, (64, 32)).float(), torch.randint(-8, 9, (32, 64)).float()
    check(a, b, turn_b=True, exact=True)
    c, d = torch.zeros(64, 64), torch.zeros(64, 64)
    options = {
        "M": 64, "N": 64, "K": 32, "TURN_A": False, "TURN_B": True, "FROM_REGISTERS": False, "OUT": tl.float32
    }  # fmt: skip
    noisy = a * (1 + 2.0**-14)
    run_kernel(product, (1,), noisy, b.t().contiguous(), c, **options)
    run_kernel(product, (1,), a, b.t().contiguous(), d, **options)
    assert float((c - d).norm() / d.norm()) < 1e-6


@triton.jit
def accumulated(a_ptr, b_ptr, c_ptr, steps, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, PENDING: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    a_tiles = tlx.local_alloc((M, K), tl.float16, 4)
    b_tiles = tlx.local_alloc((K, N), tl.float16, 4)
    for step in range(4):
        tlx.local_store(a_tiles[step], tl.load(a_ptr + step * M * K + m[:, None] * K + k[None, :]))
        tlx.local_store(b_tiles[step], tl.load(b_ptr + step * K * N + k[:, None] * N + n[None, :]))
    tlx.fence("async_shared")
    acc = tl.zeros((M, N), dtype=tl.float32)
    for step in range(steps):
        acc = tlx.async_dot(a_tiles[step], b_tiles[step], acc)
        acc = tlx.async_dot_wait(PENDING, acc)
    acc = tlx.async_dot_wait(0, acc)
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc)


@pytest.mark.parametrize("pending", [0, 1, 2])
@pytest.mark.parametrize("steps", [0, 1, 4])
@executes("ttng.warp_group_dot_wait")
def test_groups_in_flight(steps: int, pending: int):
    a, b = torch.randn(4, 64, 32).half(), torch.randn(4, 32, 64).half()
    c = torch.ones(64, 64)
    run_kernel(accumulated, (1,), a, b, c, steps, M=64, N=64, K=32, PENDING=pending)
    wanted = sum((a[s].float() @ b[s].float() for s in range(steps)), torch.zeros(64, 64))
    torch.testing.assert_close(c, wanted, rtol=1e-5, atol=1e-4)


FLAG = """      %first = arith.constant 0 : i32
      %later = arith.cmpi ne, {step}, %first : i32
"""


def test_an_accumulator_that_is_used_under_a_condition():
    """The first step forgets what the accumulator held, although nothing zeroed it."""
    a, b = torch.randn(4, 64, 32).half(), torch.randn(4, 32, 64).half()
    c = torch.ones(64, 64)
    launch = compile_kernel(accumulated, (1,), a, b, c, 4, M=64, N=64, K=32, PENDING=0)
    text = re.sub("dense<0.000000e\\+00> : tensor<64x64xf32", "dense<9.000000e+00> : tensor<64x64xf32", launch.ttgir)
    assert "9.000000e+00" in text
    step = re.search(r"scf.for (%\w+) = [^{]*iter_args", text)
    assert step is not None
    text, products = re.subn(
        r"( *%\S+ = ttng.warp_group_dot %\S+, %\S+, %\w+)(?:, %true\w*)?( .*)",
        lambda found: FLAG.format(step=step[1]) + f"{found[1]}, %later{found[2]}",
        text,
    )
    assert products == 1
    execute(replace(launch, ttgir=text))
    wanted = sum((a[s].float() @ b[s].float() for s in range(4)), torch.zeros(64, 64))
    torch.testing.assert_close(c, wanted, rtol=1e-5, atol=1e-4)


def test_a_synchronous_product():
    a, b = torch.randn(4, 64, 32).half(), torch.randn(4, 32, 64).half()
    c = torch.ones(64, 64)
    launch = compile_kernel(accumulated, (1,), a, b, c, 4, M=64, N=64, K=32, PENDING=1)
    asynchronous = execute(launch)
    synchronous = execute(replace(launch, ttgir=launch.ttgir.replace("isAsync = true", "isAsync = false")))
    wanted = sum((a[s].float() @ b[s].float() for s in range(4)), torch.zeros(64, 64))
    torch.testing.assert_close(c, wanted, rtol=1e-5, atol=1e-4)
    assert synchronous.cycles > asynchronous.cycles


@triton.jit
def chained(q_ptr, k_ptr, v_ptr, o_ptr, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    m, n, d = tl.arange(0, M), tl.arange(0, N), tl.arange(0, D)
    q = tlx.local_alloc((M, D), tl.float16, 1)
    kt = tlx.local_alloc((N, D), tl.float16, 1)
    v = tlx.local_alloc((N, D), tl.float16, 1)
    tlx.local_store(q[0], tl.load(q_ptr + m[:, None] * D + d[None, :]))
    tlx.local_store(kt[0], tl.load(k_ptr + n[:, None] * D + d[None, :]))
    tlx.local_store(v[0], tl.load(v_ptr + n[:, None] * D + d[None, :]))
    tlx.fence("async_shared")
    scores = tlx.async_dot_wait(0, tlx.async_dot(q[0], tlx.local_trans(kt[0])))
    p = scores.to(tl.float16)
    acc = tlx.async_dot(p, v[0], tl.full((M, D), 1.0, tl.float32))
    acc = tlx.async_dot_wait(0, acc)
    tl.store(o_ptr + m[:, None] * D + d[None, :], acc)


def test_a_result_as_the_next_operand():
    q, k, v = torch.randn(64, 64).half(), torch.randn(128, 64).half(), torch.randn(128, 64).half()
    o = torch.zeros(64, 64)
    run_kernel(chained, (1,), q, k, v, o, M=64, N=128, D=64)
    wanted = (q.float() @ k.float().t()).half().float() @ v.float() + 1
    torch.testing.assert_close(o, wanted, rtol=2e-3, atol=2e-2)
