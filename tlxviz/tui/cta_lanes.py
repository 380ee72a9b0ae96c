"""The lanes of one CTA: its agents, and what is worked out from these."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property

import numpy as np

from tlxviz.trace.model import TrackKind
from tlxviz.tui.by_track import TrackEvents
from tlxviz.tui.derived import Flips, barrier_slices, buffer_slots, flip_slices, flips, related, size_text
from tlxviz.tui.lane import Lane
from tlxviz.tui.looks import Look
from tlxviz.tui.slices import Blend, Int64, Slices, counter, cut, levels, no_slices, overlap

_ORDER = (TrackKind.WARP_GROUP, TrackKind.RANGE, TrackKind.TMA, TrackKind.TENSOR_CORE, TrackKind.LAUNCH_CONTROL)
_AT_ONCE = 200_000
"""Events of a CTA up to which its barriers and buffers are shown before somebody unfolds them."""


class CtaMaker:
    """Makes the lanes of one CTA."""

    def __init__(self, events: TrackEvents, cta: int, *, cluster: str = "", rank: int = 0) -> None:
        """
        Args:
            events: Those of the launch.
            cta: The CTA's number.
            cluster: The key of the cluster's lane; empty without clusters.
            rank: Of the CTA in its cluster.
        """
        self._of = events
        self._cta = cta
        self._launch = events.launch
        self._tracks = events.of_cta[cta]
        self._key = f"cta {cta}"
        self._cluster = cluster
        self._depth = 1 if cluster else 0
        self._label = f"CTA {cta} rank {rank}" if cluster else f"CTA {cta}"
        self._life = events.life(cta)

    def head(self, *, shut: bool) -> Lane:
        """The lane of the CTA, with its other lanes in it."""
        return Lane(
            self._key,
            self._label,
            self._depth,
            self._cta,
            self._whole,
            self._cluster,
            make_own=lambda: list(self._lanes()),
            shut=shut,
        )

    def _whole(self) -> Slices:
        """What a CTA's own lane shows: its tensor core; without one, its warp groups, or that it is there."""
        tracks, life = self._tracks, self._life
        for number in tracks:
            if self._launch.tracks[number].kind is TrackKind.TENSOR_CORE and len(self._of.rows(number)):
                made = self._engine(self._of.rows(number), life)
                return Slices(made.begin, made.end, made.look, np.full(len(made), -1, np.int64), Look.ALIVE, life)
        groups = [number for number in tracks if self._launch.tracks[number].kind is TrackKind.WARP_GROUP]
        if not groups:
            return no_slices(Look.ALIVE, life)
        empty = no_slices(life=life)
        parts = [self._agent(number) for number in groups]
        return Blend(empty.begin, empty.end, empty.look, empty.event, life=life, parts=parts)

    def _agent(self, number: int) -> Slices:
        track, rows = self._launch.tracks[number], self._of.rows(number)
        begin, end = (self._launch.events[name][rows] for name in ("begin", "end"))
        between = Look.BUSY if track.kind is TrackKind.WARP_GROUP else Look.AWAY
        made = cut(begin, end, self._of.looks_of(rows), rows)
        made.between, made.life = between, (track.begin, self._of.end(number))
        return made

    def _engine(self, rows: Int64, life: tuple[int, int]) -> Slices:
        begin, end = (self._launch.events[name][rows] for name in ("begin", "end"))
        made = cut(begin, end, self._of.looks_of(rows), rows)
        made.life = life
        return made

    def _lanes(self) -> Iterator[Lane]:
        tracks = self._launch.tracks
        for number in sorted(self._tracks, key=lambda each: (_ORDER.index(tracks[each].kind), each)):
            yield from self._of_track(number)
        yield from self._counters()
        if any(site.kind == "wait" for site in self._launch.sites):
            yield self._barriers()
        if any(site.kind in ("tma_load", "tmem_load") for site in self._launch.sites):
            yield self._buffers()

    def _of_track(self, number: int) -> Iterator[Lane]:
        """The lane of an agent. One for loads and one for stores of a TMA engine."""
        track, rows = self._launch.tracks[number], self._of.rows(number)
        if track.kind is not TrackKind.TMA:
            yield self._lane(number, rows, track.name)
            return
        store = self._of.looks_of(rows) == Look.STORE
        yield self._lane(number, rows[~store], f"{track.name} loads")
        if store.any():
            yield self._lane(number, rows[store], f"{track.name} stores")

    def _lane(self, number: int, rows: Int64, label: str) -> Lane:
        """A lane in which work that overlaps is cut, and where it does, a lane in it for each level."""
        track, key, depth = self._launch.tracks[number], f"{self._key}/{label}", self._depth + 1
        if track.kind is TrackKind.WARP_GROUP:
            return Lane(key, label, depth, track.cta, lambda: self._agent(number), self._key, number)
        life = track.begin, self._of.end(number)
        count = overlap(*(self._launch.events[name][rows] for name in ("begin", "end")))

        def own() -> list[Lane]:
            begin, end = (self._launch.events[name][rows] for name in ("begin", "end"))
            level = levels(begin, end)

            def make(which: int) -> Callable[[], Slices]:
                return lambda: self._engine(rows[level == which], life)

            return [Lane(f"{key}/{n}", f"at once {n + 1}", depth + 1, track.cta, make(n), key) for n in range(count)]

        make_own = own if count > 1 else None
        return Lane(
            key, label, depth, track.cta, lambda: self._engine(rows, life), self._key, number, make_own, shut=True
        )

    def _counters(self) -> Iterator[Lane]:
        """Copies and bytes that the TMA engine has under way."""
        tma = [number for number in self._tracks if self._launch.tracks[number].kind is TrackKind.TMA]
        rows = np.concatenate([self._of.rows(number) for number in tma]) if tma else np.empty(0, np.int64)
        if not len(rows):
            return
        begin, end, size = (self._launch.events[name][rows] for name in ("begin", "end", "bytes"))
        copies, moved = (counter(begin, end, each, Look.LOAD) for each in (np.ones(len(rows), np.int64), size))
        yield self._derived("copies", f"copies ≤{copies.most}", copies)
        if moved.most:
            yield self._derived("bytes", f"bytes ≤{size_text(moved.most)}", moved)

    def _derived(self, name: str, label: str, slices: Slices) -> Lane:
        return Lane(f"{self._key}/{name}", label, self._depth + 1, self._cta, lambda: slices, self._key)

    @cached_property
    def _few(self) -> bool:
        return self._of.count(self._cta) <= _AT_ONCE

    @cached_property
    def _flips(self) -> list[Flips]:
        return flips(self._launch, self._of.rows_of_cta(self._cta))

    def _barriers(self) -> Lane:
        key, cta, life = f"{self._key}/barriers", self._cta, self._life

        def slices() -> Slices:
            return flip_slices(self._flips if self._few or "_flips" in self.__dict__ else [], life)

        def own() -> list[Lane]:
            lane.__dict__.pop("slices", None)  # that it shows what is known now
            return [self._slot(key, each.name, lambda each=each: barrier_slices(each, life)) for each in self._flips]

        lane = Lane(key, "barriers", self._depth + 1, cta, slices, self._key, make_own=own, shut=True, slow=True)
        return lane

    def _buffers(self) -> Lane:
        key, cta, life = f"{self._key}/buffers", self._cta, self._life

        def own() -> list[Lane]:
            lane.__dict__.pop("slices", None)
            ctas = np.array([track.cta for track in self._launch.tracks], np.int64)
            rows = related(self._launch, self._of.rows_of_cta(cta), self._of.rows_of_cta, ctas)
            slots = buffer_slots(self._launch, rows, cta, life)
            return [self._slot(key, name, lambda each=each: each) for name, each in slots]

        def slices() -> Slices:
            parts = [each.slices for each in lane.own] if self._few or "own" in lane.__dict__ else []
            empty = no_slices(life=life)
            return Blend(empty.begin, empty.end, empty.look, empty.event, life=life, parts=parts)

        lane = Lane(key, "buffers", self._depth + 1, cta, slices, self._key, make_own=own, shut=True, slow=True)
        return lane

    def _slot(self, parent: str, name: str, make: Callable[[], Slices]) -> Lane:
        return Lane(f"{parent}/{name}", name, self._depth + 2, self._cta, make, parent)
