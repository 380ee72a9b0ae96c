"""From one slice of a lane to the next."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tlxviz.tui.lane import Lane
from tlxviz.tui.state import State


def step(state: State, direction: int, wanted: np.ndarray | None = None) -> bool:
    """Selects the next slice (1) or the one before (-1) of the lane; of the events `wanted`, a mask, if given."""
    lane = state.current()
    if lane is None or not len(lane.slices):
        return False
    slices = lane.slices
    places = np.arange(len(slices)) if wanted is None else np.flatnonzero(wanted[slices.event] & (slices.event >= 0))
    if not len(places):
        return False
    here = _here(state, lane)
    at = int(np.searchsorted(places, here, side="right" if direction > 0 else "left")) - (direction < 0)
    if not 0 <= at < len(places):
        return False
    place = int(places[at])
    event = int(slices.event[place])
    if event >= 0:
        state.go_to(event, remember=False)
        state.put_on(lane.key)
    else:
        state.cursor, state.event = int(slices.begin[place]), None
        if not state.window.begin <= state.cursor < state.window.end:
            state.window = state.window.centred(state.cursor, state.seen.whole)
    return True


def under_cursor(state: State) -> int | None:
    """The selected event while the cursor is in it: what is next goes from here, else from the cursor."""
    if state.event is None:
        return None
    begin, end = (int(state.launch.events[name][state.event]) for name in ("begin", "end"))
    return state.event if begin <= state.cursor < max(end, begin + 1) else None


def _here(state: State, lane: Lane) -> int:
    """The slice at the cursor; half a place before the next one if there is none."""
    slices = lane.slices
    event = under_cursor(state)
    if event is not None:
        own = np.flatnonzero(slices.event == event)
        if len(own):
            return int(own[0])
    return int(np.searchsorted(slices.begin, state.cursor, side="right")) - 1


def go_around(state: State, rows: Sequence[int], direction: int) -> int:
    """To the next (1) of several events or the one before (-1), the first after the last. Gives its place in `rows`.

    Args:
        rows: Events, of which one is selected.
    """
    place = (rows.index(state.event or 0) + direction) % len(rows)
    state.go_to(rows[place])
    return place
