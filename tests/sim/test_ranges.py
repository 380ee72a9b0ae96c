"""Ranges that a kernel names: one event each, on a track beside that of the warp group."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from kernel_runner import Run, compile_kernel, execute, h200, run_ttgir

import tlxviz.language as tv
from tlxviz.analysis.summary import summarise
from tlxviz.ir.markers import probe_marker, range_assembly
from tlxviz.sim.effects import talks
from tlxviz.sim.replay import replay
from tlxviz.trace.model import LaunchTrace

triton = pytest.importorskip("triton")
tlx = pytest.importorskip("triton.language.extra.tlx")
tl = pytest.importorskip("triton.language")

FENCE = round(h200().sync.fence_async_shared)


def bound(which: str, name: str, number: int = 0) -> str:
    return probe_marker(0, f"%{which}{number}").replace("// tlxviz probe 0 $0", range_assembly(which, name))


def ranges(trace: LaunchTrace) -> list[tuple[str, str, int, int, int]]:
    """Track, name, begin, end and innermost iteration of each range, by its beginning."""
    events = trace.events
    found = [
        (
            trace.tracks[events["track"][row]].name,
            trace.sites[events["site"][row]].variable,
            int(events["begin"][row]),
            int(events["end"][row]),
            int(events["inner"][row]),
        )
        for row in range(len(events))
        if trace.tracks[events["track"][row]].kind == "range"
    ]
    return sorted(found, key=lambda each: each[2])


def straight(*lines: str) -> Run:
    body = "\n".join(line.replace("FENCE", "ttng.fence_async_shared {bCluster = false}") for line in lines)
    return run_ttgir(
        f"tt.func public @k(%p: !tt.ptr<i32>) {{\n{body}\ntt.return\n}}", torch.zeros(1, dtype=torch.int32)
    )


def test_ranges_last_from_bound_to_bound():
    run = straight(
        bound("begin", "outer"), "FENCE", bound("begin", "inner", 1), "FENCE", "FENCE",
        bound("end", "inner"), "FENCE", bound("end", "outer", 1),
    )  # fmt: skip
    name = "compute ranges"
    assert ranges(run.trace) == [(name, "outer", 0, 4 * FENCE, -1), (name, "inner", FENCE, 3 * FENCE, -1)]
    assert [(track.kind, track.agent, track.end) for track in run.trace.tracks] == [
        ("warp_group", 0, 4 * FENCE),
        ("range", 0, 4 * FENCE),
    ]
    assert run.cycles == straight("FENCE", "FENCE", "FENCE", "FENCE").cycles
    summary = summarise(run.trace)
    assert [(each.name, each.count, each.mean, each.share) for each in summary.ranges] == [
        ("outer", 1, 4 * FENCE, 1.0),
        ("inner", 1, 2 * FENCE, 0.5),
    ]
    assert summary.groups[0].shares is not None
    assert summary.groups[0].shares.issue == 1.0
    assert summary.strip is None or [row.kind for row in summary.strip.rows] == ["warp_group"]


def test_an_end_ends_the_last_of_its_name():
    run = straight(
        bound("begin", "a"), "FENCE", bound("begin", "b", 1), "FENCE", bound("begin", "a", 2), "FENCE",
        bound("end", "a"), "FENCE", bound("end", "a", 1), "FENCE", bound("end", "b", 2),
    )  # fmt: skip
    assert [each[1:4] for each in ranges(run.trace)] == [
        ("a", 0, 4 * FENCE),
        ("b", FENCE, 5 * FENCE),
        ("a", 2 * FENCE, 3 * FENCE),
    ]


def test_bounds_without_a_counterpart():
    run = straight(bound("end", "a"), "FENCE", bound("begin", "b"), "FENCE", bound("end", "a", 1))
    assert [each[1:4] for each in ranges(run.trace)] == [("b", FENCE, 2 * FENCE)]
    assert run.trace.statistics["range_ends_without_begin"] == 2
    assert run.trace.statistics["range_begins_without_end"] == 1
    assert [summarise(run.trace).ranges_amiss.ends, summarise(run.trace).ranges_amiss.begins] == [2, 1]
    only = straight(bound("end", "a"), "FENCE")
    assert [track.kind for track in only.trace.tracks] == ["warp_group"]
    assert only.trace.statistics["range_ends_without_begin"] == 1


@triton.jit(noinline=True)
def named(x_ptr, i):
    tv.begin("put")
    tl.store(x_ptr + i, i)
    tv.end("put")


@triton.jit
def specialised(x_ptr, y_ptr, N, RANGES: tl.constexpr, NAME: tl.constexpr):
    full = tlx.alloc_barriers(2)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            for i in range(N):
                if RANGES:
                    tv.begin(NAME)
                tl.store(x_ptr + i, i)
                tlx.barrier_arrive(full[i % 2])
                if RANGES:
                    tv.end(NAME)
        with tlx.async_task(num_warps=4, replicate=2):
            if RANGES:
                tv.begin("whole")
            for i in range(N):
                tlx.barrier_wait(full[i % 2], (i // 2) & 1)
                tl.store(y_ptr + i, i)


def test_ranges_of_warp_groups():
    arguments: tuple[Any, ...] = (torch.zeros(4), torch.zeros(4), 4)
    launch = compile_kernel(specialised, (1,), *arguments, RANGES=True, NAME="round")
    trace = execute(launch).trace
    groups = [track for track in trace.tracks if track.kind == "warp_group"]
    found = ranges(trace)
    assert [(name, inner) for track, name, _, _, inner in found if track == f"{groups[0].name} ranges"] == [
        ("round", i) for i in range(4)
    ]
    for group in groups[1:]:
        (whole,) = [each for each in found if each[0] == f"{group.name} ranges"]
        assert (whole[1], whole[3], whole[4]) == ("whole", group.end, -1)
        assert group.begin <= whole[2] < group.begin + 10
    assert trace.statistics["range_begins_without_end"] == 2
    order = [(track.kind, track.agent) for track in trace.tracks]
    assert order == [(kind, agent) for agent in range(3) for kind in ("warp_group", "range")]
    # what releases what is told all the same
    events = trace.events
    waits = [row for row in range(len(events)) if trace.sites[events["site"][row]].kind == "wait"]
    assert {trace.sites[events["site"][events["released_by"][row]]].kind for row in waits} == {"arrive"}
    assert not talks(replay(launch, h200(), (0,)).program)
    plain = execute(compile_kernel(specialised, (1,), *arguments, RANGES=False, NAME="round")).trace
    kinds = [site.kind for site in plain.sites]
    assert [site.kind for site in trace.sites if not site.kind.startswith("range")] == kinds


@triton.jit
def calling(x_ptr, N):
    for i in range(N):
        named(x_ptr, i)


def test_ranges_in_a_function():
    trace = execute(compile_kernel(calling, (1,), torch.zeros(4), 4)).trace
    assert [(name, inner) for _, name, _, _, inner in ranges(trace)] == [("put", i) for i in range(4)]


def test_a_replay_has_the_bounds_as_rows():
    launch = compile_kernel(calling, (1,), torch.zeros(4), 4)
    found = replay(launch, h200(), (0,))
    (cta,) = found.ctas
    kinds = [found.program.sites[code].kind for code in cta.rows[:, 0].tolist()]
    assert kinds == ["range_begin", "range_end"] * 4
    assert np.array_equal(cta.rows[:, 1], cta.rows[:, 2])
