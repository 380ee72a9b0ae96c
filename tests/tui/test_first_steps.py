"""What somebody meets who has never seen the timeline: it says where to go, what a lane is and why it stops."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest
from analysis.synthetic_traces import hung, pipeline
from textual.pilot import Pilot

from tlxviz.trace import LaunchTrace, Trace
from tlxviz.tui.app import TimelineApp
from tlxviz.tui.export import screen_text
from tlxviz.tui.legend import lane_text
from tlxviz.tui.lines import head
from tlxviz.tui.reload import nothing_yet
from tlxviz.tui.settings import keys_file
from tlxviz.tui.state import State
from tlxviz.tui.store import Store
from tlxviz.tui.travel import to_releaser, worst_wait
from tlxviz.tui.window import Window

Then = Callable[[TimelineApp, Pilot[None]], Awaitable[None]]


def shown(made: LaunchTrace, *keys: str, size: tuple[int, int] = (80, 24), then: Then | None = None) -> str:
    """The screen after some keys."""
    app = TimelineApp(Trace([made]))
    screens: list[str] = []

    async def main() -> None:
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            await pilot.press(*keys)
            for _ in range(3):
                await app.workers.wait_for_complete()  # pyright: ignore[reportUnknownMemberType]
                await pilot.pause()
            if then is not None:
                await then(app, pilot)
            screens.append(screen_text(app))

    asyncio.run(main())
    return screens[0]


def two_ctas() -> LaunchTrace:
    made = pipeline(4)
    tracks = [*made.tracks, *(replace(each, cta=1, sm=1) for each in made.tracks)]
    return replace(made, tracks=tracks)


@pytest.mark.parametrize("width", [60, 80, 120, 160, 220])
def test_all_tabs_are_to_be_seen(width: int) -> None:
    screen = shown(pipeline(4), size=(width, 40))
    tabs = next(line for line in screen.splitlines() if "1 Even" in line)
    assert re.findall(r"\b(\d) [A-Z]", tabs) == list("12345678")
    assert "8 Hang" in tabs


def test_a_launch_that_hangs_opens_at_the_panel_that_says_why() -> None:
    assert "mma waits on full[1]" in shown(hung(), size=(80, 40))
    assert "No event is selected" in shown(pipeline(4))


def test_a_wait_that_never_ends_says_where_it_is_explained() -> None:
    made = hung()
    track = int(made.events["track"][1])  # load, which now waits from its beginning to its end
    made.tracks[track] = replace(made.tracks[track], end=int(made.events["end"][1]))
    state = State.of(Trace([made]))
    state.go_to(1)
    assert to_releaser(state) == "nothing released it, ever: the panel Hang says who should"


def test_where_causes_end_the_wait_before_is_named() -> None:
    keys = ["down", "down", *["full_stop"] * 5, "left_square_bracket"]
    # the fifth event of mma is the issue at 130
    assert "nothing released it, its turn came: X goes to the wait before" in shown(pipeline(4), *keys)


def test_the_longest_wait_is_the_first_from_anywhere() -> None:
    state = State.of(Trace([pipeline(4)]))
    state.go_to(27)  # a wait of 30 cycles
    assert worst_wait(state, 1) == "the longest wait of the launch"
    assert worst_wait(state, 1).startswith("wait 2 of ")
    state.go_to(27)
    assert worst_wait(state, 1) == "the longest wait of the launch"


def test_a_wait_moves_no_data() -> None:
    screen = shown(pipeline(4), "z", "less_than_sign")
    assert "MMA wait moves no data: select an MMA or a copy" in screen


def test_a_range_that_comes_after_an_event_is_added_up() -> None:
    assert "mma  waiting 50 (100%)" in shown(pipeline(4), "z", "r", size=(120, 40))
    # another event is shown again
    assert "mma  waiting" not in shown(pipeline(4), "z", "r", "full_stop", size=(120, 40))


def test_a_range_is_read_to_its_end_with_keys() -> None:
    async def then(app: TimelineApp, pilot: Pilot[None]) -> None:
        app.state.span = Window(100, 300)
        app.state.changed()
        await pilot.pause()
        assert "tensor core  MMA 100" not in screen_text(app)
        await pilot.press("enter", "end")
        await pilot.pause()
        assert "tensor core  MMA 100" in screen_text(app)

    shown(pipeline(4), size=(50, 20), then=then)


@pytest.mark.parametrize(
    ("label", "says"),
    [
        ("CTA 0", "a CTA, by what its tensor core does"),
        ("mma", "a warp group of the CTA"),
        ("TMA loads", "copies that the TMA engine has under way"),
        ("tensor core", "MMAs of all warp groups"),
        ("copies", "how many copies are under way"),
        ("barriers", "a stroke where a phase of a barrier ends"),
        ("buffers", "which slots are filled"),
    ],
)
def test_each_lane_says_what_it_is(label: str, says: str) -> None:
    state = State.of(Trace([pipeline(4)]))
    lane = next(each for each in state.visible() if each.label.startswith(label))
    assert says in lane_text(state.launch, lane)


def test_the_lane_under_the_cursor_is_explained_while_nothing_is_selected() -> None:
    assert "mma: a warp group of the CTA" in shown(pipeline(4), "down", "down")


def test_help_says_what_signs_and_mouse_do_and_where_keys_are_set(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    help_ = shown(pipeline(4), "question_mark", "end", size=(100, 60))
    for each in ("× waiting", "select a range", str(keys_file())[:40], "[keys]"):
        assert each in help_


def test_the_line_below_names_keys_while_there_is_room() -> None:
    wide, narrow = (shown(pipeline(4), size=(width, 24)).splitlines()[-1] for width in (80, 30))
    assert wide == "at 0 cycles  z worst wait  / search  g go to  ? help  q quit"
    assert narrow == "at 0 cycles  ? help  q quit"


def test_a_cta_that_is_opened_comes_with_its_lanes() -> None:
    async def then(app: TimelineApp, pilot: Pilot[None]) -> None:
        app.state.open_cta(1)
        app.state.changed()
        await pilot.pause()

    screen = shown(two_ctas(), size=(80, 20), then=then).splitlines()
    head = next(number for number, line in enumerate(screen) if "CTA 1 " in line and "▾" in line)
    assert [line.split()[0] for line in screen[head + 1 : head + 3]] == ["load", "mma"]


def test_lanes_that_are_not_on_screen_are_counted() -> None:
    low = shown(pipeline(4), size=(80, 16)).splitlines()[2]
    high = shown(pipeline(4), size=(80, 50)).splitlines()[2]
    assert re.match(r" ↓\d+ +▼", low)
    assert re.match(r" +▼", high)
    below = shown(pipeline(4), *["down"] * 12, size=(80, 16)).splitlines()[2]
    assert re.match(r" ↑\d+ +▼", below)


def test_panels_take_the_lines_that_lanes_do_not_need() -> None:
    def panel_lines(*keys: str) -> int:
        screen = shown(pipeline(4), *keys, size=(120, 40)).splitlines()
        return len(screen) - next(number for number, line in enumerate(screen) if "1 Event" in line)

    folded = panel_lines("space")
    assert folded == 38 * 3 // 5 + 1  # the line at the bottom is counted
    assert 16 < panel_lines() <= folded


def test_what_has_not_begun_is_not_interrupted() -> None:
    begun = replace(pipeline(4), complete=False)
    assert "interrupted" in head(State.of(Trace([begun])), 120)
    assert "interrupted" not in head(State.of(nothing_yet("script.py")), 120)


def test_the_panel_that_was_open_is_open_again(tmp_path: Path) -> None:
    trace, store = Trace([hung()]), Store(tmp_path / "it.json")

    def titles(*keys: str) -> tuple[str, str]:
        """The panel that is open at first, and after some keys."""
        app = TimelineApp(trace, state=store.read(trace), store=store)
        found: list[str] = []

        async def main() -> None:
            async with app.run_test(size=(120, 40)) as pilot:
                await pilot.pause()
                found.append(app.state.panel)
                await pilot.press(*keys)
                await pilot.pause()
                found.append(app.state.panel)
                app.keep()

        asyncio.run(main())
        return found[0], found[1]

    assert titles() == ("Hang", "Hang")
    assert titles("3") == ("Hang", "Barriers")
    assert titles() == ("Barriers", "Barriers")
