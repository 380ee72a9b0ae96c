"""That the program comes to rest: what is on screen is laid out, and not again and again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from analysis.synthetic_traces import pipeline
from textual.app import App
from textual.screen import Screen

from tlxviz.trace import Trace
from tlxviz.tui.app import TimelineApp
from tlxviz.tui.compare import CompareApp
from tlxviz.tui.keys import PANEL_KEYS
from tlxviz.tui.linked import Link


@pytest.fixture
def layouts(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """How often a screen has been laid out so far."""
    count = 0
    original = Screen[object]._refresh_layout

    def counted(self: Screen[object], *arguments: object, **options: object) -> None:
        nonlocal count
        count += 1
        original(self, *arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Screen, "_refresh_layout", counted)
    return lambda: count


def test_scrollbars_do_not_come_and_go(layouts: Callable[[], int]) -> None:
    async def main() -> list[int]:
        found: list[int] = []
        app = TimelineApp(Trace([pipeline()]))
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.press("down", ".")
            for size in [(1, 1), (6, 1), (80, 24), (20, 9), (220, 60)]:
                before = layouts()
                await pilot.resize_terminal(*size)
                await pilot.press("w", ".")
                found.append(layouts() - before)
        return found

    assert max(asyncio.run(main())) < 30


def layouts_by_key(app: App[None], layouts: Callable[[], int], panel: str) -> list[int]:
    """How often the screen is laid out for each of a few keys, with a panel open and at rest."""

    async def main() -> list[int]:
        found: list[int] = []
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.press(panel, "j", ".", ".")
            await pilot.pause()
            for key in ("d", "w", "s", "a", "f", "u"):
                before = layouts()
                await pilot.press(key)
                await pilot.pause()
                found.append(layouts() - before)
        return found

    return asyncio.run(main())


@pytest.mark.parametrize("panel", PANEL_KEYS)
def test_moving_lays_nothing_out(panel: str, layouts: Callable[[], int]) -> None:
    """Lanes, lines and panels are as large as before, so that only what they say is drawn."""
    assert layouts_by_key(TimelineApp(Trace([pipeline()])), layouts, panel) == [0] * 6


def test_moving_in_two_traces_lays_nothing_out(layouts: Callable[[], int]) -> None:
    app = CompareApp(Link(Trace([pipeline(12)]), Trace([pipeline(9)])))
    assert layouts_by_key(app, layouts, "1") == [0] * 6
