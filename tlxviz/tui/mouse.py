"""What the mouse does to the state: it selects, drags ranges, folds, scrolls and zooms."""

from __future__ import annotations

import numpy as np

from tlxviz.tui.lane import Lane
from tlxviz.tui.layout import Layout
from tlxviz.tui.state import State
from tlxviz.tui.window import Window

_CLOSER, _FARTHER = 0.8, 1.25


class Mouse:
    """Changes the state. Places are columns and lines of the widget."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._since: int | None = None

    @property
    def drags(self) -> bool:
        """Whether a range is being dragged."""
        return self._since is not None

    def press(self, layout: Layout, x: int, y: int) -> None:
        """On a name, goes to the lane, and on the sign before it, folds; on a slice, selects it and begins a range."""
        state, number = self._state, layout.lane_at(y)
        if x < layout.names:
            if number >= 0:
                lane = layout.lanes[number]
                state.lane = number
                if x <= lane.depth + 1 and lane.folds:
                    state.fold()
                state.changed()
            return
        column = min(x - layout.names, layout.columns - 1)
        cycle = state.window.cycle(column, layout.columns)
        self._since = cycle
        state.cursor, state.span = cycle, None
        if number >= 0:
            state.lane = number
            state.event = event_at(layout.lanes[number], state.window, column, layout.columns)
        state.changed()

    def move(self, layout: Layout, x: int) -> None:
        if self._since is None:
            return
        state = self._state
        cycle = state.window.cycle(max(0, min(x - layout.names, layout.columns)), layout.columns)
        first, last = min(self._since, cycle), max(self._since, cycle)
        span = Window(first, last) if last > first else None
        if span != state.span:
            state.span = span
            state.cursor = max(state.window.begin, min(cycle, state.window.end - 1))
            state.changed()

    def release(self) -> None:
        self._since = None

    def zoom(self, layout: Layout, x: int, direction: int) -> None:
        """About the mouse: closer for -1, farther for 1."""
        state = self._state
        about = state.window.cycle(max(0, x - layout.names), layout.columns)
        state.window = state.window.zoomed(_FARTHER if direction > 0 else _CLOSER, about, state.seen.whole)
        state.changed()

    def pan(self, direction: int) -> None:
        """By a tenth of the window: to the left for -1, to the right for 1."""
        state = self._state
        by = max(1, state.window.cycles // 10) * direction
        state.window = state.window.moved(by, state.seen.whole)
        state.changed()


def event_at(lane: Lane, window: Window, column: int, columns: int) -> int | None:
    """The event that is drawn in a column: what lies at its beginning, or the longest of what begins in it."""
    slices = lane.slices
    if not len(slices):
        return None
    begin, end = window.cycle(column, columns), window.cycle(column + 1, columns)
    part = slices.within(begin, max(end, begin + 1))
    if part.stop <= part.start:
        return None
    inside = np.minimum(slices.end[part], max(end, begin + 1)) - np.maximum(slices.begin[part], begin)
    event = int(slices.event[part.start + int(np.argmax(inside))])
    return event if event >= 0 else None
