"""The timeline itself: a ruler, and a line for each lane."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from tlxviz.tui.arrows import Arrow, Pieces, arrows, pieces
from tlxviz.tui.draw import Drawing, Paint, Row, columns_taken
from tlxviz.tui.flowing import asked_flow
from tlxviz.tui.lanes import Lane
from tlxviz.tui.looks import Look
from tlxviz.tui.paint import Palette
from tlxviz.tui.ruler import scale, ticks, unit_of, words
from tlxviz.tui.state import State
from tlxviz.tui.window import Window

RULER = 2
"""Lines above the lanes."""
_WHEEL_LANES = 3
_KEPT = 2000
"""Lines that are kept for when they are drawn again."""
_SEPARATOR = -1
"""In place of a lane's number: the line below the pinned ones."""
_NONE = -2

_Key = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class _Frame:
    """What all lines of a picture have in common. Asking Textual for it costs more than drawing a line."""

    width: int
    height: int
    names: int
    """Columns for names of lanes."""
    columns: int
    """Columns for time."""
    pinned: int
    """How many lanes stay on top."""
    lane: int
    """The lane under the cursor."""
    cursor: int
    """Its column; -1 where it is not on screen."""
    theme: tuple[bool, bool]
    """Whether it is dark, and whether it is monochrome."""


