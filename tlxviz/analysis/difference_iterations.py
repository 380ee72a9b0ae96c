"""Iterations of two launches side by side: how far apart they begin, and from which one on that differs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tlxviz.analysis.difference_launch import LaunchFacts
from tlxviz.analysis.difference_places import Place, PlaceMap
from tlxviz.analysis.survey import survey
from tlxviz.trace.model import LaunchTrace

Int64 = NDArray[np.int64]

_FRACTION = 0.05
_CYCLES = 16
"""Intervals that differ by less than both are alike."""


@dataclass(frozen=True, slots=True)
class SiteIterations:
    kind: str
    variable: str
    file: str
    line_a: int
    line_b: int
    a: tuple[int, ...]
    """SM cycles at the site, by iteration."""
    b: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class IterationDifference:
    """The main loop of one warp group in the first traced CTA of each launch."""

    name_a: str
    name_b: str
    count_a: int
    """Iterations of the CTA."""
    count_b: int
    interval_a: float | None
    """SM cycles from the begin of one iteration to that of the next, the median; None for fewer than two."""
    interval_b: float | None
    before_a: int
    """SM cycles from the begin of the CTA to that of the first iteration."""
    before_b: int
    intervals_a: tuple[int, ...]
    """Of the first iterations, one by one; one behind which the outer loop goes on has the epilogue in it."""
    intervals_b: tuple[int, ...]
    sites: tuple[SiteIterations, ...]
    """Time at each place in these iterations, aligned."""
    differs_from: int | None
    """First iteration whose interval differs by more than 5 % and 16 cycles; None where all of them are alike."""
    differs_at: SiteIterations | None
    """The place whose time differs most in it; None for the arithmetic between events."""


def iteration_differences(
    a: tuple[LaunchTrace, LaunchFacts],
    b: tuple[LaunchTrace, LaunchFacts],
    pairs: Sequence[tuple[int | None, int | None]],
    places: PlaceMap,
    *,
    most: int = 64,
) -> tuple[IterationDifference, ...]:
    """The loops of warp groups that correspond.

    Args:
        pairs: Positions in `groups` of both.
        most: Iterations whose intervals and sites are given one by one.
    """
    found: list[IterationDifference] = []
    loops = [_Loops(*a), _Loops(*b)]
    for first, second in pairs:
        if first is None or second is None:
            continue
        one, other = loops[0].of(first), loops[1].of(second)
        if one is not None and other is not None:
            names = a[1].account.groups[first].agent.name, b[1].account.groups[second].agent.name
            found.append(_difference(names, one, other, places, most))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Loop:
    start: Int64
    """Begin of each iteration, in order of time."""
    before: int
    times: dict[Place, Int64]
    """SM cycles at each place, by iteration."""


class _Loops:
    def __init__(self, launch: LaunchTrace, facts: LaunchFacts) -> None:
        self._launch, self._facts = launch, facts
        self._inside = survey(launch).looping

    def of(self, number: int) -> _Loop | None:
        """The main loop of a warp group in its first traced CTA; None where it has none."""
        launch, facts = self._launch, self._facts
        group = facts.account.groups[number]
        if not group.tracks:
            return None
        track = min(group.tracks, key=lambda row: launch.tracks[row].begin)
        part = facts.account.occupied.of_track(track)
        rows = facts.account.occupied.row[part]
        site = launch.events["site"][rows].astype(np.int64)
        inside = np.flatnonzero(self._inside[site])
        if not len(inside):
            return None
        rows, site = rows[inside], site[inside]
        begin, cycles = facts.account.occupied.begin[part][inside], facts.account.occupied.cycles[part][inside]
        outer, inner = launch.events["outer"][rows].astype(np.int64), launch.events["inner"][rows].astype(np.int64)
        _, first, of = np.unique(outer * (int(inner.max()) + 2) + inner, return_index=True, return_inverse=True)
        times: dict[Place, Int64] = {}
        numbers: list[int] = np.unique(site).tolist()
        for each in numbers:
            row = launch.sites[each]
            here = site == each
            place = Place(group.agent.name, row.kind, row.variable, row.file, row.line)
            spent = np.bincount(of[here], weights=cycles[here], minlength=len(first)).astype(np.int64)
            times[place] = times[place] + spent if place in times else spent
        return _Loop(begin[first], int(begin[first][0] - facts.account.occupied.lower[track]), times)


def _difference(names: tuple[str, str], one: _Loop, other: _Loop, places: PlaceMap, most: int) -> IterationDifference:
    intervals = [np.diff(loop.start) for loop in (one, other)]
    common = min(len(each) for each in intervals)
    apart = np.abs(intervals[1][:common] - intervals[0][:common])
    differs = np.flatnonzero((apart > _CYCLES) & (apart > _FRACTION * intervals[0][:common]))
    number = int(differs[0]) if len(differs) else None
    seconds = {places.first(place): place for place in other.times}
    sites: list[SiteIterations] = []
    at: SiteIterations | None = None
    furthest = 0
    for place, times in one.times.items():
        if place not in seconds:
            continue
        matching = other.times[seconds[place]]
        lines = place.line, seconds[place].line
        listed = tuple(times[:most].tolist()), tuple(matching[:most].tolist())
        made = SiteIterations(place.kind, place.variable, place.file, *lines, *listed)
        sites.append(made)
        if number is not None and (far := abs(int(matching[number]) - int(times[number]))) > furthest:
            furthest, at = far, made
    if number is not None and 2 * furthest < apart[number]:
        at = None
    medians = [float(np.median(each)) if len(each) else None for each in intervals]
    return IterationDifference(
        name_a=names[0],
        name_b=names[1],
        count_a=len(one.start),
        count_b=len(other.start),
        interval_a=medians[0],
        interval_b=medians[1],
        before_a=one.before,
        before_b=other.before,
        intervals_a=tuple(intervals[0][:most].tolist()),
        intervals_b=tuple(intervals[1][:most].tolist()),
        sites=tuple(sites),
        differs_from=number,
        differs_at=at,
    )
