"""How long tcgen05's products take: SemiAnalysis' measurements of a B200, and what follows from them."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from cluster_runner import PAIR, events
from kernel_runner import Run, b200, compile_kernel, fbtriton_only
from test_tcgen05 import both

triton = pytest.importorskip("triton")
tl = pytest.importorskip("triton.language")
tlx = pytest.importorskip("triton.language.extra.tlx")

pytestmark = fbtriton_only("its kernels for Blackwell are not what is tested here")


@triton.jit
def products(
    y_ptr,
    M: tl.constexpr,
    N: tl.constexpr,
    K: tl.constexpr,
    COUNT: tl.constexpr,
    SUMS: tl.constexpr,
    IN_TENSOR_MEMORY: tl.constexpr,
    TWO: tl.constexpr,
    kind: tl.constexpr,
):
    """COUNT products, one after the other, into SUMS accumulators; the last one tells a barrier."""
    width: tl.constexpr = N // 2 if TWO else N
    if IN_TENSOR_MEMORY:
        a = tlx.local_alloc((M, K), kind, 1, tlx.storage_kind.tmem)
    else:
        a = tlx.local_alloc((M, K), kind, 1)
    if kind == tl.float32:  # which has to be in this order
        b = tlx.local_trans(tlx.local_alloc((width, K), kind, 1)[0])
    else:
        b = tlx.local_alloc((K, width), kind, 1)[0]
    sums = tlx.local_alloc((M, N), tl.float32, SUMS, tlx.storage_kind.tmem)
    done = tlx.alloc_barriers(1)
    for index in tl.static_range(COUNT - 1):
        tlx.async_dot(a[0], b, sums[index % SUMS], use_acc=False, force_async=True, two_ctas=TWO)
    tlx.async_dot(a[0], b, sums[(COUNT - 1) % SUMS], use_acc=False, mBarriers=[done[0]], two_ctas=TWO)
    tlx.barrier_wait(done[0], 0)
    tl.store(y_ptr + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :], tlx.local_load(sums[0]))


def timed(
    m: int,
    n: int,
    k: int = 16,
    *,
    count: int = 1,
    sums: int = 1,
    tmem: bool = False,
    two: bool = False,
    kind: Any = tl.float16,
) -> Run:
    sizes = {"M": m, "N": n, "K": k, "COUNT": count, "SUMS": sums, "IN_TENSOR_MEMORY": tmem, "TWO": two, "kind": kind}
    options = PAIR if two else {}
    grid = (2,) if two else (1,)
    return both(compile_kernel(products, grid, torch.zeros(m, n), device=b200(), **sizes, **options))


def seen(made: Run) -> int:
    """Cycles from the first issue until the wait goes on."""
    return events(made.trace, "wait", 0)[0]["end"] - events(made.trace, "mma", 0)[0]["begin"]


@pytest.mark.parametrize(
    ("m", "n", "tmem", "cycles"),
    [
        (128, 64, False, 168),
        (128, 128, False, 200),
        (128, 256, False, 264),
        (64, 64, False, 152),
        (64, 256, False, 248),
        (128, 128, True, 168),
        (64, 256, True, 232),
    ],
)
def test_one_instruction_from_issue_until_a_wait_goes_on(m: int, n: int, tmem: bool, cycles: int):
    assert seen(timed(m, n, tmem=tmem)) == cycles


@pytest.mark.parametrize(
    ("m", "n", "tmem", "cycles"),
    [(64, 128, False, 197), (64, 256, False, 229), (128, 128, False, 234), (128, 256, True, 266), (64, 128, True, 178)],
)
def test_one_instruction_of_a_pair(m: int, n: int, tmem: bool, cycles: int):
    assert seen(timed(m, n, tmem=tmem, two=True)) == cycles


@pytest.mark.parametrize(
    ("m", "n", "tmem", "interval"),
    [
        (128, 256, False, 128),
        (128, 128, False, 64),
        (128, 64, False, 48),  # 192 rows of 32 bytes at 128 bytes a cycle
        (128, 32, False, 43),  # the floor
        (128, 64, True, 32),
        (64, 128, False, 64),  # as long as with 128 rows
        (64, 64, False, 32),
    ],
)
def test_instructions_of_a_product_follow_each_other(m: int, n: int, tmem: bool, interval: int):
    four, eight = timed(m, n, 64, tmem=tmem), timed(m, n, 128, tmem=tmem)
    assert seen(eight) - seen(four) == 4 * interval
    assert four.trace.statistics["tensor_core_busy_cycles"] == 4 * interval


def test_several_instructions_end_later_than_the_last_alone_would():
    assert seen(timed(128, 128, 64)) == 3 * 64 + 200 + 12


@pytest.mark.parametrize(
    ("kind", "k", "interval"),
    [(tl.float32, 8, 128), (tl.bfloat16, 16, 128), (tl.float8e4nv, 32, 128)],
    ids=["tf32", "bf16", "fp8"],
)
def test_an_instruction_is_32_bytes_of_k(kind: Any, k: int, interval: int):
    made = timed(128, 256, 4 * k, kind=kind)
    assert made.trace.statistics["tensor_core_busy_cycles"] == 4 * interval
    assert made.trace.flop == 2 * 128 * 256 * 4 * k


@pytest.mark.parametrize("sums", [1, 2])
def test_products_queue_up_in_order(sums: int):
    """128 x 128 x 64 keeps the tensor cores busy for 256 cycles; one accumulator or two make no difference."""
    made = timed(128, 128, 64, count=3, sums=sums)
    ran = events(made.trace, "mma", 0, engine=True)
    issued = events(made.trace, "mma", 0)
    first = issued[0]["begin"]
    assert [each["begin"] - first for each in ran] == [0, 256, 512]
    # the last of four instructions of 64 cycles is seen 136 + 12 after its turn; a wait needs 84 to go on
    complete = 4 * 64 + 136 + 12 - 84
    assert [each["end"] - first for each in ran] == [complete, 256 + complete, 512 + complete]
    assert [each["released_by"] for each in ran] == [each["row"] for each in issued]
    assert seen(made) == 512 + 4 * 64 + 136 + 12
    # issuing takes 30 cycles an instruction, and the commit of the last as long
    assert [each["end"] - each["begin"] for each in issued] == [120, 120, 150]
    assert events(made.trace, "wait", 0)[0]["released_by"] == ran[-1]["row"]


def test_both_ctas_of_a_pair_work_and_are_told():
    """One CTA issues; each multiplies its half of the rows, and waits for its own tensor cores."""
    made = timed(128, 128, 64, two=True)
    assert [len(events(made.trace, "mma", cta)) for cta in (0, 1)] == [1, 0]
    (issue,) = events(made.trace, "mma", 0)
    ends = []
    for cta in (0, 1):
        (ran,) = events(made.trace, "mma", cta, engine=True)
        (wait,) = events(made.trace, "wait", cta)
        assert ran["released_by"] == issue["row"]
        assert wait["released_by"] == ran["row"]
        ends.append((ran["begin"], ran["end"]))
    assert ends[0] == ends[1]
    assert made.trace.flop == 2 * (2 * 128) * 128 * 64
    assert made.trace.statistics["tensor_core_busy_cycles"] == 4 * 64
