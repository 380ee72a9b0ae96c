"""What a session of the timeline keeps for the next."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from analysis.synthetic_traces import pipeline
from app_pilot import two_ctas, walk

from tlxviz.trace import Trace
from tlxviz.tui.app import TimelineApp
from tlxviz.tui.state import State
from tlxviz.tui.store import Store
from tlxviz.tui.window import Window


def test_what_was_unfolded_stays_so_in_the_next_session(tmp_path: Path) -> None:
    trace, store = Trace([two_ctas(), two_ctas()]), Store(tmp_path / "it.json")
    state = State.of(trace)
    for key in ("cta 1", "cta 1/barriers", "cta 1"):  # unfolded, and then folded again with what is in it
        assert state.put_on(key)
        state.fold()
    assert state.put_on("cta 0/barriers")
    state.fold()
    store.write(state)

    after = Store(store.path).read(trace)
    labels = [lane.label for lane in after.visible()]
    assert labels == [lane.label for lane in state.visible()]
    assert after.put_on("cta 1")
    after.fold()
    assert "cta 1/barriers/full[0]" in [lane.key for lane in after.visible()]
    assert "cta 1/buffers" in after.folded
    after.open_launch(1)  # of the same kernel
    assert "cta 0/barriers/full[0]" in [lane.key for lane in after.visible()]


def test_lanes_stand_as_they_did_for_each_kernel(tmp_path: Path) -> None:
    trace, store = Trace([pipeline(), replace(pipeline(), kernel="other")]), Store(tmp_path / "it.json")
    state = State.of(trace)
    state.put_on("cta 0/barriers")
    state.fold()
    state.open_launch(1)
    assert "cta 0/barriers" in state.folded
    state.put_on("cta 0/mma")
    state.pinned.append("cta 0/mma")
    store.write(state)

    after = Store(store.path).read(trace)
    assert (after.seen.number, after.pinned, "cta 0/barriers" in after.folded) == (1, ["cta 0/mma"], True)
    after.open_launch(0)
    assert (after.pinned, "cta 0/barriers" in after.folded) == ([], False)
    assert Store(store.path).read(trace, 0).pinned == []


def test_the_next_session_goes_on_where_the_last_ended(tmp_path: Path) -> None:
    trace, path = Trace([pipeline(), pipeline(3)]), tmp_path / "states" / "it.json"
    keys = ("z", "m", "p", "u", "t", "w", "w")
    before = walk(TimelineApp(trace, store=Store(path)), *keys)
    after = Store(path).read(trace)
    for name in ("window", "cursor", "event", "pinned", "folded", "marks", "units", "theme", "cta", "lane"):
        assert getattr(after, name) == getattr(before, name), name
    other = Store(path).read(trace, 1)
    assert (other.seen.number, other.window, other.units) == (1, Window(0, 330), "ns")


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text[:40],
        lambda text: "",
        lambda text: "[]",
        lambda text: text.replace('"version": 2', '"version": 3'),
        lambda text: text.replace('"cursor": 40', '"cursor": 10000000'),
        lambda text: text.replace('"cursor": 40', '"cursor": "40"'),
        lambda text: text.replace('"units": "cycles"', '"units": "miles"'),
        lambda text: text.replace('"event"', '"evant"'),
    ],
)
def test_a_state_that_is_damaged_or_of_another_trace_is_ignored(change: Callable[[str], str], tmp_path: Path) -> None:
    trace, path = Trace([pipeline()]), tmp_path / "it.json"
    walk(TimelineApp(trace, store=Store(path)), "z", "w")
    text = path.read_text()
    assert change(text) != text
    path.write_text(change(text))
    state = Store(path).read(trace)
    assert (state.cursor, state.event, state.window) == (0, None, Window(0, 1230))


def test_a_state_that_cannot_be_written_disturbs_nobody(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert walk(TimelineApp(Trace([pipeline()]), store=Store(tmp_path / "file" / "it.json")), "z").event is not None
