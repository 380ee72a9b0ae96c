"""The lanes of a figure: what is drawn of each track, whether its slices are wide enough or not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tlxviz.analysis.occupation import Occupation, bounds, occupation
from tlxviz.exports.figure.looks import Look, look_of
from tlxviz.exports.lanes import sublanes
from tlxviz.exports.model import Cut
from tlxviz.trace.model import LaunchTrace, TrackKind

Int64 = NDArray[np.int64]
Float = NDArray[np.float64]

COLUMNS = 900
"""Stretches of equal length into which a lane with more events is divided: less than a pixel of a page's width."""
_MOST_LEVELS = 6
_ORDER = (TrackKind.WARP_GROUP, TrackKind.RANGE, TrackKind.TMA, TrackKind.TENSOR_CORE, TrackKind.LAUNCH_CONTROL)


@dataclass(frozen=True, slots=True, eq=False)
class Boxes:
    """Slices of a lane, in the order in which they are drawn."""

    begin: Float
    """SM cycle."""
    end: Float
    look: NDArray[np.int8]
    level: NDArray[np.int64]
    """Row within the lane, from the top."""
    event: Int64
    """Row of the event table; -1 for one that is none, or several."""


@dataclass(frozen=True, slots=True, eq=False)
class Lane:
    label: str
    cta: int
    track: int
    """Position among the launch's tracks."""
    boxes: Boxes
    levels: int
    """Rows in it: more than one where the work of an engine overlaps."""
    coarse: bool
    """Whether a box is not an event but what there is most of in a column."""


def lanes(cut: Cut) -> list[Lane]:
    """CTA after CTA: warp groups, what their authors named, loads and stores of TMA, the tensor core."""
    launch = cut.launch
    order = sorted(
        range(len(launch.tracks)), key=lambda row: (launch.tracks[row].cta, _ORDER.index(launch.tracks[row].kind), row)
    )
    if not order:
        return []
    occupied = occupation(launch)
    upper = bounds(launch, occupied.upper)[1]
    looks = _looks(launch)
    return [
        lane
        for row in order
        for lane in _Maker(cut, occupied, looks, row, int(upper[row])).made()
        if lane.boxes.begin.size or launch.tracks[row].kind is not TrackKind.RANGE
    ]


def _looks(launch: LaunchTrace) -> NDArray[np.int8]:
    """A `Look` for each event."""
    kinds = [*(site.kind for site in launch.sites), ""]
    table = np.array([[look_of(kind, track) for kind in kinds] for track in _ORDER], np.int8)
    of_track = np.array([_ORDER.index(track.kind) for track in launch.tracks], np.intp)
    return table[of_track[launch.events["track"]], launch.events["site"]]


class _Maker:
    """Makes what one track shows."""

    def __init__(self, cut: Cut, occupied: Occupation, looks: NDArray[np.int8], row: int, upper: int) -> None:
        self._cut = cut
        self._occupied = occupied
        self._looks = looks
        self._row = row
        self._track = cut.launch.tracks[row]
        self._life = (max(self._track.begin, cut.begin), min(upper, cut.end))

    def made(self) -> Iterator[Lane]:
        track = self._track
        rows = self._occupied.row[self._occupied.of_track(self._row)]
        if track.kind is not TrackKind.TMA:
            yield self._lane(rows, track.name)
            return
        store = self._looks[rows] == Look.STORE
        if bool((~store).any()) or not bool(store.any()):
            yield self._lane(rows[~store], f"{track.name} loads" if store.any() or len(rows) else track.name)
        if bool(store.any()):
            yield self._lane(rows[store], f"{track.name} stores")

    def _lane(self, rows: Int64, label: str) -> Lane:
        track = self._track
        boxes, coarse = (self._columns(rows), True) if len(rows) > COLUMNS else (self._slices(rows), False)
        count = int(boxes.level.max(initial=0)) + 1
        return Lane(label, track.cta, self._row, boxes, count, coarse)

    def _slices(self, rows: Int64) -> Boxes:
        """Each event; below those of a warp group its life, which is what it is busy between them."""
        events, cut = self._cut.launch.events, self._cut
        first_cycle, last_cycle = (np.clip(events[name][rows], cut.begin, cut.end) for name in ("begin", "end"))
        begin, end = first_cycle.astype(np.float64), last_cycle.astype(np.float64)
        level = np.zeros(len(rows), np.int64)
        if self._track.kind is not TrackKind.WARP_GROUP:
            level = sublanes(level, first_cycle, last_cycle).astype(np.int64)
        if level.max(initial=0) >= _MOST_LEVELS:
            # what there is no room for stands where each box ends with the next one's begin
            end = np.minimum(end, np.append(begin[1:], np.inf))
            level = np.zeros(len(rows), np.int64)
        made = Boxes(begin, end, self._looks[rows], level, rows)
        first, last = self._life
        if self._track.kind is not TrackKind.WARP_GROUP or last <= first:
            return made
        return Boxes(
            np.concatenate(([first], made.begin)),
            np.concatenate(([last], made.end)),
            np.concatenate(([Look.BUSY], made.look)).astype(np.int8),
            np.concatenate(([0], made.level)),
            np.concatenate(([-1], made.event)),
        )

    def _columns(self, rows: Int64) -> Boxes:
        """What there is most of in each column; neighbours that show the same are one box."""
        edges = np.linspace(self._cut.begin, self._cut.end, COLUMNS + 1)
        shown = sorted(set(self._looks[rows].tolist()))
        look = self._looks[self._occupied.row[self._occupied.of_track(self._row)]]
        of_group = self._track.kind is TrackKind.WARP_GROUP
        parts = [self._occupied.coverage(self._row, edges, look == each) for each in shown]
        alive = np.diff(np.clip(edges, *self._life)) if self._life[0] < self._life[1] else np.zeros(COLUMNS)
        taken = np.sum(parts, axis=0)
        if of_group:
            parts.append(np.maximum(alive - taken, 0))
            shown.append(int(Look.BUSY))
            taken = alive
        parts.append(np.diff(edges) - taken)
        shown.append(-1)
        most = np.array(shown)[np.argmax(np.stack(parts), axis=0)]
        starts = np.concatenate(([0], np.flatnonzero(np.diff(most)) + 1))
        begin, end, found = edges[starts], edges[np.append(starts[1:], COLUMNS)], most[starts]
        kept = found >= 0
        count = int(kept.sum())
        return Boxes(
            begin[kept], end[kept], found[kept].astype(np.int8), np.zeros(count, np.int64), np.full(count, -1, np.int64)
        )


def ctas_of(shown: Sequence[Lane]) -> list[int]:
    """In the order of the lanes."""
    return list(dict.fromkeys(lane.cta for lane in shown))
