"""A lane as a line of cells: what prevails in each column, and how much of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tlxviz.tui.lanes import Slices
from tlxviz.tui.looks import Look
from tlxviz.tui.window import Window

_FIRST_OF_EQUALS = np.array(
    [Look.WAIT, *(look for look in Look if look not in (Look.WAIT, Look.AWAY)), Look.AWAY], np.int8
)
"""Of two that take as long, the first is shown: waiting is what the timeline is there to show."""


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    look: NDArray[np.int8]
    """The `Look` that prevails in each column."""
    share: NDArray[np.float64]
    """Of the column's time that it takes."""
    dense: bool
    """Whether there are more slices than columns, so that columns stand for several."""


def cells(slices: Slices, window: Window, columns: int) -> Cells:
    """What prevails in each column. A slice that takes less than a column counts as much as it takes."""
    edges = window.edges(columns)
    widths = np.diff(edges)
    found = slices.coverage(edges)[_FIRST_OF_EQUALS]
    found[-1] = np.maximum(widths - found[:-1].sum(axis=0), 0)
    best = np.argmax(found, axis=0)
    look = _FIRST_OF_EQUALS[best]
    share = found[best, np.arange(columns)] / np.maximum(widths, 1)
    for column in np.flatnonzero(widths == 0).tolist():  # fewer cycles than columns: the cycle that it stands in
        look[column], share[column] = look[column - 1] if column else Look.AWAY, 1.0
    first, last = np.searchsorted(slices.begin, (window.begin, window.end))
    if len(slices):
        # what is there and does not prevail anywhere near is not to be lost: an engine's short work in an idle column
        own = np.arange(first, last) if last - first <= columns else np.empty(0, np.int64)
        at = np.clip((slices.begin[own] - window.begin) * columns // window.cycles, 0, columns - 1)
        idle = look[at] == Look.AWAY
        look[at[idle]] = slices.look[own[idle]]
        share[at[idle]] = np.maximum(share[at[idle]], 0.01)
    return Cells(look, share, bool(last - first > columns))


@dataclass(frozen=True, slots=True)
class Shown:
    """A slice in the columns that it takes."""

    place: int
    """In the lane."""
    first: int
    """Column."""
    last: int
    """The column behind it; at least `first` + 1."""


def shown(slices: Slices, window: Window, columns: int, fewest: int) -> list[Shown]:
    """The slices on screen that are at least `fewest` columns wide."""
    if not len(slices):
        return []
    cycles = window.cycles * fewest // columns
    first = max(0, int(np.searchsorted(slices.begin, window.begin, side="right")) - 1)
    last = int(np.searchsorted(slices.begin, window.end))
    begin, end = np.maximum(slices.begin[first:last], window.begin), np.minimum(slices.end[first:last], window.end)
    wide = np.flatnonzero(end - begin >= max(1, cycles))
    made: list[Shown] = []
    for place in wide.tolist():
        left, right = (window.column(int(each[place]), columns) for each in (begin, end))
        if right - left >= fewest:
            made.append(Shown(first + place, left, right))
    return made
