"""The rows of the timeline: what stands in each, as slices in order of time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tlxviz.trace.model import LaunchTrace, TrackKind
from tlxviz.trace.vocabulary import Work, work_of_events
from tlxviz.tui.looks import Look

Int64 = NDArray[np.int64]


@dataclass(eq=False)
class Slices:
    """Slices of a lane, none of which begins before the last one has ended.

    Attributes:
        begin, end: SM cycles, ascending.
        look: A `Look` for each.
        event: The row of the launch's events that each is; -1 for none.
        between: What the lane shows between them, within `life`.
        life: SM cycles at which the lane's agent starts and ends.
    """

    begin: Int64
    end: Int64
    look: NDArray[np.int8]
    event: Int64
    between: Look = Look.AWAY
    life: tuple[int, int] = (0, 0)

    def __len__(self) -> int:
        return len(self.begin)

    @cached_property
    def covered(self) -> tuple[NDArray[np.int8], Int64]:
        """The looks that there are; and for each, cycles of its slices before slice 0, 1, ... and behind the last."""
        looks = np.unique(self.look)
        cycles = self.end - self.begin
        sums = np.zeros((len(looks), len(self) + 1), np.int64)
        for row, look in enumerate(looks):
            np.cumsum(np.where(self.look == look, cycles, 0), out=sums[row, 1:])
        return looks, sums

    def coverage(self, edges: Int64) -> Int64:
        """Cycles of each look in each column; `edges` are one more than columns, in SM cycles, ascending.

        Returns:
            One row for each `Look`, by number.
        """
        found = np.zeros((len(Look), len(edges) - 1), np.int64)
        if len(self):
            looks, sums = self.covered
            place = np.searchsorted(self.begin, edges, side="right")
            before = np.maximum(place - 1, 0)
            inside = np.where(place > 0, np.clip(edges, self.begin[before], self.end[before]) - self.begin[before], 0)
            for row, look in enumerate(looks):
                until = sums[row, before] + np.where(self.look[before] == look, inside, 0)
                found[look] = np.diff(np.where(place > 0, until, 0))
        if self.between != Look.AWAY:
            alive = np.diff(np.clip(edges, *self.life))
            found[self.between] += np.maximum(alive - found.sum(axis=0), 0)
        return found

    def at(self, cycle: int) -> int:
        """The slice in which a cycle lies; -1 for none. Of slices that take no time, the last."""
        place = int(np.searchsorted(self.begin, cycle, side="right")) - 1
        return place if place >= 0 and (cycle < self.end[place] or cycle == self.begin[place]) else -1


@dataclass(eq=False)
class Lane:
    """One row of the timeline."""

    key: str
    """Unique in a launch, and the same in a trace of another run: `cta 0/mma.0`."""
    label: str
    depth: int
    cta: int
    slices: Slices
    parent: str = ""
    """Key of the lane that it is folded into."""
    track: int = -1
    """The trace's track; -1 for what is derived."""


@dataclass(eq=False)
class CtaLanes:
    """The lanes of one CTA; the first stands for the CTA."""

    cta: int
    sm: int
    lanes: list[Lane] = field(default_factory=list[Lane])


_ENGINE_LOOKS = {"tma_load": Look.LOAD, "async_copy": Look.LOAD, "tma_store": Look.STORE, "tma_reduce": Look.STORE}
_ORDER = (TrackKind.WARP_GROUP, TrackKind.RANGE, TrackKind.TMA, TrackKind.TENSOR_CORE)


