"""The lines of the timeline as a terminal shows them, each drawn when what it depends on has changed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from rich.segment import Segment
from textual.strip import Strip

from tlxviz.analysis.flow import DataFlow
from tlxviz.tui.aim import Aim
from tlxviz.tui.arrows import Pieces
from tlxviz.tui.draw import Drawing, Paint, Row, columns_taken, nothing
from tlxviz.tui.lane import Lane
from tlxviz.tui.layout import RULER, SEPARATOR, Layout
from tlxviz.tui.looks import Look
from tlxviz.tui.paint import Palette, Theme
from tlxviz.tui.ruler import scale, ticks, unit_of, words
from tlxviz.tui.state import State
from tlxviz.tui.window import Window

Key = tuple[object, ...]
_KEPT = 600
"""Lines that are kept for when they are drawn again."""


class Picture:
    """Draws the lines of a layout."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._aim = Aim(state)
        self._layout = Layout()
        self._palette = Palette(Theme())
        self._keys: list[Key] = []
        self._pieces: Pieces = {}
        self._postponed: list[Lane] = []
        self._strips: dict[Key, Strip] = {}
        self._rows: dict[Key, Row] = {}
        self._drawing: tuple[object, Drawing] | None = None

    @property
    def layout(self) -> Layout:
        return self._layout

    @property
    def postponed(self) -> list[Lane]:
        """Lanes that are shown blank, since what stands in them takes long to be worked out."""
        return self._postponed

    def show(self, layout: Layout, palette: Palette, flow: DataFlow | None) -> list[int] | None:
        """Takes over what is to be seen now.

        Returns:
            The lines that are not what they were; None if there are more or fewer than before.
        """
        self._layout, self._palette = layout, palette
        self._pieces, self._postponed = self._aim.pieces(layout, flow), []
        before, self._keys = self._keys, [self._key(y) for y in range(layout.height)]
        if len(before) != len(self._keys):
            return None
        return [y for y, (now, then) in enumerate(zip(self._keys, before, strict=True)) if now != then]

    def strip(self, y: int) -> Strip:
        """A line, as wide as the layout."""
        key = self._keys[y]
        if key not in self._strips:
            if len(self._strips) > _KEPT:
                self._strips.clear()
            self._strips[key] = self._draw(y).adjust_cell_length(self._layout.width, self._palette.plain())
        return self._strips[key]

    def forget(self) -> None:
        """Keeps no lines for when they are drawn again, but those that are on screen."""
        self._strips = {key: self._strips[key] for key in self._keys if key in self._strips}
        self._rows.clear()

    def _key(self, y: int) -> Key:
        """All that a line's picture depends on."""
        state, columns = self._state, self._layout.columns
        theme = self._palette.theme
        if y < RULER:
            return (
                y,
                state.window,
                columns,
                state.cursor,
                state.span,
                tuple(state.marks),
                state.units,
                state.seen.number,
                self._layout.hidden,
                theme,
            )
        number = self._layout.lane_at(y)
        if number < 0:
            return (number, self._layout.width, theme)
        lane = self._layout.lanes[number]
        if lane.slow and not lane.known:
            self._postponed.append(lane)
        own = state.event if state.event is not None and self._holds(lane, state.event) else None
        folded = lane.folds and lane.key in state.folded
        current = number == self._layout.lane
        at = self._layout.cursor
        arrow = tuple(self._pieces.get(y, ()))
        return (*self._row_key(lane), own, folded, current, at, state.span, arrow, theme, self._layout.names)

    def _row_key(self, lane: Lane) -> Key:
        state = self._state
        return (lane.key, state.seen.number, state.window, self._layout.columns, state.lit, _drawn(lane))

    def _holds(self, lane: Lane, event: int) -> bool:
        """Whether a lane shows an event."""
        track = int(self._state.launch.events["track"][event])
        if lane.track != track:
            return lane.parent.count("/") == 1 and len(lane.slices) > 0 and bool((lane.slices.event == event).any())
        found = self._state.seen.lanes.lane_of(event)
        return found is not None and found.key == lane.key

    def _draw(self, y: int) -> Strip:
        if y < RULER:
            return self._ruler(y)
        number = self._layout.lane_at(y)
        if number == SEPARATOR:
            return Strip([Segment("┄" * self._layout.width, self._palette.plain(dim=True))])
        if number < 0:
            return Strip.blank(self._layout.width, self._palette.plain())
        return self._lane(y, number)

    # ---- the ruler

    def _ruler(self, y: int) -> Strip:
        state, columns, gutter = self._state, self._layout.columns, self._layout.names
        clock = state.launch.clock_mhz
        unit = unit_of(state.window, clock, state.units)
        found = ticks(state.window, columns, clock, unit)
        if y == 0:
            return Strip([Segment(f"{unit:>{gutter - 1}} "[:gutter] + words(found, columns), self._palette.plain())])
        window, whole = state.window, state.seen.whole
        line = list(scale(found, columns, (window.begin <= whole.begin, window.end >= whole.end)))
        bright: set[int] = set()
        if state.span is not None:
            first, last = (window.column(each, columns) for each in (state.span.begin, state.span.end - 1))
            for column in range(max(0, first), min(columns, last + 1)):
                line[column] = "═"
                bright.add(column)
            for column, glyph in ((first, "["), (last, "]")):
                if 0 <= column < columns:
                    line[column] = glyph
        for number, mark in enumerate(state.marks):
            column = window.column(mark, columns)
            if 0 <= column < columns:
                line[column] = chr(ord("A") + number % 26)
                bright.add(column)
        at = self._layout.cursor
        if at >= 0:
            line[at] = "▼"
            bright.add(at)
        dim, bold = self._palette.plain(dim=True), self._palette.plain(bold=True)
        segments = [Segment(letter, bold if column in bright else dim) for column, letter in enumerate(line)]
        hidden = f" {self._layout.hidden}"[:gutter]
        return Strip([Segment(f"{hidden:<{gutter}}", self._palette.plain()), *segments]).simplify()

    # ---- lanes

    def _row(self, lane: Lane) -> Row:
        state = self._state
        if self._drawing is None or self._drawing[0] is not state.launch:
            self._drawing = state.launch, Drawing(state.launch)
            self._rows.clear()
        key = self._row_key(lane)
        if key not in self._rows:
            if len(self._rows) > _KEPT:
                self._rows.clear()
            columns = self._layout.columns
            blank = lane.slow and not lane.known
            self._rows[key] = (
                nothing(columns) if blank else self._drawing[1].row(lane, state.window, columns, state.lit)
            )
        return self._rows[key]

    def _lane(self, y: int, number: int) -> Strip:
        state, columns, lane = self._state, self._layout.columns, self._layout.lanes[number]
        row = self._row(lane)
        glyphs, paint = row.glyphs, row.paint.copy()
        if state.span is not None:
            first, last = _columns_of(state.span.begin, state.span.end, state.window, columns)
            paint[first:last] |= Paint.SPAN
        if state.event is not None and self._holds(lane, state.event):
            begin, end = (int(state.launch.events[name][state.event]) for name in ("begin", "end"))
            if end >= state.window.begin and begin < state.window.end:
                first, last = _columns_of(begin, end, state.window, columns)
                paint[first:last] |= Paint.SELECTED
        at, arrow = self._layout.cursor, self._pieces.get(y, ())
        blank = at >= 0 and glyphs[at] in " ╌"
        if arrow or blank:
            glyphs = glyphs.copy()
        if at >= 0:
            paint[at] |= Paint.CURSOR
            glyphs[at] = "╎" if blank else glyphs[at]
        for column, glyph, colour in arrow:
            glyphs[column], paint[column] = glyph, Look.AWAY | colour
        current = number == self._layout.lane
        return Strip([self._gutter_of(lane, current), *self._segments(glyphs, paint)])

    def _gutter_of(self, lane: Lane, current: bool) -> Segment:
        sign = ("▸" if lane.key in self._state.folded else "▾") if lane.folds else " "
        room = self._layout.names - 1
        name = f"{' ' * lane.depth}{sign}{lane.label}"
        if len(name) > room:
            name = f"{name.strip()}"[: room - 1] + "…"
        return Segment(f"{name:<{room}}{'▶' if current else ' '}", self._palette.plain(bold=current, reverse=current))

    def _segments(self, glyphs: NDArray[np.str_], paint: NDArray[np.int64]) -> list[Segment]:
        """One segment for each run of cells of one colour."""
        palette = self._palette
        bounds = [0, *(np.flatnonzero(np.diff(paint)) + 1).tolist(), len(paint)]
        text, colours = "".join(glyphs.tolist()), paint[bounds[:-1]].tolist()
        return [
            Segment(text[first:last], palette[colour])
            for first, last, colour in zip(bounds[:-1], bounds[1:], colours, strict=True)
        ]


def _columns_of(begin: int, end: int, window: Window, columns: int) -> tuple[int, int]:
    """The columns on screen that a stretch of time takes."""
    first, last = columns_taken(np.array([max(begin, window.begin)]), np.array([min(end, window.end)]), window, columns)
    return (int(first[0]), int(last[0])) if end >= window.begin and begin < window.end else (0, 0)


def _drawn(lane: Lane) -> int:
    """Which slices a lane is drawn with; 0 as long as it is blank."""
    return id(lane.slices) if lane.known or not lane.slow else 0
