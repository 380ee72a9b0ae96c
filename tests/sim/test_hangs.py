"""Kernels that can never end: the report names who waits for what, what is missing and who should have acted.

One kernel for each class of mistake that ends so; with `FIX` each is right and runs.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest
import torch
from kernel_runner import compile_kernel, execute, h200, run_kernel, run_ttgir

from tlxviz._errors import ExitCode
from tlxviz.sim.errors import BarrierError, HangError, MemoryAccessError
from tlxviz.sim.recorder import SimulatedRecorder
from tlxviz.sim.recording import Recording

triton = pytest.importorskip("triton")
tlx = pytest.importorskip("triton.language.extra.tlx")
tl = pytest.importorskip("triton.language")


def line_of(function: Any, text: str, *, last: bool = False) -> int:
    """The line of this file on which `text` stands in a kernel, first or last."""
    lines, first = inspect.getsourcelines(function.fn)
    return first + [number for number, line in enumerate(lines) if text in line][-1 if last else 0]


def hang(function: Any, *args: Any, **options: Any) -> tuple[str, dict[str, Any]]:
    """What the error says, and its report; the same kernel with FIX has to run."""
    run_kernel(function, (1,), *args, FIX=True, **options)
    with pytest.raises(HangError) as caught:
        run_kernel(function, (1,), *args, FIX=False, **options)
    assert caught.value.exit_code == ExitCode.FINDINGS
    return str(caught.value), caught.value.report


def facts(waiter: dict[str, Any], *names: str) -> tuple[Any, ...]:
    return tuple(waiter[name] for name in names)


@pytest.fixture
def tile() -> Callable[[], Any]:
    from triton.tools.tensor_descriptor import TensorDescriptor

    return lambda: TensorDescriptor(torch.zeros(64, 512).half(), [64, 512], [512, 1], [64, 64])


@triton.jit
def missing_arrive(desc, y_ptr, K, S: tl.constexpr, FIX: tl.constexpr):
    a = tlx.local_alloc((64, 64), tl.float16, S)
    full = tlx.alloc_barriers(S)
    empty = tlx.alloc_barriers(S, arrive_count=2)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            for k in range(K):
                tlx.barrier_wait(empty[k % S], ((k // S) & 1) ^ 1)
                tlx.barrier_expect_bytes(full[k % S], 64 * 64 * 2)
                tlx.async_descriptor_load(desc, a[k % S], [0, k * 64], full[k % S])
        with tlx.async_task(num_warps=4, replicate=2):
            at = tl.arange(0, 64)[:, None] * 64 + tl.arange(0, 64)[None, :]
            for k in range(K):
                tlx.barrier_wait(full[k % S], (k // S) & 1)
                tl.store(y_ptr + at, tlx.local_load(a[k % S]))
                if FIX or tlx.async_task_replica_id() == 0:
                    tlx.barrier_arrive(empty[k % S])


def test_one_of_two_releases_is_missing(tile: Callable[[], Any]):
    text, report = hang(missing_arrive, tile(), torch.zeros(64, 64).half(), 4, S=2)
    wait = line_of(missing_arrive, "barrier_wait(empty")
    arrive = line_of(missing_arrive, "barrier_arrive(empty")
    first, second, third = report["waiters"]
    assert facts(first, "agent", "operation", "variable", "slot", "phase") == ("load", "wait", "empty", 0, 0)
    assert facts(first, "pending", "count", "missing_bytes", "completed_phases") == (1, 2, 0, 0)
    assert facts(first, "file", "line", "inner") == (__file__, wait, 2)
    assert first["last_arrival"]["line"] == arrive
    assert facts(second, "variable", "slot", "phase", "pending", "count") == ("full", 0, 1, 1, 1)
    assert facts(third, "variable", "slot", "phase", "line") == facts(second, "variable", "slot", "phase", "line")
    assert report["ended"] == []
    assert {(each["agent"], each["variable"], each["line"]) for each in report["arrivers"]} == {
        (first["last_arrival"]["agent"], "empty", arrive),
        ("load", "full", line_of(missing_arrive, "barrier_expect_bytes")),
    }
    assert text.startswith("kernel missing_arrive hangs in CTA 0: load waits for empty[0]")
    assert "has 1 of 2 arrivals" in text


@pytest.mark.parametrize("counted", [True, False], ids=["not asked for", "trial"])
def test_a_hang_is_kept_although_its_launch_is_not_to_be_recorded(counted: bool):
    launch = compile_kernel(wrong_count, (1,), torch.zeros(1, dtype=torch.int32), FIX=False)
    launch.counted = counted
    wanted, other = Recording(launches=(7,)), Recording(lambda kernel: kernel == "other")
    recorder = SimulatedRecorder(h200(), wanted)
    recorder.recordings.append(other)
    for _ in range(2):
        with pytest.raises(HangError):
            recorder.execute(launch)
    [kept] = wanted.trace.launches
    assert kept.hang is not None
    assert not kept.tracks
    assert not other.trace.launches


@triton.jit
def constant_phase(y_ptr, TILES, FIX: tl.constexpr):
    full = tlx.alloc_barriers(1)
    empty = tlx.alloc_barriers(1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            for t in range(TILES):
                if FIX:
                    tlx.barrier_wait(empty[0], (t & 1) ^ 1)
                else:
                    tlx.barrier_wait(empty[0], 0)
                tlx.barrier_arrive(full[0])
            tl.store(y_ptr, TILES)
        with tlx.async_task(num_warps=1):
            for t in range(TILES):
                tlx.barrier_wait(full[0], t & 1)
                tlx.barrier_arrive(empty[0])


def test_a_wrong_phase():
    text, report = hang(constant_phase, torch.zeros(1, dtype=torch.int32), 4)
    first, second = report["waiters"]
    assert facts(first, "variable", "slot", "phase", "completed_phases", "pending", "last_arrival") == (
        "empty", 0, 0, 0, 1, None
    )  # fmt: skip
    assert first["line"] == line_of(constant_phase, "barrier_wait(empty[0], 0)")
    assert facts(second, "variable", "phase", "completed_phases") == ("full", 0, 0)
    assert "nobody has arrived yet" in text


@triton.jit
def wrong_count(y_ptr, FIX: tl.constexpr):
    done = tlx.alloc_barriers(1, arrive_count=1 if FIX else 3)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.barrier_wait(done[0], 0)
            tl.store(y_ptr, 1)
        with tlx.async_task(num_warps=1):
            tlx.barrier_arrive(done[0])


def test_a_count_that_nobody_reaches():
    text, report = hang(wrong_count, torch.zeros(1, dtype=torch.int32))
    (waiter,) = report["waiters"]
    assert facts(waiter, "variable", "pending", "count") == ("done", 2, 3)
    assert len(report["ended"]) == 1
    (arriver,) = report["arrivers"]
    assert arriver["ended"] is True
    assert arriver["line"] == line_of(wrong_count, "barrier_arrive")
    assert waiter["last_arrival"]["agent"] == report["ended"][0]
    assert "has 1 of 3 arrivals" in text
    assert f"ended: {report['ended'][0]}" in text


@triton.jit
def wrong_bytes(desc, y_ptr, SIZE: tl.constexpr, FIX: tl.constexpr):
    a = tlx.local_alloc((64, 64), tl.float16, 1)
    full = tlx.alloc_barriers(1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            at = tl.arange(0, 64)[:, None] * 64 + tl.arange(0, 64)[None, :]
            tlx.barrier_wait(full[0], 0)
            tl.store(y_ptr + at, tlx.local_load(a[0]))
        with tlx.async_task(num_warps=1):
            tlx.barrier_expect_bytes(full[0], 8192 if FIX else SIZE)
            tlx.async_descriptor_load(desc, a[0], [0, 0], full[0])


@pytest.mark.parametrize(
    ("size", "missing", "words"), [(10000, 1808, "misses 1,808 bytes"), (4096, -4096, "got 4,096 bytes too many")]
)
def test_other_bytes_expected_than_come(tile: Callable[[], Any], size: int, missing: int, words: str):
    text, report = hang(wrong_bytes, tile(), torch.zeros(64, 64).half(), SIZE=size)
    (waiter,) = report["waiters"]
    assert facts(waiter, "variable", "slot", "phase", "pending", "missing_bytes") == ("full", 0, 0, 0, missing)
    assert waiter["last_arrival"]["line"] == line_of(wrong_bytes, "barrier_expect_bytes")
    assert words in text


@triton.jit
def unannounced(desc, y_ptr, FIX: tl.constexpr):
    a = tlx.local_alloc((64, 64), tl.float16, 1)
    full = tlx.alloc_barriers(1)
    at = tl.arange(0, 64)[:, None] * 64 + tl.arange(0, 64)[None, :]
    if FIX:
        tlx.barrier_expect_bytes(full[0], 8192)
    tlx.async_descriptor_load(desc, a[0], [0, 0], full[0])
    tlx.barrier_wait(full[0], 0)
    tl.store(y_ptr + at, tlx.local_load(a[0]))


def test_bytes_that_nothing_announced(tile: Callable[[], Any]):
    text, report = hang(unannounced, tile(), torch.zeros(64, 64).half())
    (waiter,) = report["waiters"]
    assert facts(waiter, "variable", "pending", "count", "missing_bytes", "last_arrival") == ("full", 1, 1, -8192, None)
    assert [facts(each, "agent", "line") for each in report["arrivers"]] == [
        (waiter["agent"], line_of(unannounced, "async_descriptor_load"))
    ]
    line = line_of(unannounced, "barrier_wait")
    assert text == (
        f"kernel unannounced hangs in CTA 0: {waiter['agent']} waits for full[0], phase 0, at {__file__}:{line} "
        "(nobody has arrived yet, it got 8,192 bytes that nothing announced)"
    )


@triton.jit
def other_order(y_ptr, T, FIX: tl.constexpr):
    done = tlx.alloc_barriers(2)
    empty = tlx.alloc_barriers(1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            for n in range(2 * T):
                tlx.barrier_wait(empty[0], (n & 1) ^ 1)
                tlx.barrier_arrive(done[n & 1])
            tl.store(y_ptr, T)
        with tlx.async_task(num_warps=1):
            for t in range(T):
                for sub in range(2):
                    tlx.barrier_wait(done[sub if FIX else 1 - sub], t & 1)
                    tlx.barrier_arrive(empty[0])


def test_another_order():
    _, report = hang(other_order, torch.zeros(1, dtype=torch.int32), 2)
    first, second = report["waiters"]
    assert facts(first, "variable", "slot", "inner", "completed_phases") == ("empty", 0, 1, 0)
    assert facts(second, "variable", "slot", "outer", "inner", "completed_phases") == ("done", 1, 0, 0, 0)


@triton.jit
def unequal_trips(y_ptr, K, FIX: tl.constexpr):
    full = tlx.alloc_barriers(1)
    empty = tlx.alloc_barriers(1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            for k in range(K if FIX else K + 1):
                tlx.barrier_wait(full[0], k & 1)
                tlx.barrier_arrive(empty[0])
            tl.store(y_ptr, K)
        with tlx.async_task(num_warps=1):
            for k in range(K):
                tlx.barrier_wait(empty[0], (k & 1) ^ 1)
                tlx.barrier_arrive(full[0])


@pytest.mark.parametrize("trips", [0, 1, 3])
def test_unequal_trip_counts(trips: int):
    text, report = hang(unequal_trips, torch.zeros(1, dtype=torch.int32), trips)
    (waiter,) = report["waiters"]
    assert facts(waiter, "variable", "completed_phases", "phase", "inner") == ("full", trips, trips & 1, trips)
    (ended,) = report["ended"]
    arriver = next(each for each in report["arrivers"] if each["variable"] == "full")
    assert facts(arriver, "agent", "ended") == (ended, True)
    assert f"ended: {ended}" in text


@triton.jit
def named_count(y_ptr, FIX: tl.constexpr):
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.named_barrier_wait(9, 160 if FIX else 256)
            tl.store(y_ptr, 1)
        with tlx.async_task(num_warps=1):
            tlx.named_barrier_arrive(9, 160 if FIX else 256)


def test_too_few_threads_at_a_named_barrier():
    text, report = hang(named_count, torch.zeros(1, dtype=torch.int32))
    (waiter,) = report["waiters"]
    assert facts(waiter, "operation", "slot", "pending", "count") == ("named_wait", 9, 96, 256)
    assert waiter["line"] == line_of(named_count, "named_barrier_wait")
    assert [facts(each, "line", "slot", "ended") for each in report["arrivers"]] == [
        (line_of(named_count, "named_barrier_arrive"), 9, True)
    ]
    assert "has 160 of 256 threads" in text


@triton.jit
def shallow_ring(y_ptr, S: tl.constexpr, FIX: tl.constexpr):
    full, empty = tlx.alloc_barriers(S), tlx.alloc_barriers(S)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            for n in range(S + 1):
                tlx.barrier_wait(empty[n % S], ((n // S) & 1) ^ 1)
                tlx.barrier_arrive(full[n % S])
            tl.store(y_ptr, S)
        with tlx.async_task(num_warps=1):
            if FIX:
                for n in range(S + 1):
                    tlx.barrier_wait(full[n % S], (n // S) & 1)
                    tlx.barrier_arrive(empty[n % S])
            else:  # holds all items before it gives one back
                for n in range(S + 1):
                    tlx.barrier_wait(full[n % S], (n // S) & 1)
                for n in range(S + 1):
                    tlx.barrier_arrive(empty[n % S])


def test_a_ring_that_is_too_shallow():
    """The compiler drops the names of `full, empty = ...`; the source has them."""
    _, report = hang(shallow_ring, torch.zeros(1, dtype=torch.int32), S=3)
    first, second = report["waiters"]
    assert facts(first, "variable", "slot", "phase", "inner") == ("empty", 0, 0, 3)
    assert facts(second, "variable", "slot", "phase", "completed_phases") == ("full", 0, 1, 1)


def test_when_it_stopped_is_known():
    _, report = hang(wrong_count, torch.zeros(1, dtype=torch.int32))
    (waiter,) = report["waiters"]
    assert 0 < waiter["since"] < waiter["last_arrival"]["cycle"] <= report["cycle"] < 2000
    assert facts(report, "cta", "ctas", "queued") == (0, 1, 0)


def test_a_trace_of_a_hang_holds_what_came_before():
    from kernel_runner import h200

    from tlxviz.sim.recorder import SimulatedRecorder

    launch = compile_kernel(wrong_count, (1,), torch.zeros(1, dtype=torch.int32), FIX=False)
    recorder = SimulatedRecorder(h200())
    with pytest.raises(HangError) as caught:
        recorder.execute(launch)
    (trace,) = recorder.trace.launches
    assert trace.hang == caught.value.report
    assert [trace.sites[site].kind for site in trace.events["site"]] == ["arrive", "wait"]
    (waiter,) = trace.hang["waiters"]
    assert (trace.events["begin"][1], trace.events["end"][1]) == (waiter["since"], trace.hang["cycle"])


@triton.jit
def one_cta_in_five(y_ptr, FIX: tl.constexpr):
    done = tlx.alloc_barriers(1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.barrier_wait(done[0], 0)
            tl.store(y_ptr + tl.program_id(0), 1)
        with tlx.async_task(num_warps=1):
            if FIX or tl.program_id(0) % 5 != 3:
                tlx.barrier_arrive(done[0])


def test_a_cta_that_hangs_while_others_end():
    y = torch.zeros(200, dtype=torch.int32)
    run_kernel(one_cta_in_five, (200,), y, FIX=True)
    assert y.sum() == 200
    with pytest.raises(HangError) as caught:
        run_kernel(one_cta_in_five, (200,), y, FIX=False, ctas=[])
    cta = caught.value.report["cta"]
    assert cta % 5 == 3
    assert str(caught.value).startswith(f"kernel one_cta_in_five hangs in CTA {cta}: ")
    assert facts(caught.value.report["waiters"][0], "variable", "outer", "inner") == ("done", -1, -1)


@triton.jit
def spinning(flag_ptr, y_ptr):
    seen = tl.load(flag_ptr, volatile=True)
    while seen == 0:
        seen = tl.load(flag_ptr, volatile=True)
    tl.store(y_ptr, seen)


def test_a_loop_that_waits_for_memory_nobody_writes():
    y = torch.zeros(1, dtype=torch.int32)
    run_kernel(spinning, (1,), torch.ones(1, dtype=torch.int32), y)
    assert y.item() == 1
    launch = compile_kernel(spinning, (1,), torch.zeros(1, dtype=torch.int32), y)
    with pytest.raises(HangError) as caught:
        execute(launch)
    assert caught.value.exit_code == ExitCode.FINDINGS
    line = line_of(spinning, "    seen = tl.load(flag_ptr, volatile=True)", last=True)
    assert str(caught.value) == (
        f"kernel spinning hangs in CTA 0: compute reads memory at {__file__}:{line} over and over, "
        "and nobody writes it any more"
    )
    (waiter,) = caught.value.report["waiters"]
    assert facts(waiter, "operation", "line") == ("poll", line)


@triton.jit
def meeting(flag_ptr, CTAS: tl.constexpr):
    tl.atomic_add(flag_ptr, 1)
    while tl.atomic_add(flag_ptr, 0) < CTAS:
        pass


def test_ctas_that_wait_for_one_that_never_starts():
    """A barrier over the grid, and one CTA more than fits on the device."""
    fits = 132 * 2
    run_kernel(meeting, (fits,), torch.zeros(1, dtype=torch.int32), CTAS=fits, num_warps=32)
    launch = compile_kernel(meeting, (fits + 1,), torch.zeros(1, dtype=torch.int32), CTAS=fits + 1, num_warps=32)
    with pytest.raises(HangError, match="1 more CTAs were never started, since no SM had room for them") as caught:
        execute(launch)
    assert facts(caught.value.report, "ctas", "queued") == (fits, 1)


@triton.jit
def wrong_slot(y_ptr, slot):
    done = tlx.alloc_barriers(2)
    tlx.barrier_arrive(done[slot])
    tlx.barrier_wait(done[slot], 0)
    tl.store(y_ptr, 1)


@pytest.mark.parametrize("slot", [-1, 2])
def test_a_slot_that_does_not_exist(slot: int):
    run_kernel(wrong_slot, (1,), torch.zeros(1, dtype=torch.int32), 0)
    with pytest.raises(
        MemoryAccessError, match=rf"done\[{slot}\] does not exist, done has slots 0 to 1: mend the index"
    ):
        run_kernel(wrong_slot, (1,), torch.zeros(1, dtype=torch.int32), slot)


@triton.jit
def disagreeing(y_ptr):
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.named_barrier_wait(3, 256)
            tl.store(y_ptr, 1)
        with tlx.async_task(num_warps=4):
            tlx.named_barrier_wait(3, 384)


def test_named_barriers_whose_counts_differ():
    with pytest.raises(BarrierError, match="counts have to agree"):
        run_kernel(disagreeing, (1,), torch.zeros(1, dtype=torch.int32))


@triton.jit
def too_many_arrivals(y_ptr, COUNT: tl.constexpr):
    done = tlx.alloc_barriers(2, arrive_count=1)
    go = tlx.alloc_barriers(1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.barrier_wait(go[0], 0)
            tl.store(y_ptr, 1)
        with tlx.async_task(num_warps=1):
            tlx.barrier_arrive(done[1], COUNT)
            tlx.barrier_arrive(go[0])
            tlx.barrier_wait(done[1], 0)


def test_more_arrivals_than_the_count():
    y = torch.zeros(1, dtype=torch.int32)
    run_kernel(too_many_arrivals, (1,), y, COUNT=1)
    with pytest.raises(BarrierError) as caught:
        run_kernel(too_many_arrivals, (1,), y, COUNT=2)
    line = line_of(too_many_arrivals, "barrier_arrive(done")
    assert str(caught.value).startswith(f"kernel too_many_arrivals at {__file__}:{line}")
    assert "done[1] takes 1 arrival a phase and got 2" in str(caught.value)
    assert caught.value.exit_code == ExitCode.FINDINGS


LAYOUT = "#ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>"
BAR = f"!ttg.memdesc<1xi64, {LAYOUT}, #ttg.shared_memory, mutable>"


def test_a_barrier_without_a_beginning():
    with pytest.raises(BarrierError, match=r"\[0\] is used before it is initialised"):
        run_ttgir(
            f"""
  tt.func public @unmade() {{
    %c0 = arith.constant 0 : i32
    %bars = ttg.local_alloc : () -> {BAR}
    %bar = ttg.memdesc_index %bars[%c0] : {BAR} -> {BAR}
    ttng.arrive_barrier %bar, 1 : {BAR}
    tt.return
  }}"""
        )


@triton.jit
def crowded(y_ptr, THREADS: tl.constexpr):
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.named_barrier_wait(9, THREADS)
            tl.store(y_ptr, 1)
        with tlx.async_task(num_warps=4):
            tlx.named_barrier_wait(9, THREADS)


def test_more_threads_than_a_named_barrier_takes():
    y = torch.zeros(1, dtype=torch.int32)
    run_kernel(crowded, (1,), y, THREADS=256)
    with pytest.raises(BarrierError, match="named barrier 9 takes 192 threads and 256 arrived"):
        run_kernel(crowded, (1,), y, THREADS=192)
