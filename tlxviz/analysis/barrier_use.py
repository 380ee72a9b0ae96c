"""Who arrives at each barrier, who waits there, and for how long."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tlxviz.analysis.contributions import barriers_of_loads
from tlxviz.trace.model import LaunchTrace, TrackKind

Int64 = NDArray[np.int64]

_ARRIVALS = frozenset({"arrive", "expect", "mma_commit", "clc"})
_NAMED = frozenset({"named_arrive", "named_wait"})
NAMED = "named barrier"
"""`BarrierUse.name` of named barriers, of which each slot is one."""


@dataclass(frozen=True, slots=True)
class BarrierUse:
    """An array of mbarriers, or all named barriers, over all traced CTAs."""

    name: str
    slots: int
    counts: tuple[int, ...]
    """Arrivals that complete a phase, by slot; empty where the trace does not say."""
    arrivals: Mapping[str, int]
    """By warp group, and `TMA` for loads that complete there. An `expect` is an arrival."""
    waits: Mapping[str, int]
    """By warp group."""
    mean: float
    """SM cycles of a wait; 0 where nobody waits."""
    worst: int
    """SM cycles of the longest."""
    worst_event: int
    """Row of the longest, the first of equals; -1 where nobody waits."""


def barrier_uses(launch: LaunchTrace) -> tuple[BarrierUse, ...]:
    """The barriers in the program's order, then those that only the sites name, then the named ones."""
    rows = {each.name: (each.slots, each.counts) for each in launch.barriers}
    loads = barriers_of_loads(launch)
    arriving: dict[str, list[int]] = {name: [] for name in rows}
    waiting: dict[str, list[int]] = {name: [] for name in rows}
    completing: dict[str, list[int]] = {name: [] for name in rows}
    for number, site in enumerate(launch.sites):
        name = NAMED if site.kind in _NAMED else site.variable
        if site.kind in ("wait", "named_wait") and name:
            waiting.setdefault(name, []).append(number)
        if site.kind in _ARRIVALS | {"named_arrive"} and name:
            arriving.setdefault(name, []).append(number)
        if site.kind == "tma_load" and (barrier := loads.get(number)):
            completing.setdefault(barrier, []).append(number)
    names = dict.fromkeys([*rows, *waiting, *arriving, *completing])
    ordered = sorted(names, key=lambda name: name == NAMED)
    counts = _Counts(launch)
    made: list[BarrierUse] = []
    for name in ordered:
        slots, needed = rows.get(name, (counts.slots(waiting.get(name, []) + arriving.get(name, [])), ()))
        arrivals = counts.of_groups(arriving.get(name, []))
        if copies := counts.of_engine(completing.get(name, [])):
            arrivals["TMA"] = copies
        sites = waiting.get(name, [])
        made.append(BarrierUse(name, slots, needed, arrivals, counts.of_groups(sites), *counts.waits(sites)))
    return tuple(made)


class _Counts:
    """Events by site."""

    def __init__(self, launch: LaunchTrace) -> None:
        self._launch = launch
        kinds = [each.kind for each in launch.tracks]
        site, track = launch.events["site"], launch.events["track"]
        self._on_group = np.array([each is TrackKind.WARP_GROUP for each in kinds] or [False])[track]
        on_tma = np.array([each is TrackKind.TMA for each in kinds] or [False])[track]
        self._names = list(dict.fromkeys(each.name for each in launch.tracks if each.kind is TrackKind.WARP_GROUP))
        number = {name: place for place, name in enumerate(self._names)}
        of_track = np.array([number.get(each.name, 0) for each in launch.tracks] or [0], np.int64)
        shape = max(1, len(self._names)), len(launch.sites) + 1
        groups = of_track[track[self._on_group]] * shape[1] + site[self._on_group] + 1
        self._groups = np.bincount(groups, minlength=shape[0] * shape[1]).reshape(shape)[:, 1:]
        self._tma = np.bincount(site[on_tma] + 1, minlength=shape[1])[1:]

    def of_groups(self, sites: list[int]) -> dict[str, int]:
        sums: list[int] = self._groups[:, sites].sum(axis=1).tolist()
        return {name: count for name, count in zip(self._names, sums, strict=False) if count}

    def of_engine(self, sites: list[int]) -> int:
        return int(self._tma[sites].sum())

    def slots(self, sites: list[int]) -> int:
        """How many different slots events name."""
        rows = self._rows(sites)
        return len(np.unique(self._launch.events["slot"][rows]))

    def waits(self, sites: list[int]) -> tuple[float, int, int]:
        """Mean, worst, and the row of the latter."""
        rows = self._rows(sites)
        if not len(rows):
            return 0.0, 0, -1
        begin = self._launch.events["begin"][rows]
        length = self._launch.events["end"][rows] - begin
        longest = np.flatnonzero(length == length.max())
        return float(length.mean()), int(length.max()), int(rows[longest[np.argmin(begin[longest])]])

    def _rows(self, sites: list[int]) -> Int64:
        wanted = np.zeros(len(self._launch.sites) + 1, bool)
        wanted[sites] = True
        return np.flatnonzero(wanted[self._launch.events["site"]] & self._on_group)
