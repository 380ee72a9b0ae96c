"""What stands in a lane: slices in order of time, and how much of them falls into each column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tlxviz.tui.looks import Look

Int64 = NDArray[np.int64]
NOTHING = np.empty(0, np.int64)


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

    @property
    def lanes(self) -> int:
        """Of how many lanes `coverage` adds up the time."""
        return 1

    @cached_property
    def covered(self) -> tuple[NDArray[np.int8], Int64]:
        """The looks that there are; and for each, cycles of its slices before slice 0, 1, ... and behind the last."""
        looks = np.flatnonzero(np.bincount(self.look, minlength=len(Look))).astype(np.int8)
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
        looks, portions = self.portions(edges)
        found[looks] = portions
        return found

    def portions(self, edges: Int64) -> tuple[NDArray[np.int8], Int64]:
        """The same for the looks that the lane has at all: which these are, and a row for each."""
        looks, found = np.empty(0, np.int8), np.empty((0, len(edges) - 1), np.int64)
        if len(self):
            looks, sums = self.covered
            place = np.searchsorted(self.begin, edges, side="right")
            before = np.maximum(place - 1, 0)
            begin = self.begin[before]
            inside = np.maximum(np.minimum(edges, self.end[before]) - begin, 0)
            until = sums[:, before] + (self.look[before] == looks[:, None]) * inside
            until[:, : int(np.searchsorted(place, 1))] = 0  # before the first slice
            found = until[:, 1:] - until[:, :-1]
        if self.between != Look.AWAY:
            ends = np.minimum(np.maximum(edges, self.life[0]), self.life[1])
            rest = np.maximum(ends[1:] - ends[:-1] - found.sum(axis=0), 0)
            own = np.flatnonzero(looks == self.between)
            if len(own):
                found[own[0]] += rest
            else:
                looks, found = np.append(looks, np.int8(self.between)), np.vstack((found, rest))
        return looks, found

    def at(self, cycle: int) -> int:
        """The slice in which a cycle lies; -1 for none. Of slices that take no time, the last."""
        place = int(np.searchsorted(self.begin, cycle, side="right")) - 1
        return place if place >= 0 and (cycle < self.end[place] or cycle == self.begin[place]) else -1

    def within(self, begin: int, end: int) -> slice:
        """Places of the slices that are in some of the time from `begin` to `end`."""
        first = int(np.searchsorted(self.begin, begin, side="right"))
        last = int(np.searchsorted(self.begin, end))
        if first and (self.end[first - 1] > begin or self.begin[first - 1] == begin):
            first -= 1
            while first and self.begin[first - 1] == begin:
                first -= 1
        return slice(first, max(first, last))


def no_slices(between: Look = Look.AWAY, life: tuple[int, int] = (0, 0)) -> Slices:
    return Slices(NOTHING, NOTHING, np.empty(0, np.int8), NOTHING, between, life)


@dataclass(eq=False)
class Counter(Slices):
    """A number over time: each slice is a stretch in which it does not change and is more than 0."""

    value: Int64 = field(default_factory=lambda: NOTHING)
    """Of each slice."""

    @cached_property
    def most(self) -> int:
        return int(self.value.max(initial=0))

    @cached_property
    def _sums(self) -> Int64:
        return np.concatenate(([0], np.cumsum((self.end - self.begin) * self.value)))

    def means(self, edges: Int64) -> NDArray[np.float64]:
        """The mean of the number in each column."""
        if not len(self):
            return np.zeros(len(edges) - 1)
        place = np.searchsorted(self.begin, edges, side="right")
        before = np.maximum(place - 1, 0)
        inside = (np.clip(edges, self.begin[before], self.end[before]) - self.begin[before]) * self.value[before]
        until = np.where(place > 0, self._sums[before] + inside, 0)
        return np.diff(until) / np.maximum(np.diff(edges), 1)


@dataclass(eq=False)
class Blend(Slices):
    """Several lanes as one: a column has the time of all of them. It has no slices of its own."""

    parts: Sequence[Slices] = ()

    @property
    def lanes(self) -> int:
        return len(self.parts)

    def portions(self, edges: Int64) -> tuple[NDArray[np.int8], Int64]:
        found = np.zeros((len(Look), len(edges) - 1), np.int64)
        for each in self.parts:
            looks, portions = each.portions(edges)
            found[looks] += portions
        looks = np.flatnonzero(found.any(axis=1)).astype(np.int8)
        return looks, found[looks]


def counter(begin: Int64, end: Int64, weight: Int64, look: Look) -> Counter:
    """How much is in flight at each time: the sum of the `weight` of what has begun and not ended."""
    time = np.concatenate((begin, end))
    order = np.argsort(time, kind="stable")
    time, change = time[order], np.concatenate((weight, -weight))[order]
    value = np.cumsum(change)
    # of what changes in one cycle, the last counts
    last = np.flatnonzero(np.append(np.diff(time) > 0, True)) if len(time) else NOTHING
    time, value = time[last], value[last]
    first, until, value = time[:-1], time[1:], value[:-1]
    some = value > 0
    first, until, value = first[some], until[some], value[some]
    looks = np.full(len(first), look, np.int8)
    return Counter(first, until, looks, np.full(len(first), -1, np.int64), value=value)


def cut(begin: Int64, end: Int64, look: NDArray[np.int8], event: Int64) -> Slices:
    """Slices of work that overlaps, given by begin: each cycle goes to what began first, the rest is cut off."""
    covered = np.maximum.accumulate(end) if len(end) else end
    first = begin.copy()
    first[1:] = np.maximum(begin[1:], covered[:-1])
    return Slices(first, np.maximum(end, first), look, event)


def overlap(begin: Int64, end: Int64) -> int:
    """How many levels `levels` needs: 0 without slices. Given by begin, equal ones by end."""
    if not len(begin):
        return 0
    nothing = begin == end
    ended = np.searchsorted(np.sort(end), begin, side="right")
    # those that take no time, begin now and stand behind in order have not ended before
    behind = np.searchsorted(begin[nothing], begin, side="right") - (np.cumsum(nothing) - nothing)
    return int((np.arange(len(begin)) - (ended - behind)).max()) + 1


def levels(begin: Int64, end: Int64) -> Int64:
    """A level for each slice, so that those of one level do not overlap: the first that is free."""
    found = np.zeros(len(begin), np.int64)
    if not (begin[1:] < np.maximum.accumulate(end)[:-1]).any():
        return found
    free: list[int] = []
    for place, (first, last) in enumerate(zip(begin.tolist(), end.tolist(), strict=True)):
        level = next((number for number, since in enumerate(free) if since <= first), len(free))
        if level == len(free):
            free.append(last)
        free[level] = last
        found[place] = level
    return found
