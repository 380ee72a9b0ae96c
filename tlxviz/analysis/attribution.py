"""What each warp group spends its time on, and for whom it waits: every cycle has one cause."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum, StrEnum

import numpy as np
from numpy.typing import NDArray

from tlxviz.analysis.chains import Blame, blame
from tlxviz.analysis.dependencies import Activity, Dependencies
from tlxviz.analysis.doers import cycles_of_products, doers
from tlxviz.analysis.groups import WarpGroup, group_of_track
from tlxviz.analysis.ledger import Ledger
from tlxviz.analysis.occupation import Occupation
from tlxviz.analysis.phases import Phase, in_main_loop, phases
from tlxviz.analysis.places import places_of_sites
from tlxviz.trace.model import LaunchTrace
from tlxviz.trace.vocabulary import Work

Int64 = NDArray[np.int64]


class Cause(StrEnum):
    """What a cycle of a warp group goes to. All but the last three are of its main loop."""

    TENSOR_CORE = "tensor_core"
    """The tensor core computes the warp group's own products."""
    TENSOR_CORE_OTHER = "tensor_core_other"
    """The tensor core is busy with products of another warp group, or of another CTA of the SM."""
    COPY_LATENCY = "copy_latency"
    """A copy is under way that nothing holds up."""
    COPY_BANDWIDTH = "copy_bandwidth"
    """A copy is behind others: the engine or memory is saturated."""
    RING_FULL = "ring_full"
    """A producer waits for a slot: its consumers are late."""
    RING_EMPTY = "ring_empty"
    """A consumer waits for data that its producer has not asked for yet: the producer is late."""
    PARTNER = "partner"
    """A named barrier, or that of the cluster, holds it until others come."""
    ARITHMETIC = "arithmetic"
    """Its own work between events: arithmetic, loads without TMA, control flow."""
    ISSUE = "issue"
    """It hands work to others."""
    SYNCHRONIZATION = "synchronization"
    """From a release until it goes on; waits that find their phase complete."""
    PROLOGUE = "prologue"
    """Anything before its main loop."""
    EPILOGUE = "epilogue"
    """Anything after it."""
    OTHER = "other"
    """Waits of which nobody recorded what ended them."""


CAUSES = tuple(Cause)
_NUMBER = {cause: number for number, cause in enumerate(CAUSES)}
_FILLING = frozenset({"expect", "tma_load", "async_copy", "clc"})


@dataclass(frozen=True, slots=True)
class Item:
    """Time of a warp group with one cause, at one place, because of one party."""

    agent: str
    cause: Cause
    phase: Phase
    """Causes of time outside the main loop are told apart here; `shares` has them as prologue and epilogue."""
    kind: str
    """Kind of the site at which the time went by; empty for arithmetic."""
    variable: str
    """The barrier or buffer there; empty for none."""
    file: str
    line: int
    culprit: str
    """The warp group that did what was waited for, or that issued it to an engine; empty for the warp group itself."""
    doing: Activity
    """What went on meanwhile."""
    cycles: int
    share: float
    """Of the warp group's time."""


@dataclass(frozen=True, slots=True)
class GroupAttribution:
    name: str
    role: str
    cycles: int
    """SM cycles of the warp group in all traced CTAs together."""
    shares: Mapping[Cause, float]
    """Fractions of these, longest first; they add up to 1."""
    items: tuple[Item, ...]
    """Where that is, longest first."""


def attribution(
    launch: LaunchTrace, groups: list[WarpGroup], occupied: Occupation, made: Dependencies, *, most: int = 200
) -> tuple[GroupAttribution, ...]:
    """Where the time of each warp group goes, over the traced CTAs together.

    Args:
        most: Items of a warp group.
    """
    every = _Attributor(launch, groups, occupied, made)
    every.run()
    return _summed(every, most)


