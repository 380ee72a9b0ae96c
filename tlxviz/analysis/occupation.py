"""Which event has each cycle of a track."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tlxviz.trace.model import LaunchTrace, TrackKind

Int64 = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Occupation:
    """Events by track and begin, with every cycle of a track given to at most one event: the one that began first.

    On a warp group's track events do not overlap, and an event keeps all its cycles. On an engine's track they do:
    there the intervals are the union.
    """

    row: Int64
    """Row of the event table."""
    track: Int64
    begin: Int64
    """SM cycle from which the event has the track for itself."""
    cycles: Int64
    """How long from there on; 0 for one that is covered altogether."""
    lower: Int64
    """First cycle of each track of the launch."""
    upper: Int64
    """Cycle at which each track of the launch ends."""

    def of_track(self, track: int) -> slice:
        """The positions that one track has in the columns."""
        first, last = np.searchsorted(self.track, [track, track + 1])
        return slice(int(first), int(last))

    def coverage(
        self, track: int, edges: NDArray[np.float64], weights: NDArray[Any] | None = None
    ) -> NDArray[np.float64]:
        """Occupied cycles of a track between neighbouring `edges` (SM cycles, ascending).

        Args:
            weights: 1 for each event (a position of the columns) that counts, 0 for the rest; None counts all.
        """
        part = self.of_track(track)
        begin, cycles = self.begin[part], self.cycles[part]
        if not len(begin):
            return np.zeros(len(edges) - 1)
        counted = cycles if weights is None else cycles * weights[part]
        before = np.concatenate(([0], np.cumsum(counted)))
        last = np.searchsorted(begin, edges, side="right") - 1
        inside = np.minimum(edges - begin[last], counted[last])
        return np.diff(np.where(last < 0, 0.0, before[last] + inside))


def occupation(launch: LaunchTrace) -> Occupation:
    """Give each cycle of each track to an event; events are cut at the ends of their track."""
    columns = launch.events
    track = columns["track"].astype(np.int64)
    begin, end = columns["begin"].astype(np.int64), columns["end"].astype(np.int64)
    lower, upper = _bounds(launch, track, end)
    # A stable sort of 16-bit integers is a radix sort: a tenth of the time.
    narrow = np.int16 if len(launch.tracks) < 2**15 else np.int64
    order = np.argsort(track.astype(narrow), kind="stable")
    track, begin, end = track[order], begin[order], end[order]
    late = np.flatnonzero((begin[1:] < begin[:-1]) & (track[1:] == track[:-1]))
    if len(late):  # on engines, what began first need not end first
        mixed = np.zeros(len(launch.tracks), bool)
        mixed[track[late]] = True
        some = np.flatnonzero(mixed[track])
        again = some[np.lexsort((end[some], begin[some], track[some]))]
        order[some], begin[some], end[some] = order[again], begin[again], end[again]
    begin = np.clip(begin, lower[track], upper[track])
    end = np.clip(end, begin, upper[track])
    if len(order):
        # Each track moves past the end of the one before, so that one running maximum serves them all.
        shift = track * (int(end.max()) - int(begin.min()) + 1)
        covered = np.maximum.accumulate(end + shift)
        begin[1:] = np.maximum(begin[1:], covered[:-1] - shift[1:])
    return Occupation(order.astype(np.int64), track, begin, np.maximum(end - begin, 0), lower, upper)


def longest_cta(launch: LaunchTrace, occupied: Occupation) -> int | None:
    """The traced CTA with a warp group that took longest: least of it is prologue. The first of equals."""
    spans = [
        (int(occupied.lower[row] - occupied.upper[row]), track.cta)
        for row, track in enumerate(launch.tracks)
        if track.kind == TrackKind.WARP_GROUP
    ]
    return min(spans)[1] if spans else None


def _bounds(launch: LaunchTrace, track: Int64, end: Int64) -> tuple[Int64, Int64]:
    """First and last cycle of each track; one that has no end (it was cut short) ends with its last event."""
    lower = np.array([row.begin for row in launch.tracks], dtype=np.int64)
    upper = np.array([row.end for row in launch.tracks], dtype=np.int64)
    last = lower.copy()
    np.maximum.at(last, track, end)
    upper = np.where(upper > lower, upper, last)
    return lower, upper
