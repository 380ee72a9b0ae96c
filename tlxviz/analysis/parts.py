"""A launch in parts: CTAs that nothing links with the others, so few that their events stay in a processor's cache.

What is found out event by event is found out for one part after the other, and added up. A part is a launch of its own,
with its events in the order that is most asked for: by track and time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tlxviz.analysis.independence import independent_ctas
from tlxviz.analysis.occupation import Int64, Occupation, bounds, by_begin, cover
from tlxviz.analysis.survey import Survey, blocks, survey
from tlxviz.trace.model import Events, LaunchTrace, TrackKind

_ENOUGH = 1 << 15
"""Events of a part: all that is known of them stays in a second-level cache, and calls of NumPy cost little beside."""
_KINDS = list(TrackKind)
_KEPT = ("begin", "end", "site", "outer", "inner")
"""Columns that nearly everything asks for."""
_INDICES = frozenset({"track", "site", "released_by"})
_NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True, eq=False)
class Shortest:
    """SM cycles of the shortest event by site, with one entry more for site -1."""

    copy: Int64
    """Of its copies."""
    issue: Int64
    """Of the issues of MMAs at the same line, whichever warp group runs it."""


class Part:
    """Some CTAs of a launch, as a launch of their own."""

    def __init__(self, table: _Table, low: int, high: int) -> None:
        launch, ends = table.launch, table.ends
        self.seen = table.seen
        """What has been seen of all the launch."""
        self.shortest = table.shortest
        self.tracks = table.tracks[low:high]
        """Of each of its tracks, which stand by kind: its number in the whole launch."""
        self._span = slice(int(ends[low]), int(ends[high]))
        self._lives = table.lower[self.tracks], table.upper[self.tracks]
        self._counts = np.diff(ends[low : high + 1])
        self.launch = replace(
            launch,
            tracks=[launch.tracks[each] for each in self.tracks.tolist()],
            events=Events(_Columns(table, self._span, self._counts)),
        )
        """The launch with these tracks and their events alone, by track and begin. `released_by` counts in these."""
        kinds = np.repeat([_KINDS.index(each.kind) for each in self.launch.tracks], self._counts)
        stops: list[int] = np.searchsorted(kinds, np.arange(len(_KINDS) + 1)).tolist()
        self.on = {each: slice(stops[index], stops[index + 1]) for index, each in enumerate(_KINDS)}
        """Where the events on tracks of each kind stand."""
        self.used = np.flatnonzero(self._counts)
        """Tracks with events."""
        self.heads = (np.cumsum(self._counts) - self._counts)[self.used]
        """Where the events of each of these begin."""
        self._table = table

    @cached_property
    def rows(self) -> Int64:
        """Of each event, its row in the table of the whole launch."""
        return self._table.rows[self._span].astype(np.int64)

    @cached_property
    def occupied(self) -> Occupation:
        """Of this launch, with its events as they stand."""
        events, track = self.launch.events, self.launch.events["track"]
        begin, cycles = cover(track, events["begin"], events["end"], *self._lives)
        return Occupation(np.arange(len(track)), track, begin, cycles, *self._lives)

    def spread(self, of_tracks: Int64) -> Int64:
        """What each track has, for each event."""
        return np.repeat(of_tracks, self._counts)

    def places(self, there: slice) -> Int64:
        """Those of a slice of the events, such as `on` has."""
        return self.occupied.row[there]

    def by_end(self) -> LaunchTrace:
        """The launch of this part with its events in the order that a trace has."""
        return replace(self.launch, events=self.launch.events.take(np.argsort(self.rows)))


class Parts:
    """The parts of a launch, as small as is of use and as its CTAs allow. Each is made anew when it is asked for."""

    def __init__(self, launch: LaunchTrace, *, one: bool = False, enough: int = _ENOUGH) -> None:
        """
        Args:
            one: Everything in one part.
            enough: Events that make a part worth having.
        """
        seen = survey(launch)
        number = np.zeros(len(launch.tracks), np.int64) if one else independent_ctas(launch, seen, enough)
        self._table = _Table(launch, seen, number)
        self.lower, self.upper = self._table.lower, self._table.upper
        """First and last cycle of each track of the launch."""
        self.of_track: list[int] = number.tolist()
        """The number of the part that each track is in."""

    def __len__(self) -> int:
        return len(self._table.edges) - 1

    def __getitem__(self, number: int) -> Part:
        return Part(self._table, *self._table.edges[number : number + 2])


class _Table:
    """The events of a launch by part, kind of track, track and begin."""

    def __init__(self, launch: LaunchTrace, seen: Survey, number: Int64) -> None:
        self.launch, self.seen = launch, seen
        self.lower, self.upper = bounds(launch, seen.last)
        kind = np.array([_KINDS.index(each.kind) for each in launch.tracks], np.int64)
        self.tracks = np.lexsort((kind, number))
        self.ends = np.concatenate(([0], np.cumsum(seen.counts[self.tracks])))
        """Where the events of each of these tracks begin, and where those of the last one end."""
        self.edges: list[int] = np.searchsorted(number[self.tracks], np.arange(int(number.max(initial=0)) + 2)).tolist()
        """Which of the tracks each part has."""
        size = len(launch.events)
        narrow = size == 0 or max(abs(int(seen.first.min())), int(seen.last.max())) < 2**31 > size
        # half the bytes: memory that nobody has used yet costs more than arithmetic
        self.type = np.int32 if narrow else np.int64
        names = (*_KEPT, "released_by", "row")
        # one array: the larger it is, the larger the pages that it is given
        self.columns = dict(zip(names, np.empty((len(names), size), self.type), strict=True))
        self.rows = self.columns["row"]
        place = np.full(size + 1, -1, self.type)
        self._sort(place)
        self.shortest = Shortest(*(np.full(len(launch.sites) + 1, _NEVER) for _ in range(2)))
        self._by_begin(place)
        self._by_line(self.shortest.issue)
        for block in blocks(size):
            released = place[launch.events["released_by"][block]]
            self.columns["released_by"][place[:-1][block].astype(np.intp)] = released

    def _sort(self, place: NDArray[Any]) -> None:
        """Fills the columns block by block, so that nothing is fetched from afar. `place` is that of each row."""
        events, size = self.launch.events, len(self.tracks)
        rank = np.empty(size, np.int32)
        rank[self.tracks] = np.arange(size)
        following = self.ends[:-1].copy()
        for block in blocks(len(self.rows)):
            ranks = rank[events["track"][block].astype(np.intp)]
            order = np.argsort(_narrow(ranks - ranks.min()), kind="stable")
            counts = np.bincount(ranks, minlength=size)
            there = np.arange(len(order)) + np.repeat(following - (np.cumsum(counts) - counts), counts)
            following += counts
            for name in _KEPT:
                self.columns[name][there] = events[name][block].astype(self.type)[order]
            order += block.start
            self.rows[there] = order.astype(self.type)
            place[order] = there.astype(self.type)

    def _by_begin(self, place: NDArray[Any]) -> None:
        for low, high in zip(self.edges[:-1], self.edges[1:], strict=True):
            first = int(self.ends[low])
            part = slice(first, int(self.ends[high]))
            track = np.repeat(np.arange(high - low), np.diff(self.ends[low : high + 1]))
            some, again = by_begin(track, self.columns["begin"][part], self.columns["end"][part])
            if len(some):
                for column in (self.rows, *(self.columns[name] for name in _KEPT)):
                    column[part][some] = column[part][again]
                place[self.rows[part][some]] = (some + first).astype(self.type)
            self._shortest(low, high)

    def _shortest(self, low: int, high: int) -> None:
        """Notes the shortest copies and issues of MMAs of a part."""
        own: list[int] = self.tracks[low:high].tolist()
        kinds = [self.launch.tracks[each].kind for each in own]
        stops = [self.ends[low + kinds.count(TrackKind.WARP_GROUP)]]
        stops.append(self.ends[low + sum(each in (TrackKind.WARP_GROUP, TrackKind.TMA) for each in kinds)])
        mma = np.array([*(each.kind == "mma" for each in self.launch.sites), False])
        begin, end, site = (self.columns[name] for name in ("begin", "end", "site"))
        issues = np.flatnonzero(mma[site[self.ends[low] : stops[0]].astype(np.intp)]) + self.ends[low]
        for rows, least in ((issues, self.shortest.issue), (slice(*stops), self.shortest.copy)):
            np.minimum.at(least, site[rows].astype(np.intp), end[rows].astype(np.int64) - begin[rows])

    def _by_line(self, issue: Int64) -> None:
        lines: dict[tuple[str, int], int] = {}
        line = np.array([lines.setdefault((each.file, each.line), len(lines)) for each in self.launch.sites], np.intp)
        least = np.full(len(lines), _NEVER)
        np.minimum.at(least, line, issue[:-1])
        issue[:-1] = least[line]


def _narrow(numbers: NDArray[np.int32]) -> NDArray[Any]:
    """Numbers from 0 in the fewest bytes: of up to two a stable sort is a radix sort, and one sorts at once."""
    most = int(numbers.max())
    return numbers.astype(np.uint8 if most < 2**8 else np.uint16 if most < 2**16 else np.int32)


class _Columns(Mapping[str, NDArray[Any]]):
    """The columns of a part's events. What indexes something is as wide as NumPy wants indices to be, and kept."""

    def __init__(self, table: _Table, span: slice, counts: Int64) -> None:
        self._table, self._span, self._counts = table, span, counts
        self._indices: dict[str, Int64] = {}

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name not in _INDICES:
            return self._taken(name)
        if name not in self._indices:
            self._indices[name] = self._taken(name)
        return self._indices[name]

    def _taken(self, name: str) -> NDArray[Any]:
        if name == "track":
            return np.repeat(np.arange(len(self._counts)), self._counts)
        if name == "released_by":
            return np.maximum(self._table.columns[name][self._span].astype(np.int64) - self._span.start, -1)
        if name in _KEPT:
            column = self._table.columns[name][self._span]
            return column if name in ("outer", "inner") else column.astype(np.int64)
        return self._table.launch.events[name][self._table.rows[self._span].astype(np.intp)]

    def __iter__(self) -> Iterator[str]:
        return iter(self._table.launch.events.columns)

    def __len__(self) -> int:
        return len(self._table.launch.events.columns)
