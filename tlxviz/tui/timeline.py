"""The timeline itself: a ruler, and a line for each lane."""

from __future__ import annotations

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from tlxviz.tui.draw import cells, shown
from tlxviz.tui.lanes import Lane
from tlxviz.tui.looks import APPEARANCES, Look
from tlxviz.tui.state import State
from tlxviz.tui.words import event_name

_HEIGHTS = "▁▂▃▄▅▆▇█"
RULER = 1
"""Lines above the lanes."""


class Timeline(Widget, can_focus=True):
    """Draws the state. Keys are the app's."""

    DEFAULT_CSS = "Timeline { height: 1fr; width: 1fr; }"

    class Moved(Message):
        """The cursor has been put somewhere by the mouse."""

    def __init__(self, state: State) -> None:
        super().__init__(id="timeline")
        self.state = state
        self.top = 0
        """The first lane that is on screen."""
        self.monochrome = False
        self._drawn: dict[object, Strip] = {}

    # ---- size

    @property
    def gutter(self) -> int:
        """Columns for names of lanes."""
        return min(16, max(4, self.size.width // 5))

    @property
    def columns(self) -> int:
        """Columns for time."""
        return max(1, self.size.width - self.gutter)

    def follow(self) -> None:
        """The state has changed."""
        room = max(1, self.size.height - RULER)
        lanes = len(self.state.visible())
        lane = min(self.state.lane, max(0, lanes - 1))
        self.top = min(max(self.top, lane - room + 1), lane, max(0, lanes - room) if lanes > room else 0)
        self.top = max(self.top, 0)
        self.refresh()

    def notify_style_update(self) -> None:
        self._drawn.clear()
        super().notify_style_update()

    # ---- drawing

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        if y < RULER:
            return self._ruler().adjust_cell_length(width)
        lanes = self.state.visible()
        number = self.top + y - RULER
        if number >= len(lanes):
            return Strip.blank(width)
        return self._lane(lanes[number], number == min(self.state.lane, len(lanes) - 1)).adjust_cell_length(width)

    def _ruler(self) -> Strip:
        state, columns = self.state, self.columns
        text = [" "] * columns
        step = 14
        for column in range(0, columns, step):
            word = f"|{state.window.cycle(column, columns):,}"
            for place, letter in enumerate(word[: step - 1]):
                if column + place < columns:
                    text[column + place] = letter
        at = state.window.column(state.cursor, columns)
        if 0 <= at < columns:
            text[at] = "▼"
        return Strip([Segment(" " * self.gutter), Segment("".join(text), Style(dim=True))])

    def _lane(self, lane: Lane, current: bool) -> Strip:
        state = self.state
        key = (lane.key, state.seen.number, state.window, self.columns, current, state.cursor if current else None)
        key = (key, state.event, state.span, state.lit, self.monochrome, self.app.current_theme.dark)
        if key not in self._drawn:
            if len(self._drawn) > 2000:
                self._drawn.clear()
            self._drawn[key] = self._draw(lane, current)
        return self._drawn[key]

    def _draw(self, lane: Lane, current: bool) -> Strip:
        state, columns = self.state, self.columns
        made = cells(lane.slices, state.window, columns)
        heights = lane.slices.between == Look.AWAY and made.dense
        glyphs = [
            _HEIGHTS[min(7, int(share * 8))] if heights and look != Look.AWAY else APPEARANCES[Look(look)].glyph
            for look, share in zip(made.look.tolist(), made.share.tolist(), strict=True)
        ]
        styles = [self._style(Look(look)) for look in made.look.tolist()]
        for each in shown(lane.slices, state.window, columns, 4) if not made.dense else ():
            event = int(lane.slices.event[each.place])
            label = event_name(state.launch, event) if event >= 0 else ""
            if label and len(label) + 1 <= each.last - each.first:
                look = Look(int(lane.slices.look[each.place]))
                for place, letter in enumerate(label):
                    glyphs[each.first + place] = letter
                    styles[each.first + place] = self._style(look, label=True)
        if state.event is not None:
            for each in shown(lane.slices, state.window, columns, 0):
                if int(lane.slices.event[each.place]) == state.event:
                    for column in range(each.first, min(columns, max(each.last, each.first + 1))):
                        styles[column] += Style(reverse=True)
        at = state.window.column(state.cursor, columns)
        if current and 0 <= at < columns:
            styles[at] += Style(underline=True, bold=True)
        name = f"{'  ' * lane.depth}{lane.label}"[: self.gutter - 1]
        head = Segment(f"{name:<{self.gutter - 1}}{'>' if current else ' '}", Style(bold=current))
        return Strip([head, *(Segment(glyph, style) for glyph, style in zip(glyphs, styles, strict=True))]).simplify()

    def _style(self, look: Look, label: bool = False) -> Style:
        if self.monochrome:
            return Style(reverse=label)
        appearance = APPEARANCES[look]
        colour = appearance.dark if self.app.current_theme.dark else appearance.light
        if label and colour:
            return Style(color="#000000" if self.app.current_theme.dark else "#ffffff", bgcolor=colour)
        return Style(color=colour or None)

    # ---- mouse

    def place(self, x: int, y: int) -> tuple[int, int] | None:
        """The lane and the cycle at a place of the widget."""
        lanes = self.state.visible()
        number, column = self.top + y - RULER, x - self.gutter
        if y < RULER or number >= len(lanes) or column < 0:
            return None
        return number, self.state.window.cycle(column, self.columns)

    def region_of_lanes(self) -> Region:
        return Region(0, RULER, self.size.width, max(0, self.size.height - RULER))
