"""Where data go: which copy filled the slot that an event reads, and what freed the slot that a copy fills.

Both are found in the trace and its program together, and only where these leave no doubt.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tlxviz.analysis.guards import guard_of
from tlxviz.analysis.slots import Slots
from tlxviz.ir.accesses import Access, accesses, agent_of
from tlxviz.ir.operands import operand
from tlxviz.ir.program import BarrierArray, Buffer, Program, Site, SiteKind
from tlxviz.trace.model import LaunchTrace, TrackKind

Int64 = NDArray[np.int64]

_READERS = frozenset({SiteKind.MMA, SiteKind.TMA_STORE, SiteKind.TMA_REDUCE})
_NONE = np.empty(0, np.int64)


class FlowKind(IntEnum):
    """What a link says."""

    FILLED = 0
    """The source brought the data that the target reads."""
    FREED = 1
    """The source gave back the slot that the target fills."""


@dataclass(frozen=True, slots=True, eq=False)
class DataFlow:
    """Links between events of a launch, by source and target. Rows are those of the event table.

    A copy or a product is the event on the engine's track, or the one on the warp group's where there is no other.
    """

    source: Int64
    target: Int64
    kind: NDArray[np.int8]
    _by_target: Int64
    """The links' positions by target."""

    def into(self, event: int) -> list[tuple[int, FlowKind]]:
        """The sources of the links that lead to an event."""
        first, last = np.searchsorted(self.target, [event, event + 1], sorter=self._by_target)
        return [(int(self.source[at]), FlowKind(int(self.kind[at]))) for at in self._by_target[first:last]]

    def out_of(self, event: int) -> list[tuple[int, FlowKind]]:
        """The targets of the links that lead away from it."""
        first, last = np.searchsorted(self.source, [event, event + 1])
        return [(int(self.target[at]), FlowKind(int(self.kind[at]))) for at in range(first, last)]


def data_flow(launch: LaunchTrace, program: Program | None) -> DataFlow:
    """The links of a launch; none without a program.

    A read finds its fill by barriers: the phase of the copies' barrier for which the warp group waited last, before it
    began to read, names the copies. A buffer that a warp group also stores to, or that is reached through an index
    that nothing tells, has no such links, nor has a slot whose copies complete different barriers, nor one that is
    already filled anew. Copies without TMA are found by the order of the warp group that issues and reads them.

    A copy finds what freed its slot by the wait before it for a barrier that has the same index, if there is one such
    wait alone, and somebody who reads the buffer arrives there.
    """
    if program is None or not len(launch.events):
        return _flow([])
    return _flow(list(_Finder(launch, program).links()))


def _flow(parts: list[tuple[Int64, Int64, FlowKind]]) -> DataFlow:
    source = np.concatenate([_NONE, *(each[0] for each in parts)])
    target = np.concatenate([_NONE, *(each[1] for each in parts)])
    kind = np.concatenate([np.empty(0, np.int8), *(np.full(len(each[0]), each[2], np.int8) for each in parts)])
    order = np.lexsort((target, source))
    source, target, kind = source[order], target[order], kind[order]
    if len(source):  # A and B of a product may be of one copy
        fresh = np.concatenate(([True], (np.diff(source) != 0) | (np.diff(target) != 0) | (np.diff(kind) != 0)))
        source, target, kind = source[fresh], target[fresh], kind[fresh]
    return DataFlow(source, target, kind, np.argsort(target, kind="stable"))


class _Copies(NamedTuple):
    """Loads by TMA, one row each."""

    row: Int64
    cta: Int64
    slot: Int64
    """Of the buffer."""
    barrier: Int64
    """Number of the array that they complete."""
    barrier_slot: Int64
    phase: Int64


