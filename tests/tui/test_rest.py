"""That the program comes to rest: what is on screen is laid out, and not again and again."""

from __future__ import annotations

import asyncio

import pytest
from analysis.synthetic_traces import pipeline
from textual.screen import Screen

from tlxviz.trace import Trace
from tlxviz.tui.app import TimelineApp


def test_scrollbars_do_not_come_and_go(monkeypatch: pytest.MonkeyPatch) -> None:
    layouts = 0
    original = Screen[object]._refresh_layout

    def counted(self: Screen[object], *arguments: object, **options: object) -> None:
        nonlocal layouts
        layouts += 1
        original(self, *arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Screen, "_refresh_layout", counted)

    async def main() -> list[int]:
        found: list[int] = []
        app = TimelineApp(Trace([pipeline()]))
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.press("down", ".")
            for size in [(1, 1), (6, 1), (80, 24), (20, 9), (220, 60)]:
                before = layouts
                await pilot.resize_terminal(*size)
                await pilot.press("w", ".")
                found.append(layouts - before)
        return found

    assert max(asyncio.run(main())) < 30
