from __future__ import annotations

from dataclasses import replace

import pytest
from analysis.synthetic_traces import hung, launch, pipeline
from hypothesis import given
from hypothesis import strategies as st

from tlxviz.analysis.summary import summarise
from tlxviz.analysis.waits import Release
from tlxviz.trace import AgentRow, SiteRow, Track, TrackKind


def test_time_and_rate() -> None:
    summary = summarise(pipeline())
    assert summary.cycles == 1250
    assert summary.time_ns == 1250.0
    assert summary.tflops == 1000.0
    assert summary.device == "NVIDIA H200 SXM"
    assert summary.coverage.ctas_traced == (0,)


def test_shares_of_each_warp_group() -> None:
    load, mma = summarise(pipeline()).groups
    assert (load.name, load.warps, load.registers, load.ctas, load.cycles) == ("load", 4, 40, 1, 1200)
    assert load.shares is not None
    assert mma.shares is not None
    assert (load.shares.busy, load.shares.issue, load.shares.wait) == pytest.approx((0.5, 0.1, 0.4))
    assert (mma.shares.busy, mma.shares.issue, mma.shares.wait) == pytest.approx((0.06, 0.14, 0.8))
    assert mma.shares.waits == pytest.approx({"mma_wait": 0.5, "wait": 0.3})
    assert list(mma.shares.waits) == ["mma_wait", "wait"]


def test_worst_waits_and_who_released_them() -> None:
    first, second, third = summarise(pipeline()).waits
    assert (first.agent, first.kind, first.variable, first.line) == ("mma", "mma_wait", "", 46)
    assert (first.count, first.cycles, first.mean, first.max) == (12, 600, 50.0, 50)
    assert first.share == pytest.approx(0.5)
    assert first.released_by == (Release("tensor_core", "mma", 12, 1.0),)
    assert (second.agent, second.variable, second.share) == ("load", "empty", pytest.approx(0.4))
    assert second.released_by == (Release("warp_group", "mma", 11, 11 / 12), Release("", "", 1, 1 / 12))
    assert (third.agent, third.variable, third.share) == ("mma", "full", pytest.approx(0.3))
    assert third.released_by == (Release("tma", "load", 11, 11 / 12), Release("", "", 1, 1 / 12))


def test_only_the_worst_are_listed() -> None:
    assert [wait.line for wait in summarise(pipeline(), worst=2).waits] == [46, 44]


def test_sites_of_one_source_line_are_one_wait() -> None:
    sites = [SiteRow("wait", 0, "k.py", 7, "full", "ttng.wait_barrier")] * 2
    tracks = [Track(TrackKind.WARP_GROUP, "mma", 0, 0, 0, begin=0, end=100)]
    rows = [(0, 0, 0, 10, -1, -1, 0, 0, 0, -1), (0, 1, 50, 80, -1, -1, 0, 1, 0, -1)]
    (wait,) = summarise(launch(tracks, sites, rows, [AgentRow("mma", "mma", 0, 4)])).waits
    assert (wait.count, wait.cycles, wait.mean, wait.max, wait.share) == (2, 40, 20.0, 30, 0.4)


def test_ctas_are_taken_together() -> None:
    sites = [SiteRow("wait", 0, "k.py", 7, "full", "")]
    tracks = [Track(TrackKind.WARP_GROUP, "mma", cta, 0, 0, begin=0, end=100 * (cta + 1)) for cta in range(2)]
    rows = [(0, 0, 0, 50, -1, -1, 0, 0, 0, -1), (1, 0, 0, 10, -1, -1, 0, 0, 0, -1)]
    (group,) = summarise(launch(tracks, sites, rows, [AgentRow("mma", "mma", 0, 4)])).groups
    assert (group.ctas, group.cycles) == (2, 300)
    assert group.shares is not None
    assert group.shares.wait == pytest.approx(60 / 300)


def test_utilisation() -> None:
    used = summarise(pipeline()).utilisation
    assert (used.tensor_core, used.tma) == pytest.approx((0.48, 0.1))
    assert (used.sm_cycles, used.tma_load_bytes, used.global_store_bytes) == (1250, 49152, 2048)


