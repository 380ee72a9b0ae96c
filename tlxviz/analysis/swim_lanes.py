"""A stretch of one CTA's time by track: what each does, when, and what its waits are for."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from tlxviz.analysis.chains import stretches
from tlxviz.analysis.cta_view import CtaView
from tlxviz.analysis.links import Activity
from tlxviz.trace.model import TrackKind
from tlxviz.trace.vocabulary import Work


@dataclass(frozen=True, slots=True)
class Piece:
    """An event, or a warp group's work between two; cut at the ends of the stretch."""

    row: int
    """Of `CtaView.launch`; -1 for work between events."""
    begin: int
    """SM cycle."""
    end: int
    """SM cycle."""
    work: Work
    why: Activity | None = None
    """Of a wait: what most of it is for, or HAND_OFF; None where nothing says."""
    doer: int = -1
    """Track of the warp group that does that, or issued it; -1 for none."""


@dataclass(frozen=True, slots=True)
class Lane:
    track: int
    pieces: tuple[Piece, ...]
    """In order of time. Those of an engine may overlap."""


@dataclass(frozen=True, slots=True)
class Arrow:
    """What let a wait go on, where that is in the stretch as well."""

    source: int
    """Row of an event, at whose end it begins."""
    target: int
    """Row of the wait."""
    at: int
    """SM cycle at which the source let it go on."""


def swim_lanes(
    view: CtaView, begin: int, end: int, ctas: Collection[int] = ()
) -> tuple[tuple[Lane, ...], tuple[Arrow, ...]]:
    """What warp groups and engines of some CTAs do from one SM cycle to another; those that do nothing have no lane.

    Args:
        view: A CTA, and those that are linked with it.
        begin: SM cycle.
        end: SM cycle.
        ctas: Of the view, such as those of a cluster; the view's own where none is given.
    """
    made, tracks = view.made, view.launch.tracks
    lanes: list[Lane] = []
    for track, row in enumerate(tracks):
        if row.cta not in (ctas or (view.cta,)) or row.kind is TrackKind.RANGE:
            continue
        there = view.occupied.of_track(track)
        inside = (made.begin[there] < end) & (made.end[there] > begin)
        rows: list[int] = (np.flatnonzero(inside) + there.start).tolist()
        if row.kind is TrackKind.WARP_GROUP:
            low, high = max(begin, int(made.lower[track])), min(end, int(made.upper[track]))
            if high > low:
                lanes.append(Lane(track, tuple(_of_group(view, rows, low, high))))
        elif rows:
            lanes.append(
                Lane(
                    track,
                    tuple(
                        Piece(each, max(begin, int(made.begin[each])), min(end, int(made.end[each])), Work.BUSY)
                        for each in rows
                    ),
                )
            )
    drawn = {piece.row for lane in lanes for piece in lane.pieces if piece.row >= 0}
    arrows = [
        Arrow(int(made.cause[row]), row, int(made.since[row]))
        for lane in lanes
        for piece in lane.pieces
        if (row := piece.row) >= 0
        and made.on_group[row]
        and int(made.cause[row]) in drawn
        and begin <= int(made.since[row]) <= end
    ]
    return tuple(lanes), tuple(arrows)


def _of_group(view: CtaView, rows: list[int], begin: int, end: int) -> list[Piece]:
    made = view.made
    found: list[Piece] = []
    now = begin
    for row in rows:
        low, high = max(begin, int(made.begin[row])), min(end, int(made.end[row]))
        if low > now:
            found.append(Piece(-1, now, low, Work.BUSY))
        work = Work(int(made.work[row]))
        why, doer = _why(view, row) if work is Work.WAIT else (None, -1)
        if high > low:
            found.append(Piece(row, low, high, work, why, doer))
        now = max(now, high)
    if end > now:
        found.append(Piece(-1, now, end, Work.BUSY))
    return found


def _why(view: CtaView, row: int) -> tuple[Activity | None, int]:
    """What most of a wait is for, and the track of the warp group behind that."""
    made = view.made
    sums: dict[tuple[Activity, int], int] = {}
    for each in stretches(made, row, int(made.begin[row])):
        key = each.activity, view.doer_track(each.row)
        sums[key] = sums.get(key, 0) + each.end - each.begin
    return max(sums, key=lambda key: sums[key]) if sums else (None, -1)
