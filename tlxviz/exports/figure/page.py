"""Where everything stands on a figure, in inches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tlxviz.exports.figure.lanes import Lane, ctas_of
from tlxviz.exports.figure.wording import width

WIDTH = 7.0
"""Of a page's text."""
TITLE, TEXT = 9.0, 7.0
"""Points of fonts."""
POINTS = 72.0
"""In an inch."""

_RIGHT = 0.3
_LANE = 0.2
_LEVEL = 0.14
"""Of a lane with several levels, each."""
_GAP = 0.07
_CTA = 0.18
_BRACKETS = 0.26
_ABOVE, _BELOW = 0.78, 0.62
"""Room for titles and times in ns; for cycles and the legend."""
_MOST_LABEL = 1.6


@dataclass(frozen=True, slots=True)
class Row:
    """A lane, in inches from the top of the axes."""

    top: float
    level: float
    """Height of each level."""
    bottom: float


@dataclass(frozen=True, slots=True)
class Page:
    left: float
    """Of the axes."""
    inside: float
    """Width of the axes."""
    body: float
    """Height of the axes."""
    height: float
    """Of the figure."""
    bottom: float
    """Of the axes, from the bottom of the figure."""
    brackets: float
    """Height of the row of brackets; 0 without."""
    rows: tuple[Row, ...]
    headings: tuple[tuple[int, float], ...]
    """CTAs, where there are several, and where their names stand."""


def page(shown: Sequence[Lane], *, bracketed: bool) -> Page:
    """The layout of lanes from the top down, the brackets above them."""
    widest = max((width(lane.label, TEXT + 1) for lane in shown), default=0.0) / POINTS
    left = 0.2 + min(max(widest, 0.65), _MOST_LABEL)
    brackets = _BRACKETS if bracketed else 0.0
    y = brackets + _GAP
    rows: list[Row] = []
    headings: list[tuple[int, float]] = []
    several = len(ctas_of(shown)) > 1
    for number, lane in enumerate(shown):
        if several and (not number or shown[number - 1].cta != lane.cta):
            headings.append((lane.cta, y + _CTA / 2))
            y += _CTA
        level = _LEVEL if lane.levels > 1 else _LANE
        rows.append(Row(y, level, y + level * lane.levels))
        y = rows[-1].bottom + _GAP
    body = max(y, brackets + 0.5)
    return Page(
        left,
        WIDTH - left - _RIGHT,
        body,
        _ABOVE + body + _BELOW,
        _BELOW,
        brackets,
        tuple(rows),
        tuple(headings),
    )
