"""tcgen05: products into tensor memory of one CTA, their operands and barriers, and how long they take."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
import torch
from cluster_runner import events
from kernel_runner import Run, b200, compile_kernel, execute, executes, fbtriton_only, h200

from tlxviz.launch.model import Launch
from tlxviz.sim.errors import BarrierError, HangError, UnsupportedOperation

triton = pytest.importorskip("triton")
tl = pytest.importorskip("triton.language")
tlx = pytest.importorskip("triton.language.extra.tlx")

pytestmark = fbtriton_only("its kernels for Blackwell are not what is tested here")

TOLERANCE = 1e-5
CORE = b200().tcgen05
WAKE = round(b200().sync.mbarrier_wake)


def both(launch: Launch) -> Run:
    """Runs with values and without, which has to give equal events; the run with values."""
    with_values, without = (execute(launch, device=b200(), values=values) for values in (True, False))
    assert with_values.cycles == without.cycles
    for name, column in with_values.trace.events.columns.items():
        assert (column == without.trace.events[name]).all(), name
    return with_values


def run(function: Any, *args: Any, **options: Any) -> Run:
    return both(compile_kernel(function, (1,), *args, device=b200(), **options))


def close(got: torch.Tensor, wanted: torch.Tensor, tolerance: float = TOLERANCE) -> None:
    assert float((got.double() - wanted).norm() / wanted.norm()) < tolerance


# ---------------------------------------------------------------------- operands


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
    IN_TENSOR_MEMORY: tl.constexpr,
):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    kind: tl.constexpr = tlx.dtype_of(a_ptr)
    if TURN_A:
        a_tile = tlx.local_alloc((K, M), kind, 1)
        tlx.local_store(a_tile[0], tl.load(a_ptr + k[:, None] * M + m[None, :]))
        a = tlx.local_trans(a_tile[0])
    elif IN_TENSOR_MEMORY:
        a_tile = tlx.local_alloc((M, K), kind, 2, tlx.storage_kind.tmem)
        tlx.local_store(a_tile[1], tl.load(a_ptr + m[:, None] * K + k[None, :]))
        a = tlx.local_view(a_tile, 1)
    else:
        a_tile = tlx.local_alloc((M, K), kind, 1)
        tlx.local_store(a_tile[0], tl.load(a_ptr + m[:, None] * K + k[None, :]))
        a = tlx.local_view(a_tile, 0)
    if TURN_B:
        b_tile = tlx.local_alloc((N, K), kind, 1)
        tlx.local_store(b_tile[0], tl.load(b_ptr + n[:, None] * K + k[None, :]))
        b = tlx.local_trans(b_tile[0])
    else:
        b_tile = tlx.local_alloc((K, N), kind, 1)
        tlx.local_store(b_tile[0], tl.load(b_ptr + k[:, None] * N + n[None, :]))
        b = tlx.local_view(b_tile, 0)
    tlx.fence("async_shared")
    sums = tlx.local_alloc((M, N), tl.float32, 1, tlx.storage_kind.tmem)
    done = tlx.alloc_barriers(1)
    tlx.local_store(sums[0], tl.full((M, N), 1.0, tl.float32))
    tlx.async_dot(a, b, sums[0], use_acc=False)
    tlx.async_dot(a, b, sums[0], mBarriers=[done[0]])
    tlx.barrier_wait(done[0], 0)
    tl.store(c_ptr + m[:, None] * N + n[None, :], tlx.local_load(sums[0]))


def check(
    a: torch.Tensor, b: torch.Tensor, *, turn_a: bool = False, turn_b: bool = False, tmem: bool = False, **options: Any
) -> None:
    """Two products of which the second adds to the first, which forgets what was there."""
    (m, k), n = a.shape, b.shape[1]
    c = torch.zeros(m, n)
    left = a.t().contiguous() if turn_a else a
    right = b.t().contiguous() if turn_b else b
    flags = {"TURN_A": turn_a, "TURN_B": turn_b, "IN_TENSOR_MEMORY": tmem}
    run(product, left, right, c, M=m, N=n, K=k, **flags, **options)
    close(c, 2 * a.double() @ b.double())


@pytest.mark.parametrize("shape", [(64, 32, 16), (64, 256, 64), (128, 128, 64), (128, 64, 128)], ids=str)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@executes("ttng.tc_gen5_mma", "ttng.tmem_load")
def test_shapes(shape: tuple[int, int, int], dtype: torch.dtype):
    m, n, k = shape
    check(torch.randn(m, k).to(dtype), torch.randn(k, n).to(dtype))


@pytest.mark.parametrize(("turn_a", "turn_b"), [(True, False), (False, True), (True, True)])
@executes("ttg.memdesc_trans", "ttng.tc_gen5_mma")
def test_transposed_operands(turn_a: bool, turn_b: bool):
    check(torch.randn(128, 64).half(), torch.randn(64, 64).half(), turn_a=turn_a, turn_b=turn_b)


@pytest.mark.parametrize("rows", [64, 128])
@executes("ttng.tc_gen5_mma", "ttng.tmem_store")
def test_the_first_operand_in_tensor_memory(rows: int):
    check(torch.randn(rows, 64).half(), torch.randn(64, 128).half(), tmem=True)


@pytest.mark.parametrize("dtype", [torch.float8_e5m2, torch.float8_e4m3fn], ids=str)
def test_fp8(dtype: torch.dtype):
    check(torch.randn(128, 64).to(dtype), torch.randn(64, 64).to(dtype), turn_b=True)


def test_eight_warps_issue_it_once():
    check(torch.randn(128, 64).half(), torch.randn(64, 128).half(), num_warps=8)


def test_tf32_drops_mantissa_bits():
    a, b = torch.randint(-8, 9, (128, 32)).float(), torch.randint(-8, 9, (32, 64)).float()
    flags = {"M": 128, "N": 64, "K": 32, "TURN_A": False, "TURN_B": True, "IN_TENSOR_MEMORY": False}
    c, d = torch.zeros(128, 64), torch.zeros(128, 64)
    run(product, a * (1 + 2.0**-14), b.t().contiguous(), c, **flags)
    run(product, a, b.t().contiguous(), d, **flags)
    assert torch.equal(d.double(), 2 * a.double() @ b.double())
    close(c, d.double(), 1e-6)


@triton.jit
def plain(a_ptr, b_ptr, c_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, STEPS: tl.constexpr):
    """Triton without TLX, which makes tokens and waits of its own."""
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    sums = tl.zeros((M, N), tl.float32)
    for step in range(STEPS):
        a = tl.load(a_ptr + m[:, None] * (K * STEPS) + step * K + k[None, :])
        b = tl.load(b_ptr + (step * K + k)[:, None] * N + n[None, :])
        sums = tl.dot(a, b, sums)
    tl.store(c_ptr + m[:, None] * N + n[None, :], sums)


@pytest.mark.parametrize("warps", [4, 8])
def test_products_of_plain_triton(warps: int):
    a, b, c = torch.randn(128, 256).half(), torch.randn(256, 64).half(), torch.zeros(128, 64)
    run(plain, a, b, c, M=128, N=64, K=64, STEPS=4, num_warps=warps)
    close(c, a.double() @ b.double())


# ---------------------------------------------------------------------- accumulators, barriers, order


@triton.jit
def chain(a_ptr, b_ptr, c_ptr, steps, N: tl.constexpr, K: tl.constexpr, HOW: tl.constexpr):
    m, n, k = tl.arange(0, 128), tl.arange(0, N), tl.arange(0, K)
    a_tiles = tlx.local_alloc((128, K), tl.float16, 2)
    b_tiles = tlx.local_alloc((K, N), tl.float16, 2)
    for step in tl.static_range(2):
        tlx.local_store(a_tiles[step], tl.load(a_ptr + step * 128 * K + m[:, None] * K + k[None, :]))
        tlx.local_store(b_tiles[step], tl.load(b_ptr + step * K * N + k[:, None] * N + n[None, :]))
    tlx.fence("async_shared")
    sums = tlx.local_alloc((128, N), tl.float32, 2, tlx.storage_kind.tmem)
    done = tlx.alloc_barriers(2)
    if HOW == "commit":
        for step in range(steps):
            tlx.async_dot(a_tiles[step % 2], b_tiles[step % 2], sums[0], use_acc=step > 0, force_async=True)
        tlx.tcgen05_commit(done[0])
        tlx.barrier_wait(done[0], 0)
    elif HOW == "barriers":
        tlx.async_dot(a_tiles[0], b_tiles[0], sums[0], use_acc=False, mBarriers=[done[0], done[1]])
        tlx.barrier_wait(done[1], 0)
        tlx.barrier_wait(done[0], 0)
    elif HOW == "predicate":
        tlx.async_dot(a_tiles[0], b_tiles[0], sums[0], use_acc=False, force_async=True)
        tlx.async_dot(a_tiles[1], b_tiles[1], sums[0], mBarriers=[done[0]])
        tlx.barrier_wait(done[0], 0)
    elif HOW == "two":
        tlx.async_dot(a_tiles[0], b_tiles[0], sums[0], use_acc=False, mBarriers=[done[0]])
        tlx.async_dot(a_tiles[1], b_tiles[1], sums[1], use_acc=False, mBarriers=[done[1]])
        tlx.barrier_wait(done[0], 0)
        tlx.barrier_wait(done[1], 0)
        tlx.async_dot(a_tiles[1], b_tiles[1], sums[0], mBarriers=[done[0]])
        tlx.barrier_wait(done[0], 1)
    else:
        tlx.async_dot(a_tiles[0], b_tiles[0], sums[0], use_acc=False, mBarriers=[done[0]])
        if HOW == "overwritten":
            tlx.local_store(a_tiles[0], tl.zeros((128, K), tl.float16))
            tlx.barrier_wait(done[0], 0)
    tl.store(c_ptr + m[:, None] * N + n[None, :], tlx.local_load(sums[0]))
    if HOW == "early":
        tlx.barrier_wait(done[0], 0)


def prepared(how: str, *, steps: int = 2, n: int = 128, k: int = 64) -> tuple[Launch, Any, Any, Any]:
    a, b, c = torch.randn(2, 128, k).half(), torch.randn(2, k, n).half(), torch.zeros(128, n)
    launch = compile_kernel(chain, (1,), a, b, c, steps, device=b200(), N=n, K=k, HOW=how)
    return launch, a.double(), b.double(), c


@executes("ttng.tc_gen5_commit")
def test_a_commit_waits_for_all_products_before_it():
    launch, a, b, c = prepared("commit", steps=3)
    both(launch)
    close(c, 2 * a[0] @ b[0] + a[1] @ b[1])


def test_a_commit_of_nothing_arrives_at_once():
    launch, _, _, c = prepared("commit", steps=0)
    both(launch)
    assert not c.any()


def test_a_product_tells_all_its_barriers():
    launch, a, b, c = prepared("barriers")
    both(launch)
    close(c, a[0] @ b[0])


def test_two_accumulators():
    launch, a, b, c = prepared("two")
    both(launch)
    close(c, a[0] @ b[0] + a[1] @ b[1])


def edited(launch: Launch, pattern: str, replacement: str) -> Launch:
    text, count = re.subn(pattern, replacement, launch.ttgir, flags=re.MULTILINE)
    assert count == 1
    return replace(launch, ttgir=text)


@pytest.mark.parametrize("steps", [2, 3])
def test_a_predicate_leaves_products_out(steps: int):
    """The first of two products is done if an argument is 2."""
    launch, a, b, c = prepared("predicate", steps=steps)
    flag = "    %two = arith.constant 2 : i32\n    %first = arith.cmpi eq, %steps, %two : i32\n"
    made = both(edited(launch, r"^( *ttng.tc_gen5_mma .*), %true(\w*) \{", flag + r"\1, %first {"))
    products = 4 - steps
    assert len(events(made.trace, "mma", 0, engine=True)) == products
    assert made.trace.flop == products * 2 * 128 * 128 * 64
    close(c, a[1] @ b[1] + (a[0] @ b[0] if steps == 2 else 0))


def test_a_barrier_that_a_product_does_not_tell():
    launch, _, _, _ = prepared("barriers")
    silent = edited(launch, r"(ttng.tc_gen5_mma .*\[)%true\w*\]( \{)", r"\1%false]\2")
    with pytest.raises(HangError, match="nobody has arrived yet") as caught:
        execute(silent, device=b200())
    assert {each["variable"] for each in caught.value.report["arrivers"]} == {"done"}


def test_a_sum_that_is_read_too_early_is_not_there():
    launch, _, _, c = prepared("early")
    both(launch)
    assert not c.any()


def test_an_operand_that_is_overwritten_too_early_is_lost():
    launch, _, _, c = prepared("overwritten")
    both(launch)
    assert not c.any()


def test_a_synchronous_product_is_waited_for():
    launch, a, b, c = prepared("early")
    both(edited(launch, r"(ttng.tc_gen5_mma .*) \{is_async\}", r"\1"))
    close(c, a[0] @ b[0])


def test_a_barrier_that_takes_another_number_of_arrivals():
    launch, _, _, _ = prepared("barriers")
    without = replace(launch, ttgir=re.sub(r"(ttng.init_barrier %\w+), 1", r"\1, 0", launch.ttgir))
    with pytest.raises(BarrierError, match=r"test_tcgen05.py:\d+ \(ttng.tc_gen5_mma\).*used before it is initialised"):
        execute(without, device=b200())


def test_other_devices_have_none():
    launch, _, _, _ = prepared("barriers")
    with pytest.raises(UnsupportedOperation, match="H200"):
        execute(replace(launch, metadata={**launch.metadata, "tmem_size": 0}), device=h200())