class _Finder:
    def __init__(self, launch: LaunchTrace, program: Program) -> None:
        self._launch, self._program = launch, program
        self._events = launch.events
        self._slots = Slots(launch, program)
        kinds = [each.kind for each in launch.tracks]
        self._group = np.array([each is TrackKind.WARP_GROUP for each in kinds], np.bool_)[self._events["track"]]
        self._cta = np.array([each.cta for each in launch.tracks], np.int64)[self._events["track"]]
        self._span = int(self._events["end"].max()) + 2
        self._engines = self._engines_of()
        self._accesses = accesses(program)

    def _engines_of(self) -> tuple[Int64, Int64]:
        """The events that issued work to an engine, ascending, and the work; one each."""
        by = self._events["released_by"]
        rows = np.flatnonzero(~self._group & (by >= 0))
        rows = rows[self._events["site"][rows] == self._events["site"][by[rows]]]
        issue, first = np.unique(by[rows], return_index=True)
        return issue, rows[first]

    def _work(self, issue: Int64) -> Int64:
        """What an engine did of what was issued; the issue itself where it is no engine's."""
        issues, works = self._engines
        if not len(issues):
            return issue
        at = np.minimum(np.searchsorted(issues, issue), len(issues) - 1)
        return np.where(issues[at] == issue, works[at], issue)

    def _rows(self, site: Site, *, on_group: bool) -> Int64:
        return np.flatnonzero((self._events["site"] == site.index) & (self._group == on_group))

    def links(self) -> Iterator[tuple[Int64, Int64, FlowKind]]:
        for buffer in self._program.buffers:
            own = [each for each in self._accesses if each.buffer is buffer]
            writers = [self._program.site_of.get(each.operation) for each in own if each.writes]
            known = [each for each in writers if each is not None]
            readers = [
                (site, each)
                for each in own
                if not each.writes and (site := self._program.site_of.get(each.operation)) is not None
            ]
            readers = [(site, each) for site, each in readers if site.kind in _READERS]
            sure = len(known) == len(writers) and all(each.index is not None for each in own if each.writes)
            kinds = {each.kind for each in known}
            if sure and kinds == {SiteKind.TMA_LOAD}:
                copies = self._copies(buffer, own)
                for site, each in readers:
                    yield self._fills(copies, site, each)
            elif sure and kinds == {SiteKind.ASYNC_COPY} and not any(_elsewhere(each.operation.name) for each in known):
                yield from self._issued(own, readers)
            yield from self._freed(own)

    # ---- fills by TMA

    def _copies(self, buffer: Buffer, own: list[Access]) -> _Copies:
        found: list[tuple[Int64, ...]] = []
        for each in own:
            if not each.writes:
                continue
            site = self._program.site_of[each.operation]
            barrier = operand(self._program, site, "barrier")
            if barrier is None or not isinstance(barrier.root, BarrierArray):
                continue
            rows = self._rows(site, on_group=False)
            issue = self._events["released_by"][rows]
            rows, issue = rows[issue >= 0], issue[issue >= 0]
            # one that goes to several CTAs of a cluster goes to the same slot of each
            slot = self._slots.of(site, each.index, buffer.slots, issue)
            number = np.full(len(rows), barrier.root.index, np.int64)
            columns = (self._events["slot"][rows].astype(np.int64), self._events["phase"][rows].astype(np.int64))
            found.append((rows, self._cta[rows], slot, number, *columns))
        columns = [np.concatenate(each) for each in zip(*found, strict=True)] if found else [_NONE] * 6
        made = _Copies(*columns)
        keep = (made.slot >= 0) & (made.barrier_slot >= 0) & (made.phase >= 0)
        # all copies into a slot complete one barrier's phases
        keep &= _alone(made.slot, made.barrier * self._span + made.barrier_slot)
        return _Copies(*(each[keep] for each in made))

    def _fills(self, copies: _Copies, site: Site, read: Access) -> tuple[Int64, Int64, FlowKind]:
        issue = self._rows(site, on_group=True)
        slot = self._slots.of(site, read.index, read.buffer.slots, issue)
        issue, slot = issue[slot >= 0], slot[slot >= 0]
        if not len(issue) or not len(copies.row):
            return _NONE, _NONE, FlowKind.FILLED
        # the barrier of each slot
        slots, first = np.unique(copies.slot, return_index=True)
        at = np.minimum(np.searchsorted(slots, slot), len(slots) - 1)
        there = slots[at] == slot
        issue, slot, at = issue[there], slot[there], first[at[there]]
        phase = self._waited(issue, copies.barrier[at], copies.barrier_slot[at])
        issue, slot, phase = issue[phase >= 0], slot[phase >= 0], phase[phase >= 0]
        size = int(copies.phase.max()) + 3
        many = int(copies.slot.max()) + 1
        key = (copies.cta * many + copies.slot) * size + copies.phase
        order = np.lexsort((copies.row, key))
        rows, key = copies.row[order], key[order]
        wanted = (self._cta[issue] * many + slot) * size + np.minimum(phase, size - 2)
        begin, end = np.searchsorted(key, wanted), np.searchsorted(key, wanted, side="right")
        # filled anew before it was read: not what was waited for
        later = np.searchsorted(key, wanted + 1)
        following = np.searchsorted(key, wanted + 1, side="right") > later
        start = self._events["begin"][rows[np.minimum(later, len(rows) - 1)]]
        count = np.where(following & (start < self._events["begin"][issue]), 0, end - begin)
        source = rows[
            np.repeat(begin, count) + np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
        ]
        return source, np.repeat(self._work(issue), count), FlowKind.FILLED

    def _waited(self, issue: Int64, barrier: Int64, slot: Int64) -> Int64:
        """The phase of a barrier for which the track of each event has waited last before it; -1 for none."""
        found = np.full(len(issue), -1, np.int64)
        for number in np.unique(barrier).tolist():
            sites = [each.index for each in self._program.sites if self._waits_for(each, number)]
            waits = np.flatnonzero(np.isin(self._events["site"], sites) & self._group)
            own = np.flatnonzero(barrier == number)
            wait = self._latest(waits, self._events["slot"][waits].astype(np.int64), issue[own], slot[own])
            found[own] = np.where(wait >= 0, self._completed(wait), -1)
        return found

    def _waits_for(self, site: Site, barrier: int) -> bool:
        if site.kind is not SiteKind.WAIT:
            return False
        root = self._program.roots.get(site.operation.groups["barrier"][0])
        return isinstance(root, BarrierArray) and root.index == barrier

    def _completed(self, waits: Int64) -> Int64:
        """The number of the phase that each wait was for: that of what released it, if its parity is the wait's."""
        by = self._events["released_by"][waits]
        phase = np.where(by >= 0, self._events["phase"][by], -1).astype(np.int64)
        fits = (by >= 0) & (self._events["slot"][by] == self._events["slot"][waits])
        fits &= phase % 2 == self._events["phase"][waits]
        return np.where(fits, phase, -1)

    # ---- fills without TMA

    def _issued(self, own: list[Access], readers: list[tuple[Site, Access]]) -> Iterator[tuple[Int64, Int64, FlowKind]]:
        """From the last copy that a warp group issued into a slot to what it reads there."""
        rows, slots = _NONE, _NONE
        for each in own:
            if each.writes:
                site = self._program.site_of[each.operation]
                issue = self._rows(site, on_group=True)
                rows = np.concatenate((rows, issue))
                slots = np.concatenate((slots, self._slots.of(site, each.index, each.buffer.slots, issue)))
        if not len(rows) or (slots < 0).any():
            return
        for site, each in readers:
            issue = self._rows(site, on_group=True)
            copy = self._latest(rows, slots, issue, self._slots.of(site, each.index, each.buffer.slots, issue))
            known = copy >= 0
            yield self._work(copy[known]), self._work(issue[known]), FlowKind.FILLED

    def _latest(self, rows: Int64, slots: Int64, issue: Int64, slot: Int64) -> Int64:
        """For each event of `issue`, the last of `rows` of its slot, on its track, that began no later; -1 for none."""
        if not len(rows):
            return np.full(len(issue), -1, np.int64)
        begin, track = self._events["begin"], self._events["track"].astype(np.int64)
        many = int(max(slots.max(), slot.max(initial=0))) + 2
        place = (track[rows] * many + slots + 1) * self._span
        wanted = (track[issue] * many + slot + 1) * self._span
        at = place + begin[rows]
        order = np.argsort(at, kind="stable")
        last = np.searchsorted(at[order], wanted + begin[issue], side="right") - 1
        found = order[np.maximum(last, 0)]
        return np.where((last >= 0) & (place[found] == wanted), rows[found], -1)

    # ---- what freed a slot

    def _freed(self, own: list[Access]) -> Iterator[tuple[Int64, Int64, FlowKind]]:
        readers = {agent.name for each in own if not each.writes and (agent := agent_of(self._program, each.operation))}
        for each in own:
            site = self._program.site_of.get(each.operation)
            if not each.writes or site is None or site.kind is not SiteKind.TMA_LOAD:
                continue
            guard = guard_of(self._program, each)
            if guard is None:
                continue
            works = self._rows(site, on_group=False)
            issue = self._events["released_by"][works]
            works, issue = works[issue >= 0], issue[issue >= 0]
            wait = self._slots.latest(guard.index, issue)
            by = np.where(wait >= 0, self._events["released_by"][wait], -1)
            ok = np.flatnonzero((by >= 0) & self._by_reader(by, readers))
            yield by[ok], works[ok], FlowKind.FREED

    def _by_reader(self, rows: Int64, readers: set[str]) -> NDArray[np.bool_]:
        named = np.array([each.name in readers for each in self._launch.tracks], np.bool_)
        return named[self._events["track"][rows]]


def _elsewhere(operation: str) -> bool:
    """Whether it copies into other CTAs."""
    return "remote" in operation


def _alone(of: Int64, values: Int64) -> NDArray[np.bool_]:
    """Whether equal elements of `of` have one value only."""
    if not len(of):
        return np.empty(0, np.bool_)
    numbers, at = np.unique(of, return_inverse=True)
    least, most = np.full(len(numbers), np.iinfo(np.int64).max), np.full(len(numbers), -1, np.int64)
    np.minimum.at(least, at, values)
    np.maximum.at(most, at, values)
    return (least == most)[at]
