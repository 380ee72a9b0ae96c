"""The event table of a launch in the form in which questions about barriers and buffers are asked of it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tlxviz.analysis.occupation import Int64
from tlxviz.trace.model import LaunchTrace, TrackKind


class EventTable:
    """Columns of a launch's events, with the facts of their sites and tracks beside them."""

    def __init__(self, launch: LaunchTrace, cta: int) -> None:
        events = launch.events
        self.track, site = events["track"].astype(np.int64), events["site"]
        self.begin, self.end = events["begin"], events["end"]
        self.slot, self.phase = events["slot"].astype(np.int64), events["phase"].astype(np.int64)
        self.by, self.bytes = events["released_by"], events["bytes"]
        self.names = sorted({row.variable for row in launch.sites if row.variable})
        number = {name: index for index, name in enumerate(self.names)}
        self._kinds = np.array([*(row.kind for row in launch.sites), ""])
        self._track_kinds = np.array([str(row.kind) for row in launch.tracks])
        # -1: an operation that names nothing.
        self.variable = np.array([*(number.get(row.variable, -1) for row in launch.sites), -1])[site]
        self._site = site
        self.here = np.array([row.cta == cta for row in launch.tracks], dtype=np.bool_)[self.track]

    def kind(self, *kinds: str) -> NDArray[np.bool_]:
        return np.isin(self._kinds, kinds)[self._site]

    def on(self, kind: TrackKind) -> NDArray[np.bool_]:
        return (self._track_kinds == str(kind))[self.track]

    def key(self, rows: NDArray[Any], *columns: Int64) -> Int64:
        """One number for each row's track or the like: the columns must be 0 or more."""
        result = np.zeros(len(rows), dtype=np.int64)
        for column in columns:
            result = result * (int(column.max(initial=0)) + 2) + column[rows]
        return result

    def latest(self, of: NDArray[np.intp], before: NDArray[Any], *columns: Int64) -> Int64:
        """For each row of `before`, the row of `of` with equal columns that began last and no later; -1 for none."""
        if not len(of):
            return np.full(len(before), -1, dtype=np.int64)
        begin: Int64 = self.begin - self.begin.min()
        span = int(begin.max()) + 1
        there = self.key(of, *columns) * span + begin[of]
        order = np.argsort(there, kind="stable")
        wanted = self.key(before, *columns)
        place = np.searchsorted(there[order], wanted * span + begin[before], side="right").astype(np.int64) - 1
        found = of[order[np.maximum(place, 0)]]
        return np.where((place >= 0) & (self.key(found, *columns) == wanted), found, -1).astype(np.int64)
