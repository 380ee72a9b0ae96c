"""A timeline program that runs without a terminal, and what its panels say."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from rich.text import Text
from textual.pilot import Pilot
from textual.widgets import OptionList, Static, TabbedContent

from tlxviz.trace import LaunchTrace, Trace
from tlxviz.tui.app import TimelineApp
from tlxviz.tui.panels import Panel


class Walk:
    """What a user does, one thing after the other."""

    def __init__(self, app: TimelineApp, pilot: Pilot[None]) -> None:
        self.app = app
        self.pilot = pilot

    async def settle(self) -> None:
        """Until threads have found out what was asked for, and it is on screen."""
        for _ in range(2):
            await self.pilot.pause()
            await self.app.workers.wait_for_complete()
        await self.pilot.pause()

    async def open(self, tab: str) -> Panel:
        self.app.query_one(TabbedContent).active = f"tab-{tab}"
        await self.settle()
        found = self.app.query_one(f"#panel-{tab}", Panel)
        found.take_focus()
        await self.pilot.pause()
        return found

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.settle()

    async def select(self, event: int) -> None:
        self.app.state.go_to(event)
        self.app.state.changed()
        await self.settle()

    def options(self, id: str) -> list[str]:
        """What a list says."""
        return [str(option.prompt) for option in self.app.query_one(f"#{id}", OptionList).options]

    def said(self, id: str) -> str:
        content = self.app.query_one(f"#{id}", Static).content
        return content.plain if isinstance(content, Text) else str(content)

    def screen(self) -> list[str]:
        """The lines on screen."""
        strips = self.app.screen._compositor.render_strips()
        return ["".join(segment.text for segment in strip).rstrip() for strip in strips]


def walk(
    what: LaunchTrace | Trace, steps: Callable[[Walk], Awaitable[None]], size: tuple[int, int] = (120, 40)
) -> None:
    """Takes steps in a program that shows a trace."""

    async def run() -> None:
        app = TimelineApp(what if isinstance(what, Trace) else Trace([what]))
        async with app.run_test(size=size) as pilot:
            one = Walk(app, pilot)
            await one.settle()
            await steps(one)

    asyncio.run(run())
