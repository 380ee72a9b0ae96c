"""The events of a launch by track, and what each shows."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tlxviz.analysis.kinds import OF_TENSOR_MEMORY
from tlxviz.trace.model import LaunchTrace, TrackKind
from tlxviz.trace.vocabulary import Work, meaning
from tlxviz.tui.looks import Look
from tlxviz.tui.slices import Int64

_ENGINES = (TrackKind.TMA, TrackKind.TENSOR_CORE, TrackKind.LAUNCH_CONTROL)
_ENGINE_LOOKS = {
    "tma_load": Look.LOAD,
    "async_copy": Look.LOAD,
    "tma_store": Look.STORE,
    "tma_reduce": Look.STORE,
    "clc": Look.ASKED,
}
_WORK_LOOKS = {Work.WAIT: Look.WAIT, Work.ISSUE: Look.ISSUE, Work.BUSY: Look.BUSY, Work.NAMED: Look.NAMED}


class TrackEvents:
    """Sorts the events of a launch by track, when they are first asked for."""

    def __init__(self, launch: LaunchTrace) -> None:
        self.launch = launch
        self._rows_made: dict[int, Int64] = {}

    @cached_property
    def of_cta(self) -> dict[int, list[int]]:
        """The tracks of each CTA."""
        found: dict[int, list[int]] = {}
        for number, track in enumerate(self.launch.tracks):
            found.setdefault(track.cta, []).append(number)
        return {cta: found[cta] for cta in sorted(found)}

    @cached_property
    def _look_table(self) -> NDArray[np.int8]:
        """The `Look` of events by kind of track, in the order of `TrackKind`, and site; the last for site -1."""
        table = np.full((len(TrackKind), len(self.launch.sites) + 1), Look.BUSY, np.int8)
        for row, kind in enumerate(TrackKind):
            for number, site in enumerate(self.launch.sites):
                known = meaning(site.kind, kind)
                look = _WORK_LOOKS[known.work] if known else Look.BUSY
                if site.kind in OF_TENSOR_MEMORY:
                    look = Look.TENSOR
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

    def end(self, track: int) -> int:
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
        parts = [order[bounds[track] : bounds[track + 1]] for track in self.of_cta.get(cta, ())]
        return np.sort(np.concatenate(parts)) if parts else np.empty(0, np.int64)

    def count(self, cta: int) -> int:
        """How many events a CTA has."""
        bounds = self._by_track[1]
        return sum(int(bounds[track + 1] - bounds[track]) for track in self.of_cta[cta])

    def life(self, cta: int) -> tuple[int, int]:
        """SM cycles at which a CTA starts and ends."""
        lives = [(self.launch.tracks[track].begin, self.end(track)) for track in self.of_cta[cta]]
        lives = [each for each in lives if each[1] > each[0]]
        return min((first for first, _ in lives), default=0), max((last for _, last in lives), default=0)