def test_utilisation_that_nobody_counted() -> None:
    used = summarise(pipeline(statistics={"sm_cycles": 0, "tma_busy_cycles": 3})).utilisation
    assert used.tensor_core is None
    assert used.tma is None


def test_a_launch_without_tracks() -> None:
    summary = summarise(launch(agents=[AgentRow("compute", "compute", 0, 4)]))
    (group,) = summary.groups
    assert group.shares is None
    assert (summary.waits, summary.strip, summary.time_ns, summary.tflops) == ((), None, None, None)


def test_an_empty_launch() -> None:
    assert summarise(launch()).groups == ()


def test_a_plain_kernel_without_events() -> None:
    tracks = [Track(TrackKind.WARP_GROUP, "compute", 0, 0, 0, warps=4, begin=10, end=110)]
    summary = summarise(launch(tracks, agents=[AgentRow("compute", "compute", 0, 4)], cycles=200))
    assert summary.groups[0].shares is not None
    assert summary.groups[0].shares.busy == 1.0
    assert summary.waits == ()
    assert summary.strip is not None
    assert (summary.strip.iterations, summary.strip.rows[0].cells) == (0, "b" * 60)


def test_a_track_of_no_agent_is_a_group_of_its_own() -> None:
    tracks = [Track(TrackKind.WARP_GROUP, "extra", 0, 0, 7, warps=2, begin=0, end=10)]
    (group,) = summarise(launch(tracks)).groups
    assert (group.name, group.role, group.warps, group.cycles) == ("extra", "", 2, 10)


def test_a_track_that_was_cut_short_ends_with_its_last_event() -> None:
    made = pipeline(complete=False)
    made.tracks[0] = replace(made.tracks[0], end=0)
    summary = summarise(made)
    assert summary.groups[0].cycles == 1150
    assert (summary.time_ns, summary.tflops) == (None, None)


def test_a_hung_launch_has_no_time() -> None:
    summary = summarise(hung())
    assert [group.cycles for group in summary.groups] == [300, 300]
    assert summary.time_ns is None
    assert summary.hang is not None
    (waiter,) = summary.hang.waiters
    assert waiter.text == "tlx.barrier_wait(full[slot], phase)"
    assert (waiter.slot, waiter.phase, waiter.missing_bytes, waiter.inner) == (1, 1, 4096, 3)
    assert waiter.arrivers is not None
    assert [(each.agent, each.slot, each.ended) for each in waiter.arrivers] == [("load", None, True)]


def test_a_hang_report_with_next_to_nothing() -> None:
    hang = summarise(launch(hang={"waiters": [{"agent": "mma"}]})).hang
    assert hang is not None
    assert (hang.cycle, hang.waiters[0].slot, hang.waiters[0].arrivers) == (None, None, None)


@st.composite
def sequential_traces(draw: st.DrawFn):
    """A warp group that does one thing after the other."""
    kinds = ["wait", "arrive", "mma_wait", "mma", "named_wait", "fence"]
    sites = [SiteRow(kind, 0, "k.py", line, kind, "") for line, kind in enumerate(kinds)]
    steps = draw(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(-1, 5)), max_size=20))
    now, rows = 3, []
    for gap, length, site in steps:
        rows.append((0, site, now + gap, now + gap + length, -1, -1, -1, -1, 0, -1))
        now += gap + length
    tracks = [Track(TrackKind.WARP_GROUP, "x", 0, 0, 0, begin=3, end=now + draw(st.integers(1, 5)))]
    return launch(tracks, sites, rows, [AgentRow("x", "compute", 0, 4)])


@given(sequential_traces())
def test_shares_sum_to_one(made) -> None:
    summary = summarise(made)
    shares = summary.groups[0].shares
    assert shares is not None
    assert shares.busy + shares.issue + shares.wait == pytest.approx(1)
    assert min(shares.busy, shares.issue, shares.wait) >= 0
    assert sum(shares.waits.values()) == pytest.approx(shares.wait)
    assert sum(wait.share for wait in summary.waits) == pytest.approx(shares.wait)
