"""Arrows of the selected event: what released it and what it releases, and along which data come and go."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from tlxviz.analysis.flow import DataFlow, FlowKind
from tlxviz.trace.model import LaunchTrace, TrackKind
from tlxviz.tui.draw import Paint
from tlxviz.tui.window import Window

_MOST = 24
"""Arrows to what an event releases, at most: of one that releases more, the first. As many for data."""
_NEAR = 12
"""Columns from a release to what it releases, up to which a line is drawn through."""


@dataclass(frozen=True, slots=True)
class Arrow:
    """From the end of an event to the one that it let begin or go on, or that uses its data."""

    source: int
    """Row of the launch's events."""
    target: int
    left: int
    """SM cycle at which the source ended."""
    arrived: int
    """SM cycle at which the target begins, or at which the source ends in the middle of a wait."""
    paint: Paint
    crosses: bool = False
    """Whether it goes from one CTA to another."""

    @property
    def dashed(self) -> bool:
        """Whether data go along it: what releases is solid."""
        return bool(self.paint & Paint.DATA)


def arrows(launch: LaunchTrace, event: int, flow: DataFlow | None = None) -> list[Arrow]:
    """The arrows of an event: those of data first, so that releases are drawn on top.

    Args:
        flow: None as long as nobody knows it.
    """
    by = launch.events["released_by"]
    made = list(_data(launch, event, flow)) if flow is not None else []
    if by[event] >= 0:
        made.append(_arrow(launch, int(by[event]), event, Paint.CAUSE))
    effects = np.flatnonzero(by == event)[:_MOST].tolist()
    return made + [_arrow(launch, event, each, Paint.EFFECT) for each in effects]


def _data(launch: LaunchTrace, event: int, flow: DataFlow) -> Iterator[Arrow]:
    for source, kind in flow.into(event)[:_MOST]:
        yield _arrow(launch, source, event, Paint.DATA if kind is FlowKind.FILLED else Paint.CAUSE)
    for target, kind in flow.out_of(event)[:_MOST]:
        yield _arrow(launch, event, target, Paint.DATA if kind is FlowKind.FILLED else Paint.EFFECT)


def _arrow(launch: LaunchTrace, source: int, target: int, paint: Paint) -> Arrow:
    events = launch.events
    left, begin, end = int(events["end"][source]), int(events["begin"][target]), int(events["end"][target])
    on_engine = launch.tracks[int(events["track"][target])].kind is not TrackKind.WARP_GROUP
    arrived = begin if on_engine else max(begin, min(left, end))
    ctas = {launch.tracks[int(events["track"][each])].cta for each in (source, target)}
    return Arrow(source, target, left, arrived, paint, crosses=len(ctas) > 1)


@dataclass(frozen=True, slots=True)
class _Strokes:
    """The glyphs of one kind of arrow."""

    upright: str
    level: str
    down: str
    up: str
    head: str
    corners: str
    """From the left or to the right: down, up; from above, from below."""


_SOLID = _Strokes("│", "─", "▼", "▲", "▶", "╮╯╰╭")
_DASHED = _Strokes("┆", "╌", "▽", "△", "▷", "╮╯╰╭")
_DOUBLE = _Strokes("║", "═", "▼", "▲", "▶", "╗╝╚╔")

Pieces = dict[int, list[tuple[int, str, Paint]]]
"""By line: column, glyph and colour of each cell of an arrow."""


def pieces(found: list[Arrow], lines: Mapping[int, int], window: Window, columns: int) -> Pieces:
    """Arrows as glyphs between the lines of their events.

    Args:
        lines: The line of each event; without those that no lane shows. Lines need not be on screen.
    """
    made: Pieces = {}
    for each in found:
        source, target = lines.get(each.source), lines.get(each.target)
        if source is None or target is None or source == target:
            continue
        strokes = _DASHED if each.dashed else _DOUBLE if each.crosses else _SOLID
        at = window.column(each.left - 1, columns)
        to = window.column(each.arrived, columns)
        down = target > source
        _put(made, source, at, strokes.corners[0 if down else 1], each.paint, columns)
        for line in range(min(source, target) + 1, max(source, target)):
            _put(made, line, at, strokes.upright, each.paint, columns)
        if to - at <= 1:
            _put(made, target, at, strokes.down if down else strokes.up, each.paint, columns)
            continue
        _put(made, target, at, strokes.corners[2 if down else 3], each.paint, columns)
        # the cells between are of the target's own lane, and are left to be seen where there are many
        near = range(at + 1, to - 1)
        for column in near if len(near) <= _NEAR else (*near[:1], *near[-2:]):
            _put(made, target, column, strokes.level, each.paint, columns)
        _put(made, target, to - 1, strokes.head, each.paint, columns)
    return made


def _put(made: Pieces, line: int, column: int, glyph: str, paint: Paint, columns: int) -> None:
    if 0 <= column < columns:
        made.setdefault(line, []).append((column, glyph, paint))
