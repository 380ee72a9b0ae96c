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
            weights: 1 for each of the track's events (as `of_track` has them) that counts, 0 for the rest; None counts
                all.
        """
        part = self.of_track(track)
        begin, cycles = self.begin[part], self.cycles[part]
        if not len(begin):
            return np.zeros(len(edges) - 1)
        counted = cycles if weights is None else cycles * weights
        before = np.concatenate(([0], np.cumsum(counted)))
        last = np.searchsorted(begin, edges, side="right") - 1
        inside = np.minimum(edges - begin[last], counted[last])
        return np.diff(np.where(last < 0, 0.0, before[last] + inside))


def occupation(launch: LaunchTrace) -> Occupation:
    """Give each cycle of each track to an event; events are cut at the ends of their track."""
    columns = launch.events
    track = columns["track"].astype(np.int64)
    begin, end = columns["begin"].astype(np.int64), columns["end"].astype(np.int64)
    last = np.array([row.begin for row in launch.tracks], np.int64)
    np.maximum.at(last, track, end)
    lower, upper = bounds(launch, last)
    # A stable sort of 16-bit integers is a radix sort: a tenth of the time.
    narrow = np.int16 if len(launch.tracks) < 2**15 else np.int64
    order = np.argsort(track.astype(narrow), kind="stable")
    track, begin, end = track[order], begin[order], end[order]
    some, again = by_begin(track, begin, end)
    order[some], begin[some], end[some] = order[again], begin[again], end[again]
    return Occupation(order, track, *cover(track, begin, end, lower, upper), lower, upper)


def longest_cta(launch: LaunchTrace, lower: Int64, upper: Int64) -> int | None:
    """The traced CTA with a warp group that took longest: least of it is prologue. The first of equals.

    Args:
        lower: First cycle of each track.
        upper: Cycle at which each ends.
    """
    spans = [
        (int(lower[row] - upper[row]), track.cta)
        for row, track in enumerate(launch.tracks)
        if track.kind == TrackKind.WARP_GROUP
    ]
    return min(spans)[1] if spans else None


def bounds(launch: LaunchTrace, last: Int64) -> tuple[Int64, Int64]:
    """First and last cycle of each track; one that has no end (it was cut short) ends with its last event."""
    lower = np.array([row.begin for row in launch.tracks], np.int64)
    upper = np.array([row.end for row in launch.tracks], np.int64)
    return lower, np.where(upper > lower, upper, last)


def by_begin(track: Int64, begin: NDArray[Any], end: NDArray[Any]) -> tuple[Int64, Int64]:
    """Of events that stand by track and end: which places have to change for them to stand by begin, and what of.

    Only events of engines have to move: there, what began first need not end first.
    """
    late = np.flatnonzero(begin[1:] < begin[:-1])
    late = late[track[late] == track[late + 1]]
    if not len(late):
        return late, late
    mixed = np.unique(track[late])
    firsts: list[int] = np.searchsorted(track, mixed).tolist()
    ends: list[int] = np.searchsorted(track, mixed, side="right").tolist()
    some = np.concatenate([np.arange(first, end) for first, end in zip(firsts, ends, strict=True)])
    return some, some[np.lexsort((end[some], begin[some], track[some]))]


def cover(track: Int64, begin: Int64, end: Int64, lower: Int64, upper: Int64) -> tuple[Int64, Int64]:
    """When each event has its track for itself, and how long. Events stand by track and begin; none is changed."""
    if not len(track):
        return begin, end
    starts = np.concatenate(([0], np.flatnonzero(track[1:] != track[:-1]) + 1))
    ends = np.append(starts[1:], len(track)) - 1
    # most tracks are those of warp groups, and have nothing to be cut
    overlapping = np.zeros(len(lower), bool)
    early = np.flatnonzero(begin[1:] < end[:-1])
    overlapping[track[early[track[early] == track[early + 1]]]] = True
    overlapping[track[starts[begin[starts] < lower[track[starts]]]]] = True
    overlapping[track[ends[end[ends] > upper[track[ends]]]]] = True
    cycles = end - begin
    some = np.flatnonzero(np.repeat(overlapping[track[starts]], ends + 1 - starts))
    if len(some):
        of = track[some]
        first = np.clip(begin[some], lower[of], upper[of])
        last = np.clip(end[some], first, upper[of])
        # Each track moves past the end of the one before, so that one running maximum serves them all.
        shift = of * (int(last.max()) - int(first.min()) + 1)
        covered = np.maximum.accumulate(last + shift)
        first[1:] = np.maximum(first[1:], covered[:-1] - shift[1:])
        begin = begin.copy()
        begin[some], cycles[some] = first, np.maximum(last - first, 0)
    return begin, cycles
