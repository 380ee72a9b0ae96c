"""What a selected range adds up to."""

from __future__ import annotations

from analysis.synthetic_traces import pipeline

from tlxviz.tui.lanes import Lanes
from tlxviz.tui.looks import Look
from tlxviz.tui.totals import totals
from tlxviz.tui.window import Window


def test_every_cycle_of_a_warp_group_counts_once() -> None:
    load, mma, tma, core = totals(Lanes(pipeline(4)).of(0).lanes, Window(120, 180))
    # load: issues until 150, of which 144 to 150 is its copy; mma: waits to 130, issues to 140, waits on
    assert (load.label, load.alive, dict(load.cycles)) == ("load", 60, {Look.BUSY: 30, Look.WAIT: 20, Look.ISSUE: 10})
    assert (mma.label, mma.alive, dict(mma.cycles)) == ("mma", 60, {Look.WAIT: 50, Look.ISSUE: 10})
    assert mma.waiting == 50 / 60
    assert dict(tma.cycles) == {Look.LOAD: 40}
    assert dict(core.cycles) == {Look.MMA: 45}


def test_a_range_may_reach_beyond_a_warp_group_s_life() -> None:
    (load, *_) = totals(Lanes(pipeline(1)).of(0).lanes, Window(90, 300))
    assert (load.alive, dict(load.cycles)) == (10, {Look.BUSY: 10})
    (load, *_) = totals(Lanes(pipeline(1)).of(0).lanes, Window(400, 500))
    assert (load.alive, load.waiting, dict(load.cycles)) == (0, 0.0, {})