class _Attributor:
    def __init__(self, launch: LaunchTrace, groups: list[WarpGroup], occupied: Occupation, made: Dependencies) -> None:
        self.launch, self.groups, self.occupied, self.made = launch, groups, occupied, made
        self.places, self.place_of_site = places_of_sites(launch)
        self.ledger = Ledger(len(groups), len(Phase), len(CAUSES), len(self.places), len(launch.agents), len(Activity))
        self.group_of_track = group_of_track(launch, groups)
        self.agent_of_track = np.array([each.agent for each in launch.tracks], np.int64)
        self.positions = np.flatnonzero(made.on_group[occupied.row]) if len(occupied.row) else np.empty(0, np.int64)
        self.order = occupied.row[self.positions]
        """Events of warp groups, by track and begin."""
        self.track = occupied.track[self.positions]
        self.group = self.group_of_track[self.track] if len(self.order) else self.order
        self.site = launch.events["site"][self.order].astype(np.int64)
        self.phase, self.gap = phases(launch, made, self.order)

    def run(self) -> None:
        self._arithmetic()
        self._tails()
        self._issues()
        self._waits()

    def _arithmetic(self) -> None:
        if len(self.order):
            begin = self.occupied.begin[self.positions]
            ended = np.concatenate(([0], (begin + self.occupied.cycles[self.positions])[:-1]))
            first = np.concatenate(([True], np.diff(self.track) != 0))
            cycles = begin - np.where(first, self.occupied.lower[self.track], ended)
            self.ledger.add(self.group, self.gap, _NUMBER[Cause.ARITHMETIC], -1, -1, Activity.ARITHMETIC, cycles)

    def _tails(self) -> None:
        """What comes after the last event of each track; all of a track without events."""
        tracks = np.flatnonzero(self.group_of_track >= 0)
        last = self.occupied.lower.copy()
        ends = np.flatnonzero(np.concatenate((np.diff(self.track) != 0, [True]))) if len(self.order) else self.order
        last[self.track[ends]] = (self.occupied.begin + self.occupied.cycles)[self.positions[ends]]
        looping = np.zeros(len(self.launch.tracks), bool)
        looping[self.track[in_main_loop(self.launch)[self.site]]] = True
        phase = np.where(looping[tracks], Phase.EPILOGUE, Phase.LOOP).astype(np.int8)
        cycles = np.maximum(0, self.occupied.upper - last)[tracks]
        self.ledger.add(
            self.group_of_track[tracks], phase, _NUMBER[Cause.ARITHMETIC], -1, -1, Activity.ARITHMETIC, cycles
        )

    def _issues(self) -> None:
        """Issuing, of which an MMA's may wait for the tensor core: that goes to whose products run meanwhile."""
        made = self.made
        issues = np.flatnonzero(made.work[self.order] != Work.WAIT)
        cycles = self.occupied.cycles[self.positions[issues]]
        held = np.flatnonzero(made.cause[self.order[issues]] >= 0)
        which = issues[held]
        rows = self.order[which]
        own, all_of_it = cycles_of_products(self.launch, made, rows, made.begin[rows], made.since[rows])
        all_of_it = np.minimum(all_of_it, cycles[held])
        own = np.minimum(own, all_of_it)
        cycles[held] -= all_of_it
        place = self.place_of_site[self.site]
        columns = self.group[which], self.phase[which]
        for part, cause in ((own, Cause.TENSOR_CORE), (all_of_it - own, Cause.TENSOR_CORE_OTHER)):
            self.ledger.add(*columns, _NUMBER[cause], place[which], -1, Activity.PRODUCT, part)
        self.ledger.add(
            self.group[issues], self.phase[issues], _NUMBER[Cause.ISSUE], place[issues], -1, Activity.ISSUE, cycles
        )

    def _waits(self) -> None:
        made = self.made
        which = np.flatnonzero(made.work[self.order] == Work.WAIT)
        waits = self.order[which]
        found = blame(made, waits)
        at = found.place
        own = found.row == waits[at]
        doer = doers(self.launch, made, found.row)
        culprit = np.full(len(doer), -1, np.int64)
        culprit[doer >= 0] = self.agent_of_track[doer[doer >= 0]]
        itself = doer == self.track[which][at]
        cause = self._causes(waits, self.site[which], found, own, itself)
        culprit[own | itself] = -1
        place = self.place_of_site[self.site[which]]
        group, phase = self.group[which], self.phase[which]
        self.ledger.add(group[at], phase[at], cause, place[at], culprit, found.activity, found.cycles)
        rest = (made.end[waits] - made.begin[waits]) - np.bincount(
            at, weights=found.cycles, minlength=len(waits)
        ).astype(np.int64)
        left = rest > 0
        other = _NUMBER[Cause.OTHER]
        self.ledger.add(group[left], phase[left], other, place[left], -1, Activity.UNKNOWN, rest[left])

    def _causes(
        self, waits: Int64, site: Int64, found: Blame, own: NDArray[np.bool_], itself: NDArray[np.bool_]
    ) -> Int64:
        """The number of the cause of each stretch: by what the wait is for, and what went on meanwhile."""
        made, at, number = self.made, found.place, _NUMBER
        released = made.cause[waits]
        by_engine = (released >= 0) & ~made.on_group[released]
        kinds = np.array([_WAITS.get(each.kind, _Wait.OTHER) for each in self.launch.sites] + [_Wait.OTHER], np.int8)
        kind = kinds[site]
        kind[filling_sites(self.launch)[site] & ~by_engine & (kind == _Wait.PHASE)] = _Wait.SLOT
        kind[by_engine & (kind == _Wait.PHASE)] = _Wait.ENGINE
        nobody = (made.activity[waits] == Activity.UNKNOWN) & (kind != _Wait.PARTNERS)
        # rows: what the wait is for; columns: what went on, and whose product it was
        table = np.full((len(_Wait), len(Activity) + 1), number[Cause.RING_EMPTY], np.int64)
        table[_Wait.ENGINE, Activity.PRODUCT] = table[_Wait.PRODUCTS, Activity.PRODUCT] = number[
            Cause.TENSOR_CORE_OTHER
        ]
        table[:, Activity.COPY_LATENCY] = number[Cause.COPY_LATENCY]
        table[:, Activity.COPY_BANDWIDTH] = number[Cause.COPY_BANDWIDTH]
        for each in (_Wait.PRODUCTS, _Wait.STORES, _Wait.OTHER):
            table[each, [Activity.ARITHMETIC, Activity.ISSUE, Activity.HAND_OFF]] = number[Cause.ISSUE]
        table[_Wait.SLOT] = number[Cause.RING_FULL]
        table[_Wait.PARTNERS] = number[Cause.PARTNER]
        table[_Wait.COPIES] = number[Cause.COPY_LATENCY]
        table[[_Wait.ENGINE, _Wait.PRODUCTS], len(Activity)] = number[Cause.TENSOR_CORE]
        table[[_Wait.PHASE, _Wait.STORES, _Wait.OTHER], len(Activity)] = number[Cause.TENSOR_CORE]
        doing = np.where((found.activity == Activity.PRODUCT) & itself, len(Activity), found.activity)
        cause = table[kind[at], doing]
        # nothing but partners holds up a barrier of theirs
        missed = (kind[at] == _Wait.PARTNERS) & (found.activity == Activity.UNKNOWN)
        cause[own & (kind[at] != _Wait.COPIES) & ~missed] = number[Cause.SYNCHRONIZATION]
        cause[own & nobody[at]] = number[Cause.OTHER]
        return cause


