"""The rows of the timeline, as a tree: CTAs, their warp groups and engines, and what is worked out from these."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from tlxviz.trace.model import Events, LaunchTrace, TrackKind
from tlxviz.trace.vocabulary import Work, meaning, work_of_events
from tlxviz.tui.derived import Flips, barrier_slices, buffer_slots, flip_slices, flips, related, size_text
from tlxviz.tui.looks import Look
from tlxviz.tui.slices import Blend, Int64, Slices, counter, cut, levels, no_slices, overlap

__all__ = ["CtaLanes", "Lane", "Lanes", "Slices", "waits"]


@dataclass(eq=False)
class Lane:
    """One row of the timeline. What stands in it, and the lanes in it, are worked out when they are asked for."""

    key: str
    """Unique in a launch, and the same in a trace of another run: `cta 0/mma.0`."""
    label: str
    depth: int
    cta: int
    make: Callable[[], Slices]
    parent: str = ""
    """Key of the lane that it is folded into."""
    track: int = -1
    """The trace's track; -1 for what is derived."""
    make_own: Callable[[], list[Lane]] | None = None
    shut: bool = False
    """Whether it stays folded until somebody unfolds it."""

    @cached_property
    def slices(self) -> Slices:
        return self.make()

    @cached_property
    def own(self) -> list[Lane]:
        """The lanes in it."""
        return self.make_own() if self.make_own else []

    @property
    def folds(self) -> bool:
        """Whether there are lanes in it."""
        return self.make_own is not None


@dataclass(eq=False)
class CtaLanes:
    """The lanes of one CTA; the first stands for the CTA, and has the others."""

    cta: int
    sm: int
    lanes: list[Lane] = field(default_factory=list[Lane])


_ENGINE_LOOKS = {"tma_load": Look.LOAD, "async_copy": Look.LOAD, "tma_store": Look.STORE, "tma_reduce": Look.STORE}
_ENGINES = (TrackKind.TMA, TrackKind.TENSOR_CORE)
_WORK_LOOKS = {Work.WAIT: Look.WAIT, Work.ISSUE: Look.ISSUE, Work.BUSY: Look.BUSY, Work.NAMED: Look.NAMED}
_ORDER = (TrackKind.WARP_GROUP, TrackKind.RANGE, TrackKind.TMA, TrackKind.TENSOR_CORE)
_AT_ONCE = 200_000
"""Events of a CTA up to which its barriers and buffers are shown before somebody unfolds them."""


