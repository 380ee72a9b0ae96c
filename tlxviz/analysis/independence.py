"""Which CTAs of a launch have nothing to do with each other."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tlxviz.analysis.survey import Survey, blocks
from tlxviz.trace.model import LaunchTrace

Int64 = NDArray[np.int64]

_APART_CYCLES = 64
"""So long after one CTA another one of its SM has to begin for neither to have held up the other's engines: clocks of
measured traces differ by less."""


def independent_ctas(launch: LaunchTrace, seen: Survey, enough: int) -> Int64:
    """For each track the number of a group of CTAs: as small groups of at least `enough` events as there can be.

    CTAs belong together if an event of one released an event of the other, as in a cluster, or if they share an SM at a
    time. A CTA that follows another one on its SM finds the engines idle.
    """
    if len(launch.events) < 2 * enough:
        return np.zeros(len(launch.tracks), np.int64)
    numbers: dict[int, int] = {}
    cta = np.array([numbers.setdefault(each.cta, len(numbers)) for each in launch.tracks], np.int64)
    union = _Union(len(numbers))
    _neighbours(launch, cta, seen, union)
    _linked(launch, cta, len(numbers), union)
    return _gathered(union, cta, seen, enough)[cta]


class _Union:
    """Sets of CTAs that belong together."""

    def __init__(self, size: int) -> None:
        self._parent = list(range(size))

    def root(self, one: int) -> int:
        while (parent := self._parent[one]) != one:
            self._parent[one] = one = self._parent[parent]
        return one

    def join(self, one: int, other: int) -> None:
        self._parent[self.root(one)] = self.root(other)


def _neighbours(launch: LaunchTrace, cta: Int64, seen: Survey, union: _Union) -> None:
    """Joins CTAs that share an SM at a time."""
    numbers: list[int] = cta.tolist()
    begins: list[int] = seen.first.tolist()
    ends: list[int] = seen.last.tolist()
    on_sm: dict[int, list[tuple[int, int, int]]] = {}
    for number, begin, end, track in zip(numbers, begins, ends, launch.tracks, strict=True):
        on_sm.setdefault(track.sm, []).append((begin, end, number))
    for lives in on_sm.values():
        lives.sort()
        _, until, before = lives[0]
        for begin, end, number in lives:
            if begin < until + _APART_CYCLES:
                union.join(number, before)
            until, before = max(until, end), number


def _linked(launch: LaunchTrace, cta: Int64, ctas: int, union: _Union) -> None:
    """Joins CTAs of which one released the other."""
    track, released_by = launch.events["track"], launch.events["released_by"]
    for block in blocks(len(track)):
        by = released_by[block]
        own, other = cta[track[block].astype(np.intp)], cta[track[by].astype(np.intp)]
        rows = np.flatnonzero((other != own) & (by >= 0))
        if len(rows):
            found: list[int] = np.unique(own[rows] * ctas + other[rows]).tolist()
            for pair in found:
                union.join(*divmod(pair, ctas))


def _gathered(union: _Union, cta: Int64, seen: Survey, enough: int) -> Int64:
    """The number of the group of each CTA: what belongs together, and in the order of time as much as is enough."""
    size = int(cta.max()) + 1
    roots = np.array([union.root(each) for each in range(size)], np.int64)
    begin = np.full(size, np.iinfo(np.int64).max)
    np.minimum.at(begin, roots[cta], seen.first)
    counts = np.zeros(size, np.int64)
    np.add.at(counts, roots[cta], seen.counts)
    group = np.zeros(size, np.int64)
    number = held = 0
    order: list[int] = np.argsort(begin, kind="stable").tolist()
    for root, following in pairwise([*(each for each in order if roots[each] == each), -1]):
        group[root] = number
        held += int(counts[root])
        if held >= enough and following >= 0:
            number, held = number + 1, 0
    return group[roots]
