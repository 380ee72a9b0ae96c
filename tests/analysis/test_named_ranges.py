from __future__ import annotations

import io

import pytest
from analysis.synthetic_traces import launch, pipeline

from tlxviz.analysis.summary import summarise
from tlxviz.reporters.text import TextReporter
from tlxviz.trace import AgentRow, LaunchTrace, SiteRow, Track, TrackKind, Work, work_of_events


def named(**fields: object) -> LaunchTrace:
    """`mma` and `load` in two CTAs, 100 cycles each: `mma` names `softmax` three times and, in one of them, `max`."""
    tracks: list[Track] = []
    for cta in range(2):
        for agent, name in enumerate(("mma", "load")):
            tracks.append(Track(TrackKind.WARP_GROUP, name, cta, 0, agent, 4, 0, 100))
            tracks.append(Track(TrackKind.RANGE, f"{name} ranges", cta, 0, agent, 4, 0, 100))
    sites = [
        SiteRow("range_begin", 0, "k.py", 7, "softmax", "tt.elementwise_inline_asm"),
        SiteRow("range_begin", 0, "k.py", 9, "max", "tt.elementwise_inline_asm"),
        SiteRow("range_end", 0, "k.py", 10, "max", "tt.elementwise_inline_asm"),
        SiteRow("range_begin", 1, "k.py", 3, "copy", "tt.elementwise_inline_asm"),
        SiteRow("wait", 0, "k.py", 8, "full", "ttng.wait_barrier"),
    ]
    rows = [
        (1, 0, 10, 30, 0, 0, -1, -1, 0, -1),
        (1, 1, 12, 17, 0, 0, -1, -1, 0, -1),
        (1, 0, 40, 50, 0, 1, -1, -1, 0, -1),
        (5, 0, 10, 40, 0, 0, -1, -1, 0, -1),
        (3, 3, 0, 100, -1, -1, -1, -1, 0, -1),
        (0, 4, 20, 30, 0, 0, 0, 0, 0, -1),
    ]
    agents = [AgentRow("mma", "mma", 0, 4), AgentRow("load", "load", 1, 4)]
    return launch(tracks, sites, rows, agents, **fields)


def test_ranges_by_warp_group_and_name() -> None:
    made = named()
    found = [(each.agent, each.name, each.line, each.count, each.cycles) for each in summarise(made).ranges]
    assert found == [("mma", "softmax", 7, 3, 60), ("mma", "max", 9, 1, 5), ("load", "copy", 3, 1, 100)]
    assert [each.share for each in summarise(made).ranges] == pytest.approx([0.3, 0.025, 0.5])
    assert summarise(made).ranges[0].mean == 20.0
    assert summarise(pipeline()).ranges == ()


def test_ranges_are_neither_work_nor_waits() -> None:
    made = named()
    assert (work_of_events(made) == Work.NAMED).tolist().count(True) == 5
    mma, load = summarise(made).groups
    assert mma.shares is not None
    assert (mma.cycles, mma.shares.wait, mma.shares.busy) == (200, 0.05, 0.95)
    assert load.shares is not None
    assert load.shares.busy == 1.0
    strip = summarise(made).strip
    assert strip is not None
    assert [row.name for row in strip.rows] == ["mma", "load"]


def test_the_report_lists_them() -> None:
    stream = io.StringIO()
    counts = {"range_ends_without_begin": 1, "range_begins_without_end": 2}
    TextReporter([summarise(named(statistics=counts))]).render(stream)
    lines = stream.getvalue().splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("Ranges (cycles)"))
    assert [line.split() for line in lines[at + 1 : at + 4]] == [
        ["mma", "softmax", "k.py:7", "30.0%", "3", "20"],
        ["mma", "max", "k.py:9", "2.5%", "1", "5"],
        ["load", "copy", "k.py:3", "50.0%", "1", "100"],
    ]
    assert "passed over: 1 end of ranges that had not begun" in lines[at + 4]
    assert "never ended: 2 ranges" in lines[at + 5]
