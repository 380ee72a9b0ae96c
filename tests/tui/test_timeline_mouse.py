from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from textual import events
from textual.pilot import Pilot
from tui.ring_scene import FULL, event, ring

from tlxviz.trace import LaunchTrace, Trace
from tlxviz.tui.app import TimelineApp
from tlxviz.tui.layout import RULER
from tlxviz.tui.timeline import Timeline
from tlxviz.tui.window import Window

GUTTER = 20
"""Columns of names at 120 columns; then each of the hundred columns has five cycles of the scene."""


def play(do: Callable[[TimelineApp, Pilot[None], Timeline], Awaitable[None]], trace: LaunchTrace | None = None) -> None:
    async def run() -> None:
        app = TimelineApp(Trace([trace or ring()]))
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.pause()
            app.query_one("#drawer").add_class("hidden")
            await pilot.pause()
            await do(app, pilot, app.query_one(Timeline))

    asyncio.run(run())


def wheel(kind: type[events.MouseEvent], timeline: Timeline, x: int, **keys: bool) -> None:
    given = {"shift": False, "meta": False, "ctrl": False} | keys
    timeline.post_message(kind(timeline, x, 5, 0, 0, 0, **given, screen_x=x, screen_y=6))  # type: ignore[arg-type]


def test_a_click_selects_the_slice_and_puts_the_cursor() -> None:
    async def do(app: TimelineApp, pilot: Pilot[None], timeline: Timeline) -> None:
        # the third lane is `mma`; cycle 150 is in its wait of iteration 1
        await pilot.click(Timeline, offset=(GUTTER + 30, RULER + 2))
        assert app.state.lane == 2
        assert app.state.cursor == 150
        assert app.state.event == event(app.state.launch, 1, FULL, 1)
        assert app.state.span is None

    play(do)


def test_a_click_on_nothing_selects_nothing() -> None:
    async def do(app: TimelineApp, pilot: Pilot[None], timeline: Timeline) -> None:
        await pilot.click(Timeline, offset=(GUTTER + 30, RULER + 2))
        await pilot.click(Timeline, offset=(GUTTER + 99, RULER + 3))
        assert app.state.event is None
        assert app.state.cursor == 495
        await pilot.click(Timeline, offset=(GUTTER + 10, RULER + 30))
        assert app.state.cursor == 50
        assert app.state.lane == 3

    play(do)


def test_a_click_into_a_dense_column_selects_the_longest_of_it() -> None:
    async def do(app: TimelineApp, pilot: Pilot[None], timeline: Timeline) -> None:
        # 10 iterations of 100 cycles in 11 columns: all of an iteration's events in one column
        app.state.window = Window(0, 10_000)
        app.state.changed()
        await pilot.click(Timeline, offset=(GUTTER + 3, RULER + 2))
        assert app.state.event == event(app.state.launch, 1, FULL, 3)

    play(do, ring(20))


def test_a_drag_selects_a_range() -> None:
    async def do(app: TimelineApp, pilot: Pilot[None], timeline: Timeline) -> None:
        await pilot.mouse_down(Timeline, offset=(GUTTER + 60, RULER + 1))
        await pilot.hover(Timeline, offset=(GUTTER + 20, RULER + 4))
        await pilot.mouse_up(Timeline, offset=(GUTTER + 20, RULER + 4))
        assert app.state.span == Window(100, 300)
        await pilot.hover(Timeline, offset=(GUTTER + 80, RULER + 4))
        assert app.state.span == Window(100, 300)

    play(do)


def test_names_fold_and_select_lanes() -> None:
    async def do(app: TimelineApp, pilot: Pilot[None], timeline: Timeline) -> None:
        await pilot.click(Timeline, offset=(6, RULER + 3))
        assert app.state.lane == 3
        await pilot.click(Timeline, offset=(0, RULER))
        assert [each.label for each in app.state.visible()] == ["CTA 0"]

    play(do)


def test_the_wheel_scrolls_lanes_and_the_cursor_brings_them_back() -> None:
    async def do(app: TimelineApp, pilot: Pilot[None], timeline: Timeline) -> None:
        wheel(events.MouseScrollDown, timeline, 50)
        await pilot.pause()
        assert timeline.layout_now.top == 3
        assert timeline.render_line(RULER).text.startswith("  TMA loads")
        app.state.cursor = 100
        app.state.changed()
        assert timeline.layout_now.top == 3
        await pilot.press("down")
        assert timeline.layout_now.top == 1

    play(do, ring(ctas=60))


def test_the_wheel_stops_at_the_ends() -> None:
    async def do(app: TimelineApp, pilot: Pilot[None], timeline: Timeline) -> None:
        for kind, top in ((events.MouseScrollDown, len(app.state.visible()) - 36), (events.MouseScrollUp, 0)):
            for _ in range(40):
                wheel(kind, timeline, 50)
            await pilot.pause()
            assert timeline.layout_now.top == top

    play(do, ring(ctas=60))


def test_ctrl_and_the_wheel_zoom_about_the_mouse() -> None:
    async def do(app: TimelineApp, pilot: Pilot[None], timeline: Timeline) -> None:
        wheel(events.MouseScrollUp, timeline, GUTTER + 50, ctrl=True)
        await pilot.pause()
        assert app.state.window == Window(50, 450)
        assert timeline.layout_now.top == 0

    play(do)


def test_shift_and_the_wheel_go_through_time() -> None:
    async def do(app: TimelineApp, pilot: Pilot[None], timeline: Timeline) -> None:
        app.state.window = Window(100, 200)
        wheel(events.MouseScrollDown, timeline, GUTTER + 50, shift=True)
        await pilot.pause()
        assert app.state.window == Window(110, 210)
        wheel(events.MouseScrollLeft, timeline, GUTTER + 50)
        await pilot.pause()
        assert app.state.window == Window(100, 200)

    play(do)