class Lanes:
    """The lanes of a launch, CTA by CTA, each made when it is first looked at."""

    def __init__(self, launch: LaunchTrace) -> None:
        self.launch = launch
        self._made: dict[int, CtaLanes] = {}
        self._rows_made: dict[int, Int64] = {}
        self._flips: dict[int, list[Flips]] = {}

    # ---- CTAs

    @cached_property
    def tracks(self) -> dict[int, list[int]]:
        """The tracks of each CTA."""
        found: dict[int, list[int]] = {}
        for number, track in enumerate(self.launch.tracks):
            found.setdefault(track.cta, []).append(number)
        return {cta: found[cta] for cta in sorted(found)}

    @cached_property
    def ctas(self) -> list[int]:
        """Numbers of the traced CTAs, in order."""
        return list(self.tracks)

    @cached_property
    def heads(self) -> dict[int, Lane]:
        """The lane of each CTA, with its other lanes in it."""
        return {cta: self._head(cta) for cta in self.ctas}

    def _head(self, cta: int) -> Lane:
        return Lane(
            f"cta {cta}",
            f"CTA {cta}",
            0,
            cta,
            lambda: self._whole(cta),
            make_own=lambda: list(self._lanes(cta)),
            shut=cta != self.ctas[0],
        )

    def of(self, cta: int) -> CtaLanes:
        """The lanes of a CTA, without those in folded ones that were never opened."""
        if cta not in self._made:
            head, tracks = self.heads[cta], self.tracks[cta]
            self._made[cta] = CtaLanes(cta, self.launch.tracks[tracks[0]].sm, [head, *head.own])
        return self._made[cta]

    def lane_of(self, event: int) -> Lane | None:
        """The lane that shows an event."""
        track = int(self.launch.events["track"][event])
        row = self.launch.tracks[track]
        found = [lane for lane in self.of(row.cta).lanes if lane.track == track]
        if row.kind is TrackKind.TMA:
            store = int(self.looks_of(np.array([event]))[0]) == Look.STORE
            found = [lane for lane in found if lane.key.endswith(" stores") == store]
        return found[0] if found else None

    def find(self, key: str) -> Lane | None:
        """The lane of a key; None where this launch has none."""
        name = key.partition("/")[0].removeprefix("cta ")
        head = self.heads.get(int(name)) if name.isdecimal() else None
        if head is None or head.key == key:
            return head
        for lane in head.own:
            if lane.key == key:
                return lane
            if lane.folds and key.startswith(f"{lane.key}/"):
                return next((each for each in lane.own if each.key == key), None)
        return None

    # ---- events

    @cached_property
    def _look_table(self) -> NDArray[np.int8]:
        """The `Look` of events by kind of track, in the order of `TrackKind`, and site; the last for site -1."""
        table = np.full((len(TrackKind), len(self.launch.sites) + 1), Look.BUSY, np.int8)
        for row, kind in enumerate(TrackKind):
            for number, site in enumerate(self.launch.sites):
                known = meaning(site.kind, kind)
                look = _WORK_LOOKS[known.work] if known else Look.BUSY
                table[row, number] = _ENGINE_LOOKS.get(site.kind, Look.MMA) if kind in _ENGINES else look
        return table

    @cached_property
    def _kind_of_track(self) -> Int64:
        kinds = list(TrackKind)
        return np.array([kinds.index(track.kind) for track in self.launch.tracks], np.int64)

    def looks_of(self, rows: Int64) -> NDArray[np.int8]:
        """The `Look` of each of these events."""
        events = self.launch.events
        return self._look_table[self._kind_of_track[events["track"][rows]], events["site"][rows]]

    @cached_property
    def _by_track(self) -> tuple[Int64, Int64]:
        """All rows by track, in the order of the table; and where each track's begin."""
        track, count = self.launch.events["track"], len(self.launch.tracks)
        # a stable sort of 16-bit integers is a radix sort: a tenth of the time
        order = np.argsort(track.astype(np.int16) if count < 2**15 else track, kind="stable")
        return order, np.concatenate(([0], np.cumsum(np.bincount(track, minlength=count))))

    def _end(self, track: int) -> int:
        """SM cycle at which a track ends, or its last event if that is later."""
        order, bounds = self._by_track
        first, last = int(bounds[track]), int(bounds[track + 1])
        row = self.launch.tracks[track]
        ended = int(self.launch.events["end"][order[last - 1]]) if last > first else row.begin
        return max(row.end, ended)

    def rows(self, track: int) -> Int64:
        """Rows of a track's events by begin, those of equal begin by end."""
        if track not in self._rows_made:
            order, bounds = self._by_track
            rows = order[bounds[track] : bounds[track + 1]]
            begin = self.launch.events["begin"][rows]
            if (begin[1:] < begin[:-1]).any():
                rows = rows[np.lexsort((self.launch.events["end"][rows], begin))]
            self._rows_made[track] = rows
        return self._rows_made[track]

    def rows_of_cta(self, cta: int) -> Int64:
        """Rows of a CTA's events, in the order of the table."""
        order, bounds = self._by_track
        parts = [order[bounds[track] : bounds[track + 1]] for track in self.tracks.get(cta, ())]
        return np.sort(np.concatenate(parts)) if parts else np.empty(0, np.int64)

    def life(self, cta: int) -> tuple[int, int]:
        """SM cycles at which a CTA starts and ends."""
        lives = [(self.launch.tracks[track].begin, self._end(track)) for track in self.tracks[cta]]
        lives = [each for each in lives if each[1] > each[0]]
        return min((first for first, _ in lives), default=0), max((last for _, last in lives), default=0)

    # ---- lanes

    def _whole(self, cta: int) -> Slices:
        """What a CTA's own lane shows: its tensor core; without one, its warp groups, or that it is there."""
        tracks, life = self.tracks[cta], self.life(cta)
        for number in tracks:
            if self.launch.tracks[number].kind is TrackKind.TENSOR_CORE and len(self.rows(number)):
                made = self._engine(self.rows(number), life)
                return Slices(made.begin, made.end, made.look, np.full(len(made), -1, np.int64), Look.ALIVE, life)
        groups = [number for number in tracks if self.launch.tracks[number].kind is TrackKind.WARP_GROUP]
        if not groups:
            return no_slices(Look.ALIVE, life)
        empty = no_slices(life=life)
        parts = [self._agent(number) for number in groups]
        return Blend(empty.begin, empty.end, empty.look, empty.event, life=life, parts=parts)

    def _agent(self, number: int) -> Slices:
        track, rows = self.launch.tracks[number], self.rows(number)
        begin, end = (self.launch.events[name][rows] for name in ("begin", "end"))
        between = Look.BUSY if track.kind is TrackKind.WARP_GROUP else Look.AWAY
        made = cut(begin, end, self.looks_of(rows), rows)
        made.between, made.life = between, (track.begin, self._end(number))
        return made

    def _engine(self, rows: Int64, life: tuple[int, int]) -> Slices:
        begin, end = (self.launch.events[name][rows] for name in ("begin", "end"))
        made = cut(begin, end, self.looks_of(rows), rows)
        made.life = life
        return made

    def _lanes(self, cta: int) -> Iterator[Lane]:
        head, life, tracks = f"cta {cta}", self.life(cta), self.launch.tracks
        for number in sorted(self.tracks[cta], key=lambda each: (_ORDER.index(tracks[each].kind), each)):
            yield from self._of_track(number, head)
        yield from self._counters(cta, head)
        if any(site.kind == "wait" for site in self.launch.sites):
            yield self._barriers(cta, head, life)
        if any(site.kind == "tma_load" for site in self.launch.sites):
            yield self._buffers(cta, head, life)

    def _of_track(self, number: int, head: str) -> Iterator[Lane]:
        """The lane of an agent. One for loads and one for stores of a TMA engine."""
        track, rows = self.launch.tracks[number], self.rows(number)
        if track.kind is not TrackKind.TMA:
            yield self._lane(number, rows, f"{head}/{track.name}", track.name, head)
            return
        store = self.looks_of(rows) == Look.STORE
        yield self._lane(number, rows[~store], f"{head}/{track.name} loads", f"{track.name} loads", head)
        if store.any():
            yield self._lane(number, rows[store], f"{head}/{track.name} stores", f"{track.name} stores", head)

    def _lane(self, number: int, rows: Int64, key: str, label: str, head: str) -> Lane:
        """A lane in which work that overlaps is cut, and where it does, a lane in it for each level."""
        track = self.launch.tracks[number]
        if track.kind is TrackKind.WARP_GROUP:
            return Lane(key, label, 1, track.cta, lambda: self._agent(number), head, number)
        life = track.begin, self._end(number)
        count = overlap(*(self.launch.events[name][rows] for name in ("begin", "end")))

        def own() -> list[Lane]:
            begin, end = (self.launch.events[name][rows] for name in ("begin", "end"))
            level = levels(begin, end)

            def make(which: int) -> Callable[[], Slices]:
                return lambda: self._engine(rows[level == which], life)

            return [Lane(f"{key}/{n}", f"at once {n + 1}", 2, track.cta, make(n), key) for n in range(count)]

        make_own = own if count > 1 else None
        return Lane(key, label, 1, track.cta, lambda: self._engine(rows, life), head, number, make_own, shut=True)

    def _counters(self, cta: int, head: str) -> Iterator[Lane]:
        """Copies and bytes that the TMA engine has under way."""
        tma = [number for number in self.tracks[cta] if self.launch.tracks[number].kind is TrackKind.TMA]
        rows = np.concatenate([self.rows(number) for number in tma]) if tma else np.empty(0, np.int64)
        if not len(rows):
            return
        begin, end, size = (self.launch.events[name][rows] for name in ("begin", "end", "bytes"))
        copies, moved = (counter(begin, end, each, Look.LOAD) for each in (np.ones(len(rows), np.int64), size))
        yield Lane(f"{head}/copies", f"copies ≤{copies.most}", 1, cta, lambda: copies, head)
        if moved.most:
            yield Lane(f"{head}/bytes", f"bytes ≤{size_text(moved.most)}", 1, cta, lambda: moved, head)

    def _barriers(self, cta: int, head: str, life: tuple[int, int]) -> Lane:
        key = f"{head}/barriers"

        def found() -> list[Flips]:
            if cta not in self._flips:
                self._flips[cta] = flips(self.launch, self.rows_of_cta(cta))
            return self._flips[cta]

        def slices() -> Slices:
            return flip_slices(found() if self._few(cta) or cta in self._flips else [], life)

        def own() -> list[Lane]:
            lane.__dict__.pop("slices", None)  # that it shows what is known now
            return [_slot(key, each.name, cta, lambda each=each: barrier_slices(each, life)) for each in found()]

        lane = Lane(key, "barriers", 1, cta, slices, head, make_own=own, shut=True)
        return lane

    def _buffers(self, cta: int, head: str, life: tuple[int, int]) -> Lane:
        key = f"{head}/buffers"

        def own() -> list[Lane]:
            lane.__dict__.pop("slices", None)
            ctas = np.array([track.cta for track in self.launch.tracks], np.int64)
            rows = related(self.launch, self.rows_of_cta(cta), self.rows_of_cta, ctas)
            slots = buffer_slots(self.launch, rows, cta, life)
            return [_slot(key, name, cta, lambda each=each: each) for name, each in slots]

        def slices() -> Slices:
            parts = [each.slices for each in lane.own] if self._few(cta) or "own" in lane.__dict__ else []
            empty = no_slices(life=life)
            return Blend(empty.begin, empty.end, empty.look, empty.event, life=life, parts=parts)

        lane = Lane(key, "buffers", 1, cta, slices, head, make_own=own, shut=True)
        return lane

    def _few(self, cta: int) -> bool:
        bounds = self._by_track[1]
        return sum(int(bounds[track + 1] - bounds[track]) for track in self.tracks[cta]) <= _AT_ONCE


def _slot(parent: str, name: str, cta: int, make: Callable[[], Slices]) -> Lane:
    return Lane(f"{parent}/{name}", name, 2, cta, make, parent)


def waits(launch: LaunchTrace) -> NDArray[np.bool_]:
    """Whether each event is a wait."""
    return _waits(launch, launch.events)


@lru_cache(maxsize=2)  # asked for at every key that goes from wait to wait; the events, since a launch may get more
def _waits(launch: LaunchTrace, events: Events) -> NDArray[np.bool_]:
    made = work_of_events(launch) == Work.WAIT
    made.flags.writeable = False
    return made
