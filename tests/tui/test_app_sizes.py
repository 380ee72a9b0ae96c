"""The timeline on screens of all sizes, and of traces with little in them."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis.synthetic_traces import hung, launch, pipeline
from app_pilot import walk
from textual.pilot import Pilot

from tlxviz.trace import LaunchTrace, SiteRow, Trace, Track, TrackKind
from tlxviz.tui.app import TimelineApp
from tlxviz.tui.ask import Ask
from tlxviz.tui.export import screen_text
from tlxviz.tui.keys import ACTIONS, Mode, Scope
from tlxviz.tui.timeline import Timeline

EVENT = (0, 0, 5, 9, -1, -1, 0, 0, 0, -1)
ONE = launch(
    [Track(TrackKind.WARP_GROUP, "only", 0, 0, 0, begin=0, end=10)], [SiteRow("wait", 0, "k.py", 1, "b", "")], [EVENT]
)
NO_EVENT = launch([Track(TrackKind.WARP_GROUP, "only", 0, 0, 0, begin=0, end=10)])
TRACES = {"nothing": launch(), "no event": NO_EVENT, "one event": ONE, "a hang": hung(), "pipeline": pipeline()}


SIZES = [(20, 6), (20, 24), (80, 24), (120, 40), (220, 60), (1, 1)]


@pytest.mark.parametrize("made", TRACES.values(), ids=TRACES.keys())
def test_every_action_at_every_size(made: LaunchTrace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    async def then(app: TimelineApp, pilot: Pilot[None]) -> None:
        for size in SIZES:
            await pilot.resize_terminal(*size)
            for each in ACTIONS:
                if each.name != "quit" and each.scope is Scope.TIMELINE and Mode.VIEW in each.modes:
                    await app.action_do(each.name)
                    if len(app.screen_stack) > 1 or app.query_one(Ask).has_class("open"):
                        await pilot.press("escape")
            await pilot.pause()
        assert app.state.window.cycles > 0

    walk(TimelineApp(Trace([made])), then=then)


def test_the_lines_above_and_below_at_20_columns() -> None:
    async def then(app: TimelineApp, pilot: Pilot[None]) -> None:
        lines = screen_text(app).splitlines()
        assert lines[0] == "pipeline  CTA 0"
        assert lines[-1] == "the longest wait of…"
        await pilot.press("r")
        assert screen_text(app).splitlines()[-1] == "MMA wait 50 cycles"
        assert not app.query_one("#drawer").display
        await pilot.press("enter")
        await pilot.pause()
        assert app.query_one("#drawer").display  # in the place of the timeline
        assert not app.query_one(Timeline).display
        await pilot.press("escape")
        await pilot.pause()
        assert app.query_one(Timeline).display

    app = TimelineApp(Trace([pipeline()]))
    walk(app, "z", size=(20, 24), then=then)


@pytest.mark.parametrize(("width", "beside"), [(159, False), (160, True)])
def test_panels_stand_beside_a_wide_timeline(width: int, beside: bool) -> None:
    async def then(app: TimelineApp, pilot: Pilot[None]) -> None:
        drawer, timeline = app.query_one("#drawer").region, app.query_one(Timeline).region
        assert (drawer.x > timeline.x) == beside
        assert (drawer.y > timeline.y) != beside

    walk(TimelineApp(Trace([pipeline()])), size=(width, 40), then=then)


def test_a_storm_of_sizes() -> None:
    async def then(app: TimelineApp, pilot: Pilot[None]) -> None:
        for number in range(40):
            await pilot.resize_terminal(1 + number * 37 % 230, 1 + number * 13 % 65)
            await pilot.press("w" if number % 3 else "s", ".")
        await pilot.resize_terminal(80, 24)
        await pilot.pause()
        assert screen_text(app).startswith("pipeline  ")
        assert app.state.event is not None

    walk(TimelineApp(Trace([pipeline()])), "down", then=then)


def test_the_line_below_says_what_is_selected() -> None:
    async def then(app: TimelineApp, pilot: Pilot[None]) -> None:
        last = screen_text(app).splitlines()[-1]
        assert last == "at 40 cycles  MMA wait 50 cycles  range 50 cycles  [ cause  ? help  q quit"

    walk(TimelineApp(Trace([pipeline()])), "z", "r", then=then)
