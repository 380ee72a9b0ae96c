"""What a run that goes on has done until now: asked for in its middle, and no different from what it is in the end."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from kernel_runner import compile_kernel, h200

from tlxviz.sim.engine import Barrier
from tlxviz.sim.recorder import SimulatedRecorder
from tlxviz.sim.recording import Recording
from tlxviz.trace.model import LaunchTrace, Trace, TrackKind

triton = pytest.importorskip("triton")
tlx = pytest.importorskip("triton.language.extra.tlx")
tl = pytest.importorskip("triton.language")

STEPS = 6


@triton.jit
def handing_over(desc, y_ptr, K: tl.constexpr):
    a = tlx.local_alloc((64, 64), tl.float16, 2)
    full = tlx.alloc_barriers(2)
    empty = tlx.alloc_barriers(2)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            for k in range(K):
                tlx.barrier_wait(empty[k % 2], ((k // 2) & 1) ^ 1)
                tlx.barrier_expect_bytes(full[k % 2], 64 * 64 * 2)
                tlx.async_descriptor_load(desc, a[k % 2], [0, k * 64], full[k % 2])
        with tlx.async_task(num_warps=4):
            at = tl.arange(0, 64)[:, None] * 64 + tl.arange(0, 64)[None, :]
            for k in range(K):
                tlx.barrier_wait(full[k % 2], (k // 2) & 1)
                tl.store(y_ptr + at, tlx.local_load(a[k % 2]))
                tlx.barrier_arrive(empty[k % 2])


def launch(ctas: int = 2) -> Any:
    from triton.tools.tensor_descriptor import TensorDescriptor

    source = TensorDescriptor(torch.zeros(64, 64 * STEPS).half(), [64, 64 * STEPS], [64 * STEPS, 1], [64, 64])
    return compile_kernel(handing_over, (ctas,), source, torch.zeros(64, 64).half(), K=STEPS)


def watched(monkeypatch: pytest.MonkeyPatch, recording: Recording) -> tuple[list[LaunchTrace], Trace]:
    """What there was each time that a barrier completed a phase, and what there is in the end."""
    found: list[LaunchTrace] = []
    recorder = SimulatedRecorder(h200(), recording)
    before = Barrier.flip

    def flip(self: Barrier, cycle: int, cause: int) -> None:
        now = recorder.so_far()
        if now is not None:
            found.append(now)
        before(self, cycle, cause)

    with monkeypatch.context() as patch:
        patch.setattr(Barrier, "flip", flip)
        recorder.execute(launch())
    assert recorder.so_far() is None
    return found, recorder.trace


def places(trace: LaunchTrace) -> list[tuple[Any, ...]]:
    columns = [trace.events[name].tolist() for name in ("site", "begin", "end", "inner", "slot")]
    names = [(trace.tracks[number].cta, trace.tracks[number].name) for number in trace.events["track"].tolist()]
    return list(zip(names, *columns, strict=True))


def test_a_run_shows_what_it_has_done_so_far_while_it_goes_on(monkeypatch: pytest.MonkeyPatch):
    found, trace = watched(monkeypatch, Recording(ctas=(0, 1)))
    [whole] = trace.launches

    assert len(found) >= 2 * STEPS
    assert whole.complete
    lengths = [len(each.events) for each in found]
    assert lengths[0] < lengths[len(found) // 2] < len(whole.events)
    final = set(places(whole))
    for each in found:
        assert not each.complete
        assert each.hang is None
        assert (each.kernel, each.sites) == (whole.kernel, whole.sites)
        released = each.events["released_by"]
        assert len(released) == 0 or int(released.max()) < len(released)
        begun = {(track, site, begin) for track, site, begin, *_ in final}
        assert all((track, site, begin) in begun for track, site, begin, *_ in places(each))


def test_it_changes_nothing_of_the_run(monkeypatch: pytest.MonkeyPatch):
    _, watched_trace = watched(monkeypatch, Recording(ctas=(0, 1)))
    recorder = SimulatedRecorder(h200(), Recording(ctas=(0, 1)))
    recorder.execute(launch())
    [one], [other] = watched_trace.launches, recorder.trace.launches

    assert one.cycles == other.cycles
    assert one.tracks == other.tracks
    for name in one.events.columns:
        np.testing.assert_array_equal(one.events[name], other.events[name])


def test_a_warp_group_that_waits_is_seen_to_wait(monkeypatch: pytest.MonkeyPatch):
    found, trace = watched(monkeypatch, Recording(ctas=(0,)))
    [whole] = trace.launches
    ends = {(track, site, begin): end for track, site, begin, end, *_ in places(whole)}
    cut = [
        (each, track, site, begin, end)
        for each in found
        for track, site, begin, end, *_ in places(each)
        if end != ends[track, site, begin]
    ]

    assert cut  # waits that had not ended yet
    for each, track, site, begin, end in cut:
        assert whole.sites[site].kind == "wait"
        assert begin <= end
        [stop] = {row.end for row in each.tracks if row.kind is TrackKind.WARP_GROUP and (row.cta, row.name) == track}
        assert end == stop


def test_nothing_is_kept_of_a_launch_that_is_not_to_be_recorded(monkeypatch: pytest.MonkeyPatch):
    found, trace = watched(monkeypatch, Recording(launches=(1,)))

    assert not found
    assert not trace.launches
