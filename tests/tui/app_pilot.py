"""The timeline of a trace as a user has it: opened, keys pressed, and what came of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

from analysis.synthetic_traces import pipeline
from textual.pilot import Pilot

from tlxviz.trace import Events, LaunchTrace, Trace
from tlxviz.tui.app import TimelineApp
from tlxviz.tui.state import State

Walk = Callable[[TimelineApp, Pilot[None]], Awaitable[None]]


def walk(app: TimelineApp, *keys: str, size: tuple[int, int] = (80, 24), then: Walk | None = None) -> State:
    """Opens the app, presses keys, and gives back the state."""

    async def main() -> None:
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            for key in keys:
                await pilot.press(key)
            await pilot.pause()
            if then is not None:
                await then(app, pilot)

    asyncio.run(main())
    return app.state


def pressed(*keys: str, made: Trace | None = None, size: tuple[int, int] = (80, 24)) -> State:
    return walk(TimelineApp(made or Trace([pipeline()]), "it.tlxtrace"), *keys, size=size)


def selected(state: State) -> tuple[str, int, int] | None:
    """Track, begin and line of the selected event."""
    if state.event is None:
        return None
    events = state.launch.events
    track = state.launch.tracks[int(events["track"][state.event])]
    return track.name, int(events["begin"][state.event]), state.launch.sites[int(events["site"][state.event])].line


def typed(text: str) -> list[str]:
    return [*text, "enter"]


def two_ctas() -> LaunchTrace:
    made = pipeline()
    count = len(made.tracks)
    tracks = [*made.tracks, *(replace(each, cta=1) for each in made.tracks)]
    again = {name: made.events[name] for name in made.events.columns}
    again["track"] = again["track"] + count
    return replace(made, tracks=tracks, events=Events.concat([made.events, Events(again)]).in_order())