class _Wait(IntEnum):
    """What a wait is for."""

    PHASE = 0
    """A phase that another warp group's arrival completes."""
    SLOT = 1
    """The same, of a slot to be filled."""
    ENGINE = 2
    """A phase that a copy or product completes."""
    PRODUCTS = 3
    STORES = 4
    PARTNERS = 5
    COPIES = 6
    """Copies without TMA, which no event ends."""
    OTHER = 7


_WAITS = {
    "wait": _Wait.PHASE,
    "mma_wait": _Wait.PRODUCTS,
    "tma_store_wait": _Wait.STORES,
    "named_wait": _Wait.PARTNERS,
    "cluster_wait": _Wait.PARTNERS,
    "async_copy_wait": _Wait.COPIES,
}


def filling_sites(launch: LaunchTrace) -> NDArray[np.bool_]:
    """Whether each site is a wait after which its warp group fills a slot; one entry more, false, for site -1."""
    found = np.zeros(len(launch.sites) + 1, bool)
    following: dict[int, str] = {}
    for number in range(len(launch.sites) - 1, -1, -1):
        site = launch.sites[number]
        if site.kind == "wait":
            found[number] = following.get(site.agent, "") in _FILLING
        elif site.kind not in ("fence", "range_begin", "range_end"):
            following[site.agent] = site.kind
    return found


def _summed(every: _Attributor, most: int) -> tuple[GroupAttribution, ...]:
    parts, totals = every.ledger.entries()
    occupied, agents = every.occupied, every.launch.agents
    found: list[GroupAttribution] = []
    for number, member in enumerate(every.groups):
        rows = list(member.tracks)
        span = int(np.sum(occupied.upper[rows] - occupied.lower[rows])) if rows else 0
        if span <= 0:
            found.append(GroupAttribution(member.agent.name, member.agent.role, 0, {}, ()))
            continue
        mine = np.flatnonzero(parts[0] == number)
        phase, cause = parts[1, mine], parts[2, mine]
        outside = [phase == Phase.PROLOGUE, phase == Phase.EPILOGUE]
        named = np.select(outside, [_NUMBER[Cause.PROLOGUE], _NUMBER[Cause.EPILOGUE]], cause)
        by_cause = np.bincount(named, weights=totals[mine], minlength=len(CAUSES)) / span
        ranking: list[int] = np.argsort(-by_cause, kind="stable").tolist()
        shares = {CAUSES[each]: float(by_cause[each]) for each in ranking if by_cause[each] > 0}
        items: list[Item] = []
        longest: list[int] = mine[np.argsort(-totals[mine], kind="stable")][:most].tolist()
        for one in longest:
            in_phase, why, where, who, what = (int(parts[row, one]) for row in range(1, 6))
            kind, variable, file, line = every.places[where - 1] if where else ("", "", "", 0)
            culprit = agents[who - 1].name if who else ""
            cycles = int(totals[one])
            place = (kind, variable, file, line, culprit)
            name = member.agent.name
            items.append(Item(name, CAUSES[why], Phase(in_phase), *place, Activity(what), cycles, cycles / span))
        found.append(GroupAttribution(member.agent.name, member.agent.role, span, shares, tuple(items)))
    return tuple(found)
