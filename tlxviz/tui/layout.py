"""Which lane stands on which line of the timeline, and which columns are names and which are time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tlxviz.tui.lane import Lane
from tlxviz.tui.state import State

RULER = 2
"""Lines above the lanes."""
SEPARATOR = -1
"""In place of a lane's number: the line below the pinned ones."""
NONE = -2


@dataclass(frozen=True, slots=True)
class Layout:
    """What all lines of a picture have in common, worked out once a picture."""

    lanes: Sequence[Lane] = ()
    """All that are not folded away; those that are pinned are first."""
    top: int = 0
    """The first lane that is on screen, of those that are not pinned."""
    width: int = 0
    height: int = 0
    names: int = 0
    """Columns for names of lanes."""
    columns: int = 1
    """Columns for time."""
    pinned: int = 0
    """How many lanes stay on top."""
    lane: int = -1
    """The lane under the cursor."""
    cursor: int = -1
    """Its column; -1 where it is not on screen."""

    @property
    def room(self) -> int:
        """Lines for lanes that are not pinned."""
        return max(1, self.height - RULER - self._above)

    @property
    def hidden(self) -> str:
        """How many lanes are above and below those on screen: `↑3 ↓4`; empty if none is."""
        below = len(self.lanes) - self.pinned - self.top - self.room
        return " ".join(f"{sign}{count}" for sign, count in (("↑", self.top), ("↓", below)) if count > 0)

    @property
    def _above(self) -> int:
        return self.pinned + 1 if self.pinned else 0

    def lane_at(self, y: int) -> int:
        """The lane that a line of the widget shows; less than 0 for none."""
        line = y - RULER
        if line < 0:
            return NONE
        if line < self.pinned:
            return line
        if self.pinned and line == self.pinned:
            return SEPARATOR
        number = self.top + line - (1 if self.pinned else 0)
        return number if number < len(self.lanes) else NONE

    def line_of(self, number: int) -> int:
        """The line on which a lane is, or would be if the widget were higher."""
        if number < self.pinned:
            return RULER + number
        return RULER + number - self.top + (1 if self.pinned else 0)


def _last_of(lanes: Sequence[Lane], number: int) -> int:
    """The last lane that goes with one: of those in it, if it is a CTA or a cluster, else itself."""
    if not 0 <= number < len(lanes) or lanes[number].level:
        return number
    later = range(number + 1, len(lanes))
    return next((each for each in later if lanes[each].depth <= lanes[number].depth), len(lanes)) - 1


def laid_out(state: State, size: tuple[int, int], before: Layout) -> Layout:
    """The lines and columns of what is looked at now.

    Args:
        state: What is looked at.
        size: Columns and lines of the widget.
        before: The last layout; its lanes stay where they are as long as the lane under the cursor is on screen, and
            also where the wheel has moved that off the screen, until the cursor goes to another lane.
    """
    (width, height), lanes = size, state.visible()
    names = min(20, max(5, width // 5))
    columns = max(1, width - names)
    keys = set(state.pinned)
    pinned = next((number for number, lane in enumerate(lanes) if lane.key not in keys), len(lanes))
    pinned = min(pinned, max(0, height - RULER - 2))
    lane = min(state.lane, max(0, len(lanes) - 1))
    at = state.window.column(state.cursor, columns)
    at = at if 0 <= at < columns else -1
    top, room = before.top, Layout(height=height, pinned=pinned).room
    if (before.lane, before.room) != (lane, room) and lane >= pinned:
        top = min(max(top, _last_of(lanes, lane) - pinned - room + 1), lane - pinned)
    top = max(0, min(top, len(lanes) - pinned - room))
    return Layout(lanes, top, width, height, names, columns, pinned, lane, at)
