"""A newer trace of the same program in the place of the one that is looked at."""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from tlxviz.analysis.hang import hang_of
from tlxviz.trace.build import empty_events
from tlxviz.trace.model import LaunchTrace, Trace
from tlxviz.tui.lookup import last_of
from tlxviz.tui.search import Hits, SearchError, find
from tlxviz.tui.seen import Seen
from tlxviz.tui.state import State
from tlxviz.tui.window import Window

_FOLLOWED = 1 << 14
"""SM cycles on screen while the newest time is followed."""


def nothing_yet(title: str) -> Trace:
    """What is shown before the first launch."""
    launch = LaunchTrace(title, (0, 0, 0), {}, {}, 0.0, 0, 0, [], [], [], [], [], empty_events(), {}, complete=False)
    return Trace([launch])


def replace_trace(state: State, trace: Trace, *, newest: bool) -> None:
    """Shows a newer trace: its newest time, or what is on screen already.

    Args:
        state: Changed in place; its `changed` is the caller's to call.
        trace: At least one launch; those of the old one, gone on, and perhaps more.
        newest: Whether the newest time is followed.
    """
    before, row = state.launch, state.current()
    event = state.event
    number = len(trace.launches) - 1 if newest else min(state.seen.number, len(trace.launches) - 1)
    state.trace = trace
    state.places = [each for each in state.places if each.launch < len(trace.launches)]
    state.turn_to(Seen(trace.launches[number], number))
    state.event = _same_event(before, state.launch, event) if event is not None else None
    state.hits = _same_search(state.hits, state.launch)
    if before.kernel != state.launch.kernel:
        state.lit = frozenset()
    known = state.seen.lanes.ctas
    if newest:
        state.open_cta(_latest_cta(state.launch))
        whole = state.cta_window()
        state.window = Window(max(whole.begin, whole.end - _FOLLOWED), whole.end)
        state.cursor = state.window.begin
    elif state.cta not in known:
        state.cta = known[0] if known else 0
    if row is not None:
        keys = [lane.key for lane in state.visible()]
        _, slash, rest = row.key.partition("/")
        same = f"cta {state.cta}{slash}{rest}" if newest else row.key
        state.lane = keys.index(same) if same in keys else min(state.lane, max(0, len(keys) - 1))


def _latest_cta(launch: LaunchTrace) -> int:
    return max(launch.tracks, key=lambda track: (track.end, -track.cta)).cta if launch.tracks else 0


def _same_search(hits: Hits | None, launch: LaunchTrace) -> Hits | None:
    """What a search finds now: rows of the older trace are those of other events, or of none."""
    with suppress(SearchError):
        return find(launch, hits.query) if hits is not None else None
    return None


def _same_event(before: LaunchTrace, after: LaunchTrace, event: int) -> int | None:
    """Its row in the newer trace; None where it is not there."""
    if before.kernel != after.kernel:
        return None
    old = before.tracks[int(before.events["track"][event])]
    tracks = [
        number
        for number, each in enumerate(after.tracks)
        if (each.kind, each.name, each.cta) == (old.kind, old.name, old.cta)
    ]
    same = np.isin(after.events["track"], tracks)
    for name in ("site", "begin"):
        same &= after.events[name] == before.events[name][event]
    found = np.flatnonzero(same)
    return int(found[0]) if len(found) else None


def hanging(trace: Trace) -> int | None:
    """The number of the first launch that hangs; None where all end."""
    return next((number for number, each in enumerate(trace.launches) if each.hang is not None), None)


def go_to_hang(state: State, number: int) -> None:
    """Opens a launch that hangs at the wait of the first warp group that waits forever."""
    if state.seen.number != number:
        state.open_launch(number)
    hang = hang_of(state.launch)
    if hang is None:
        return
    for waiter in hang.waiters:
        row = last_of(state.launch, waiter.agent, waiter.cta if waiter.cta is not None else hang.cta)
        if waiter.operation != "join" and row is not None:
            state.go_to(row)
            return
