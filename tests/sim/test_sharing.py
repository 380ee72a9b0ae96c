"""CTAs and warp groups that share an SM, and launches of which only a part is run."""

from __future__ import annotations

import pytest
import torch
from kernel_runner import compile_kernel, execute, h200, run_kernel

triton = pytest.importorskip("triton")
tlx = pytest.importorskip("triton.language.extra.tlx")
tl = pytest.importorskip("triton.language")

SMS = h200().limits.sms


@triton.jit
def chase(x_ptr, y_ptr, STEPS: tl.constexpr):
    """Loads that depend on each other: nothing but latency."""
    at = 0
    for _ in range(STEPS):
        at = tl.load(x_ptr + at)
    tl.store(y_ptr + tl.program_id(0), at)


def sm_cycles(ctas: int) -> int:
    """Cycles of an SM on which `ctas` CTAs are at once."""
    x = torch.zeros(1, dtype=torch.int32)
    y = torch.zeros(ctas * SMS, dtype=torch.int32)
    run = run_kernel(chase, (ctas * SMS,), x, y, STEPS=50)
    assert run.trace.statistics["ctas_per_sm"] >= ctas
    return run.trace.statistics["sm_cycles"]


def test_ctas_of_an_sm_hide_each_others_latency():
    one = sm_cycles(1)
    assert one > 50 * h200().memory.l2_latency_cycles
    assert sm_cycles(2) <= 1.05 * one
    assert sm_cycles(8) <= 1.2 * one


@triton.jit
def arithmetic(x_ptr, STEPS: tl.constexpr):
    at = tl.program_id(0) * 4096 + tl.arange(0, 4096)
    x = tl.load(x_ptr + at)
    for _ in range(STEPS):
        x = (x + x) * x  # two instructions: a product that is added to something would be one
    tl.store(x_ptr + at, x)


def test_ctas_of_an_sm_share_its_schedulers():
    found: list[int] = []
    for ctas in (1, 2, 4):
        x = torch.zeros(4096 * ctas * SMS)
        run = run_kernel(arithmetic, (ctas * SMS,), x, STEPS=100)
        found.append(run.trace.statistics["sm_cycles"])
    fp32 = 100 * 2 * 4096 / h200().alu.fp32
    assert found[0] == pytest.approx(fp32, rel=0.25)
    assert found[1] == pytest.approx(2 * fp32, rel=0.25)
    assert found[2] == pytest.approx(4 * fp32, rel=0.25)


def test_ctas_of_one_warp_have_a_scheduler_each():
    found: list[int] = []
    for ctas in (1, 4):
        x = torch.zeros(4096 * ctas * SMS)
        run = run_kernel(arithmetic, (ctas * SMS,), x, STEPS=100, num_warps=1)
        found.append(run.trace.statistics["sm_cycles"])
    assert found[1] <= 1.3 * found[0]  # they share the path of loads


@triton.jit
def unequal(x_ptr, y_ptr, STEPS: tl.constexpr):
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tl.store(y_ptr, 1)
        with tlx.async_task(num_warps=4):
            at = 0
            for _ in range(STEPS):
                at = tl.load(x_ptr + at)
            tl.store(y_ptr + 1, at)
        with tlx.async_task(num_warps=4):
            tl.store(y_ptr + 2, 1)
    tlx.fence("async_shared")
    tl.store(y_ptr + 3, 1)


def test_what_follows_the_tasks_waits_for_the_last_of_them():
    run = run_kernel(unequal, (1,), torch.zeros(1, dtype=torch.int32), torch.zeros(4, dtype=torch.int32), STEPS=40)
    ends = {track.name: track.end for track in run.trace.tracks}
    slowest = max(end for track, end in zip(run.trace.tracks, ends.values(), strict=True) if track.agent > 0)
    assert slowest > 40 * h200().memory.l2_latency_cycles
    (fence,) = (row for row, site in enumerate(run.trace.events["site"]) if run.trace.sites[site].kind == "fence")
    assert run.trace.events["begin"][fence] >= slowest


@triton.jit
def products(a_ptr, c_ptr, REST: tl.constexpr):
    at = tl.arange(0, 64)[:, None] * 64 + tl.arange(0, 64)[None, :]
    a = tl.load(a_ptr + at)
    total = tl.zeros((64, 64), tl.float32)
    for _ in range(tl.program_id(0) % REST + 1):
        total = tl.dot(a, a, total)
    tl.store(c_ptr + at, total)


def test_cheap_launches_are_run_whole_without_values():
    """Each third CTA does three times the work of the first, and SMs have CTAs of one kind only."""
    launch = compile_kernel(products, (4 * SMS,), torch.zeros(64, 64).half(), torch.zeros(64, 64), REST=3)
    on, off = (execute(launch, values=values).trace for values in (True, False))
    assert on.flop == off.flop == 4 * SMS * 2 * 2 * 64**3
    assert on.cycles == off.cycles
    assert off.statistics["ctas_simulated"] == 4 * SMS


@triton.jit
def handovers(y_ptr, STEPS):
    done = tlx.alloc_barriers(1)
    for step in range(STEPS):
        tlx.barrier_arrive(done[0])
        tlx.barrier_wait(done[0], step & 1)
    tl.store(y_ptr + tl.program_id(0), STEPS)


def test_dear_launches_are_run_in_part_without_values():
    y = torch.zeros(2 * SMS, dtype=torch.int32)
    launch = compile_kernel(handovers, (2 * SMS,), y, 20_000)
    off = execute(launch, values=False).trace
    assert 8 <= off.statistics["ctas_simulated"] < 2 * SMS
    assert off.statistics["ctas"] == 2 * SMS


@pytest.mark.parametrize("dtype", [torch.uint8, torch.uint16, torch.uint32, torch.uint64])
def test_unsigned_tensors(dtype: torch.dtype):
    @triton.jit
    def arithmetic_of(x_ptr, y_ptr):
        at = tl.arange(0, 32)
        x = tl.load(x_ptr + at)
        tl.store(y_ptr + at, (x >> 1) + tl.maximum(x, 7))

    signed = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[dtype.itemsize]
    x = (torch.arange(32) - 16).to(signed).view(dtype)
    y = torch.zeros(32, dtype=dtype)
    run_kernel(arithmetic_of, (1,), x, y)
    modulus = 1 << (8 * dtype.itemsize)
    for index in range(32):
        value = (index - 16) % modulus
        assert int(y.view(signed)[index]) % modulus == ((value >> 1) + max(value, 7)) % modulus
