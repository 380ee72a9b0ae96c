"""Kernels through the whole checker: what only other schedules show, and what they compute under two of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from ring_programs import Ring
from sim.kernel_runner import compile_kernel, h200
from test_random_rings import launch_of

from tlxviz.check.checker import Checker
from tlxviz.check.model import Finding, Severity
from tlxviz.check.schedules import Pace, Schedule
from tlxviz.launch.model import Launch
from tlxviz.sim.kernels import Kernels
from tlxviz.sim.watched import trace_paced

triton = pytest.importorskip("triton")
tlx = pytest.importorskip("triton.language.extra.tlx")
tl = pytest.importorskip("triton.language")


def findings_of(launch: Launch, **options: Any) -> tuple[Finding, ...]:
    return Checker(h200(), **options).check(launch).findings


@triton.jit
def releases_ahead(y_ptr, K: tl.constexpr):
    """The release of a slot comes before its first fill, if the producer is slow: then it waits for the next."""
    full = tlx.alloc_barriers(2)
    empty = tlx.alloc_barriers(2)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            for k in tl.static_range(K):
                tlx.barrier_wait(full[k % 2], (k // 2) & 1)
                tlx.barrier_arrive(empty[(k + 1) % 2])
            tl.store(y_ptr, K)
        with tlx.async_task(num_warps=1):
            for k in tl.static_range(K):
                tlx.barrier_wait(empty[k % 2], ((k // 2) & 1) ^ 1)
                tlx.barrier_arrive(full[k % 2])


def test_a_hang_that_only_a_slow_producer_shows_has_a_schedule_that_shows_it_again():
    launch = compile_kernel(releases_ahead, (1,), torch.zeros(1, dtype=torch.int32), 2)
    assert not findings_of(launch, schedules=1)
    (hang,) = (each for each in findings_of(launch) if each.severity is Severity.ERROR)
    assert hang.schedule.startswith("w1=")
    (again,) = findings_of(launch, replay=Schedule.parse(hang.schedule))
    assert replace(again, times=hang.times) == hang


def test_the_trace_of_a_schedule_ends_where_it_hangs():
    launch = compile_kernel(releases_ahead, (1,), torch.zeros(1, dtype=torch.int32), 2)
    trace = trace_paced(launch, h200(), Kernels(h200()), Pace(Schedule.parse("w1=2000")))
    assert trace.hang is not None
    assert {waiter["agent"] for waiter in trace.hang["waiters"]} > {"load"} or len(trace.hang["waiters"]) >= 2
    usual = trace_paced(launch, h200(), Kernels(h200()), Pace(Schedule()))
    assert usual.hang is None
    assert len(usual.events) > len(trace.events)


@triton.jit
def last_one_wins(y_ptr):
    """Two tasks store to the same place, and nothing orders them."""
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tl.store(y_ptr + tl.arange(0, 32), 1.0)
        with tlx.async_task(num_warps=4):
            tl.store(y_ptr + tl.arange(0, 32), 2.0)


@triton.jit
def summed_in_any_order(y_ptr):
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tl.atomic_add(y_ptr + tl.arange(0, 32), 1.0)
        with tlx.async_task(num_warps=4):
            tl.atomic_add(y_ptr + tl.arange(0, 32), 2.0)


def test_results_that_depend_on_the_schedule():
    y = torch.full((32,), 7.0)
    (finding,) = findings_of(compile_kernel(last_one_wins, (1,), y))
    assert (finding.rule, finding.severity) == ("schedule", Severity.ERROR)
    assert "y_ptr depends on the schedule: 32 of its 32 elements differ, the first at [0]" in finding.message
    assert y.tolist() == [7.0] * 32  # outputs stay as they are


def test_atomic_operations_may_come_in_any_order():
    assert not findings_of(compile_kernel(summed_in_any_order, (1,), torch.zeros(32)))


def test_memory_that_nobody_has_written():
    ring = Ring(2, 2, 1, 1, 1, "values", 0, False, 0, False)
    launch = launch_of(ring)
    lines = [line for line in launch.ttgir.split("\n") if "wait_barrier" not in line and "async_tma_copy" not in line]
    lines = [line for line in lines if "barrier_expect" not in line]
    (finding,) = findings_of(replace(launch, ttgir="\n".join(lines)))
    assert finding.rule == "uninitialised"
    assert finding.places[0].variable == "tiles0"


@triton.jit
def normalised(x_ptr, y_ptr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N))
    total = tl.sum(x, axis=0)
    y = x / total
    tl.store(y_ptr + tl.arange(0, N), y + 1.0)


def test_the_first_operation_that_gives_no_number():
    (finding,) = findings_of(compile_kernel(normalised, (1,), torch.zeros(64), torch.zeros(64), 64))
    assert (finding.rule, finding.severity) == ("nan", Severity.WARNING)
    source = normalised.fn.__code__.co_firstlineno
    assert finding.location.line == source + 4
    assert not findings_of(compile_kernel(normalised, (1,), torch.ones(64), torch.zeros(64), 64))


def test_what_is_no_number_in_the_arguments_is_their_own_affair():
    x = torch.full((64,), float("nan"))
    assert not findings_of(compile_kernel(normalised, (1,), x, torch.zeros(64), 64))