class Timeline(Widget, can_focus=True):
    """Draws the state. Keys are the app's; the mouse selects, and scrolls."""

    DEFAULT_CSS = "Timeline { height: 1fr; width: 1fr; }"

    def __init__(self, state: State) -> None:
        super().__init__(id="timeline")
        self.state = state
        self.top = 0
        """The first lane that is on screen, of those that are not pinned."""
        self.monochrome = False
        self._lanes: list[Lane] = []
        self._frame = _Frame(0, 0, 0, 1, 0, 0, -1, (True, False))
        self._lane_before: tuple[int, int] = (-1, -1)
        self._strips: dict[_Key, Strip] = {}
        self._rows: dict[_Key, Row] = {}
        self._keys: list[_Key] = []
        self._drawing: tuple[object, Drawing] | None = None
        self._palettes: dict[tuple[bool, bool], Palette] = {}
        self._arrows: tuple[object, list[Arrow]] = (None, [])
        self._lines: dict[int, int] = {}
        self._pieces: Pieces = {}
        self._drag: int | None = None

    # ---- size

    @property
    def columns(self) -> int:
        """Columns for time."""
        return self._frame.columns

    @property
    def _dark(self) -> bool:
        return self.app.current_theme.dark  # pyright: ignore[reportUnknownMemberType]

    def _measured(self) -> _Frame:
        (width, height), state = self.size, self.state
        names = min(20, max(5, width // 5))
        columns = max(1, width - names)
        keys = set(state.pinned)
        pinned = next((number for number, lane in enumerate(self._lanes) if lane.key not in keys), len(self._lanes))
        pinned = min(pinned, max(0, height - RULER - 2))
        at = state.window.column(state.cursor, columns)
        lane = min(state.lane, max(0, len(self._lanes) - 1))
        theme = self._dark, self.monochrome
        return _Frame(width, height, names, columns, pinned, lane, at if 0 <= at < columns else -1, theme)

    def lane_at(self, y: int) -> int:
        """The lane that a line of the widget shows; less than 0 for none."""
        line, pinned = y - RULER, self._frame.pinned
        if line < 0:
            return _NONE
        if line < pinned:
            return line
        if pinned and line == pinned:
            return _SEPARATOR
        number = self.top + line - (1 if pinned else 0)
        return number if number < len(self._lanes) else _NONE

    def follow(self) -> None:
        """The state has changed: draws the lines that are not what they were."""
        keys = self._laid_out()
        if len(keys) != len(self._keys):
            self.refresh()
        else:
            changed = [y for y, (now, before) in enumerate(zip(keys, self._keys, strict=True)) if now != before]
            if len(changed) > len(keys) // 2:
                self.refresh()
            elif changed:
                self.refresh(*(Region(0, y, self._frame.width, 1) for y in changed))
        self._keys = keys

    def _laid_out(self) -> list[_Key]:
        """What each line of the widget has to show."""
        self._lanes = self.state.visible()
        self._frame = frame = self._measured()
        room = max(1, frame.height - RULER - (frame.pinned + 1 if frame.pinned else 0))
        if self._lane_before != (frame.lane, room) and frame.lane >= frame.pinned:
            # the wheel may have moved the lane under the cursor off the screen; it comes back when it changes
            self.top = min(max(self.top, frame.lane - frame.pinned - room + 1), frame.lane - frame.pinned)
        self._lane_before = frame.lane, room
        self.top = max(0, min(self.top, len(self._lanes) - frame.pinned - room))
        self._aim()
        return [self._key(y) for y in range(frame.height)]

    def on_resize(self) -> None:
        self.follow()
        self.refresh()

    def forget(self) -> None:
        """Keeps no lines for when they are drawn again."""
        self._strips.clear()
        self._rows.clear()

    def notify_style_update(self) -> None:
        self._strips.clear()
        self._keys = []
        super().notify_style_update()

    # ---- arrows

    def _aim(self) -> None:
        """Finds the arrows of the selected event, and the lines between which they go."""
        state = self.state
        if state.event is None or not len(state.launch.events):
            self._arrows, self._pieces = (None, []), {}
            return
        made_from = state.seen.number, state.event, asked_flow(self, state)
        if self._arrows[0] != made_from:
            self._arrows = made_from, arrows(state.launch, state.event, made_from[2])
        found = self._arrows[1]
        numbers = {lane.key: number for number, lane in enumerate(self._lanes)} if found else {}
        lines: dict[int, int] = {}
        for event in {each for arrow in found for each in (arrow.source, arrow.target)}:
            number = self._number(event, numbers)
            if number is not None:
                lines[event] = self._line(number)
        self._pieces = pieces(found, lines, state.window, self.columns)

    def _number(self, event: int, numbers: dict[str, int]) -> int | None:
        """The visible lane of an event: its own, or the one that it is folded into."""
        lanes = self.state.seen.lanes
        cta = self.state.launch.tracks[int(self.state.launch.events["track"][event])].cta
        if f"cta {cta}" in self.state.folded:
            return numbers.get(f"cta {cta}")
        lane = lanes.lane_of(event)
        return numbers.get(lane.key) if lane else None

    def _line(self, number: int) -> int:
        """The line of the widget on which a lane is, or would be if the widget were higher."""
        pinned = self._frame.pinned
        return RULER + number if number < pinned else RULER + number - self.top + (1 if pinned else 0)

    # ---- drawing

    def _key(self, y: int) -> _Key:
        """All that a line's picture depends on."""
        state, columns = self.state, self.columns
        theme = self._frame.theme
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
                theme,
            )
        number = self.lane_at(y)
        if number < 0:
            return (number, columns)
        lane = self._lanes[number]
        own = state.event if state.event is not None and self._holds(lane, state.event) else None
        folded = lane.folds and lane.key in state.folded
        current = number == self._frame.lane
        at = self._frame.cursor
        arrow = tuple(self._pieces.get(y, ()))
        return (*self._row_key(lane), own, folded, current, at, state.span, arrow, theme, self._frame.names)

    def _row_key(self, lane: Lane) -> _Key:
        state = self.state
        return (lane.key, state.seen.number, state.window, self.columns, state.lit, id(lane.slices))

    def _holds(self, lane: Lane, event: int) -> bool:
        """Whether a lane shows an event."""
        track = int(self.state.launch.events["track"][event])
        if lane.track != track:
            return lane.parent.count("/") == 1 and len(lane.slices) > 0 and bool((lane.slices.event == event).any())
        found = self.state.seen.lanes.lane_of(event)
        return found is not None and found.key == lane.key

    def render_line(self, y: int) -> Strip:
        width, height = self.size
        if (width, len(self._keys)) != (self._frame.width, height):
            self._keys = self._laid_out()
        if y >= len(self._keys):
            return Strip.blank(width)
        key = self._keys[y]
        if key not in self._strips:
            if len(self._strips) > _KEPT:
                self._strips.clear()
            self._strips[key] = self._draw(y).adjust_cell_length(width).apply_style(self.rich_style)
        return self._strips[key]

    def _draw(self, y: int) -> Strip:
        if y < RULER:
            return self._ruler(y)
        number = self.lane_at(y)
        if number == _SEPARATOR:
            return Strip([Segment("┄" * self._frame.width, Style(dim=True))])
        if number < 0:
            return Strip.blank(self._frame.width)
        return self._lane(y, number)

    @property
    def _palette(self) -> Palette:
        theme = self._frame.theme
        if theme not in self._palettes:
            self._palettes[theme] = Palette(dark=theme[0], monochrome=theme[1])
        return self._palettes[theme]

    # ---- the ruler

    def _ruler(self, y: int) -> Strip:
        state, columns, gutter = self.state, self.columns, self._frame.names
        clock = state.launch.clock_mhz
        unit = unit_of(state.window, clock, state.units)
        found = ticks(state.window, columns, clock, unit)
        if y == 0:
            return Strip([Segment(f"{unit:>{gutter - 1}} "[:gutter]), Segment(words(found, columns))])
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
        at = self._frame.cursor
        if at >= 0:
            line[at] = "▼"
            bright.add(at)
        dim, bold = Style(dim=True), Style(bold=True)
        segments = [Segment(letter, bold if column in bright else dim) for column, letter in enumerate(line)]
        return Strip([Segment(" " * gutter), *segments]).simplify()

    # ---- lanes

    def _row(self, lane: Lane) -> Row:
        state = self.state
        if self._drawing is None or self._drawing[0] is not state.launch:
            self._drawing = state.launch, Drawing(state.launch)
            self._rows.clear()
        key = self._row_key(lane)
        if key not in self._rows:
            if len(self._rows) > _KEPT:
                self._rows.clear()
            self._rows[key] = self._drawing[1].row(lane, state.window, self.columns, state.lit)
        return self._rows[key]

    def _lane(self, y: int, number: int) -> Strip:
        state, columns, lane = self.state, self.columns, self._lanes[number]
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
        at, arrow = self._frame.cursor, self._pieces.get(y, ())
        blank = at >= 0 and glyphs[at] in " ╌"
        if arrow or blank:
            glyphs = glyphs.copy()
        if at >= 0:
            paint[at] |= Paint.CURSOR
            glyphs[at] = "╎" if blank else glyphs[at]
        for column, glyph, colour in arrow:
            glyphs[column], paint[column] = glyph, Look.AWAY | colour
        current = number == self._frame.lane
        return Strip([self._gutter_of(lane, current), *self._segments(glyphs, paint)])

    def _gutter_of(self, lane: Lane, current: bool) -> Segment:
        sign = ("▸" if lane.key in self.state.folded else "▾") if lane.folds else " "
        room = self._frame.names - 1
        name = f"{' ' * lane.depth}{sign}{lane.label}"
        if len(name) > room:
            name = f"{name.strip()}"[: room - 1] + "…"
        return Segment(f"{name:<{room}}{'▶' if current else ' '}", Style(bold=current, reverse=current))

    def _segments(self, glyphs: np.ndarray, paint: np.ndarray) -> list[Segment]:
        """One segment for each run of cells of one colour."""
        palette = self._palette
        bounds = [0, *(np.flatnonzero(np.diff(paint)) + 1).tolist(), len(paint)]
        text, colours = "".join(glyphs.tolist()), paint[bounds[:-1]].tolist()
        return [
            Segment(text[first:last], palette[colour])
            for first, last, colour in zip(bounds[:-1], bounds[1:], colours, strict=True)
        ]

    # ---- mouse

    def place(self, x: int, y: int) -> tuple[int, int] | None:
        """The lane and the cycle at a place of the widget."""
        number, column = self.lane_at(y), x - self._frame.names
        if number < 0 or column < 0:
            return None
        return number, self.state.window.cycle(min(column, self.columns - 1), self.columns)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        if event.button != 1:
            return
        self.focus()
        state, number = self.state, self.lane_at(event.y)
        if event.x < self._frame.names:
            if number >= 0:
                state.lane = number
                if event.x <= self._lanes[number].depth + 1 and self._lanes[number].folds:
                    state.fold()
                state.changed()
            return
        cycle = state.window.cycle(min(event.x - self._frame.names, self.columns - 1), self.columns)
        self._drag = cycle
        self.capture_mouse()
        state.cursor, state.span = cycle, None
        if number >= 0:
            state.lane = number
            state.event = self._event_at(self._lanes[number], event.x - self._frame.names)
        state.changed()

    def _event_at(self, lane: Lane, column: int) -> int | None:
        """The event that is drawn in a column: what lies at its beginning, or the longest of what begins in it."""
        window, slices = self.state.window, lane.slices
        if not len(slices):
            return None
        begin, end = window.cycle(column, self.columns), window.cycle(column + 1, self.columns)
        part = slices.within(begin, max(end, begin + 1))
        if part.stop <= part.start:
            return None
        inside = np.minimum(slices.end[part], max(end, begin + 1)) - np.maximum(slices.begin[part], begin)
        event = int(slices.event[part.start + int(np.argmax(inside))])
        return event if event >= 0 else None

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self._drag is None:
            return
        state, columns = self.state, self.columns
        column = max(0, min(event.x - self._frame.names, columns))
        cycle = state.window.cycle(column, columns)
        first, last = min(self._drag, cycle), max(self._drag, cycle)
        span = Window(first, last) if last > first else None
        if span != state.span:
            state.span = span
            state.cursor = max(state.window.begin, min(cycle, state.window.end - 1))
            state.changed()

    def on_mouse_up(self) -> None:
        if self._drag is not None:
            self._drag = None
            self.release_mouse()

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self._wheel(event, -1)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self._wheel(event, 1)

    def on_mouse_scroll_left(self, event: events.MouseScrollLeft) -> None:
        self._pan(-1)
        event.stop()

    def on_mouse_scroll_right(self, event: events.MouseScrollRight) -> None:
        self._pan(1)
        event.stop()

    def _wheel(self, event: events.MouseEvent, direction: int) -> None:
        """Scrolls the lanes; zooms about the mouse with ctrl, goes through time with shift."""
        event.stop()
        state = self.state
        if event.ctrl:
            about = state.window.cycle(max(0, event.x - self._frame.names), self.columns)
            state.window = state.window.zoomed(1.25 if direction > 0 else 0.8, about, state.seen.whole)
            state.changed()
        elif event.shift:
            self._pan(direction)
        else:
            self.top = max(0, self.top + direction * _WHEEL_LANES)
            self.follow()

    def _pan(self, direction: int) -> None:
        state = self.state
        by = max(1, state.window.cycles // 10) * direction
        state.window = state.window.moved(by, state.seen.whole)
        state.changed()


def _columns_of(begin: int, end: int, window: Window, columns: int) -> tuple[int, int]:
    """The columns on screen that a stretch of time takes."""
    first, last = columns_taken(np.array([max(begin, window.begin)]), np.array([min(end, window.end)]), window, columns)
    return (int(first[0]), int(last[0])) if end >= window.begin and begin < window.end else (0, 0)