class Lanes:
    """The lanes of a launch, CTA by CTA, each made when it is first looked at."""

    def __init__(self, launch: LaunchTrace) -> None:
        self.launch = launch
        self._made: dict[int, CtaLanes] = {}

    @cached_property
    def ctas(self) -> list[int]:
        """Numbers of the traced CTAs, in order."""
        return sorted({track.cta for track in self.launch.tracks})

    @cached_property
    def looks(self) -> NDArray[np.int8]:
        """The `Look` of each event."""
        launch = self.launch
        work = work_of_events(launch)
        looks = np.choose(work, (Look.WAIT, Look.ISSUE, Look.BUSY, Look.NAMED)).astype(np.int8)
        kinds = np.array([_ENGINE_LOOKS.get(site.kind, Look.MMA) for site in launch.sites] + [Look.BUSY], np.int8)
        engines = np.array([t.kind in (TrackKind.TMA, TrackKind.TENSOR_CORE) for t in launch.tracks] + [False], bool)
        on_engine = engines[launch.events["track"]]
        return np.where(on_engine, kinds[launch.events["site"]], looks)

    @cached_property
    def _rows(self) -> list[Int64]:
        """Rows of the events of each track, by begin."""
        track, begin = self.launch.events["track"], self.launch.events["begin"]
        order = np.lexsort((begin, track))
        bounds = np.searchsorted(track[order], np.arange(len(self.launch.tracks) + 1))
        return [order[first:last] for first, last in zip(bounds[:-1], bounds[1:], strict=True)]

    def of(self, cta: int) -> CtaLanes:
        """The lanes of a CTA."""
        if cta not in self._made:
            self._made[cta] = self._make(cta)
        return self._made[cta]

    def lane_of(self, event: int) -> Lane | None:
        """The lane that shows an event."""
        track = int(self.launch.events["track"][event])
        begin = int(self.launch.events["begin"][event])
        for lane in self.of(self.launch.tracks[track].cta).lanes:
            if lane.track == track:
                place = int(np.searchsorted(lane.slices.begin, begin, side="left"))
                if (lane.slices.event[place : place + len(lane.slices)] == event).any():
                    return lane
        return None

    def _make(self, cta: int) -> CtaLanes:
        tracks = [number for number, each in enumerate(self.launch.tracks) if each.cta == cta]
        tracks.sort(key=lambda number: (_ORDER.index(self.launch.tracks[number].kind), number))
        sm = self.launch.tracks[tracks[0]].sm if tracks else 0
        made = CtaLanes(cta, sm)
        head = f"cta {cta}"
        lanes = [lane for number in tracks for lane in self._lanes(number, head)]
        made.lanes = [Lane(head, f"CTA {cta}", 0, cta, _whole(lanes)), *lanes]
        return made

    def _lanes(self, number: int, head: str) -> Iterator[Lane]:
        """One lane for each track; more where work of an engine overlaps."""
        track, rows = self.launch.tracks[number], self._rows[number]
        begin, end = (self.launch.events[name][rows] for name in ("begin", "end"))
        levels = _levels(begin, end)
        for level in range(int(levels.max(initial=0)) + 1):
            own = np.flatnonzero(levels == level)
            between = Look.BUSY if track.kind is TrackKind.WARP_GROUP else Look.AWAY
            life = track.begin, max(track.end, int(end.max(initial=track.begin)))
            slices = Slices(begin[own], end[own], self.looks[rows[own]], rows[own], between, life)
            key = f"{head}/{track.name}"
            if level:
                yield Lane(f"{key}/{level}", "", 2, track.cta, slices, key, number)
            else:
                yield Lane(key, track.name, 1, track.cta, slices, head, number)


def _levels(begin: Int64, end: Int64) -> NDArray[np.int64]:
    """A level for each slice, so that those of one level do not overlap: the first that is free."""
    levels = np.zeros(len(begin), np.int64)
    if not (begin[1:] < np.maximum.accumulate(end)[:-1]).any():
        return levels
    free: list[int] = []
    for place, (first, last) in enumerate(zip(begin.tolist(), end.tolist(), strict=True)):
        level = next((number for number, since in enumerate(free) if since <= first), len(free))
        if level == len(free):
            free.append(last)
        free[level] = last
        levels[place] = level
    return levels


def _whole(lanes: Sequence[Lane]) -> Slices:
    """What a CTA's own lane shows: its life."""
    lives = [lane.slices.life for lane in lanes if lane.slices.life[1] > lane.slices.life[0]]
    life = min((first for first, _ in lives), default=0), max((last for _, last in lives), default=0)
    nothing = np.empty(0, np.int64)
    return Slices(nothing, nothing, np.empty(0, np.int8), nothing, Look.NAMED, life)


def waits(launch: LaunchTrace) -> NDArray[np.bool_]:
    """Whether each event is a wait."""
    return work_of_events(launch) == Work.WAIT
