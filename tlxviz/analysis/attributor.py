"""Where the time of warp groups goes, event by event."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tlxviz.analysis.causes import CAUSE_OF_WAIT, CAUSES, NUMBER, WAITS, Cause, Wait, filling_sites
from tlxviz.analysis.chains import blame
from tlxviz.analysis.doers import cycles_of_products, doers
from tlxviz.analysis.kinds import OF_TENSOR_MEMORY
from tlxviz.analysis.ledger import Ledger
from tlxviz.analysis.links import Activity, Dependencies
from tlxviz.analysis.parts import Part
from tlxviz.analysis.phases import Phase, phases
from tlxviz.analysis.places import places_of_sites
from tlxviz.analysis.site_totals import SiteTotals
from tlxviz.trace.model import LaunchTrace, TrackKind
from tlxviz.trace.vocabulary import Work, meaning

Int64 = NDArray[np.int64]


class Attributor:
    """Adds up the cycles of a launch's warp groups by cause, part by part."""

    def __init__(self, launch: LaunchTrace, groups: int) -> None:
        self.launch = launch
        self.places, self.place_of_site = places_of_sites(launch)
        self.ledger = Ledger(groups, len(Phase), len(CAUSES), len(self.places), len(launch.agents), len(Activity))
        self.wait_of_site = np.array(
            [WAITS.get(each.kind, Wait.OTHER) for each in launch.sites] + [Wait.OTHER], np.int64
        )
        self.filling = filling_sites(launch)
        in_memory = np.array([each.kind in OF_TENSOR_MEMORY for each in launch.sites] + [False])
        self.cause_of_site = np.where(in_memory, NUMBER[Cause.TENSOR_MEMORY], NUMBER[Cause.ISSUE]).astype(np.int64)
        """What a warp group does by itself at each site, as a number of a cause, and as an `Activity`."""
        self.doing_of_site = np.where(in_memory, Activity.TENSOR_MEMORY, Activity.ISSUE).astype(np.int8)

    def add(self, part: Part, made: Dependencies, group: Int64) -> None:
        """Adds a part, but for what its warp groups issue by themselves: that is the totals' of all.

        Args:
            group: Which warp group each track of the part is of.
        """
        here = _Part(self, part, made, group)
        here.arithmetic()
        here.issues()
        here.waits()

    def add_issues(self, totals: SiteTotals) -> None:
        """Adds what the warp groups issue in all parts. `add` has taken away what goes to somebody else."""
        works = [meaning(each.kind, TrackKind.WARP_GROUP) for each in self.launch.sites]
        issue = np.array([known is None or known.work != Work.WAIT for known in works] + [True])
        group, site = np.nonzero(totals.cycles * issue)
        phase = np.full(len(group), Phase.LOOP, np.int8)
        cycles, place = totals.cycles[group, site], self.place_of_site[site]
        self.ledger.add(group, phase, self.cause_of_site[site], place, -1, self.doing_of_site[site], cycles)


class _Part:
    """The events of a part's warp groups, which stand first in it."""

    def __init__(self, every: Attributor, part: Part, made: Dependencies, group: Int64) -> None:
        of_groups = part.on[TrackKind.WARP_GROUP]
        self.every, self.part, self.made, self.group_of_track = every, part, made, group
        self.group = part.spread(group)[of_groups]
        self.add = every.ledger.add
        self.begin, self.end = made.begin[of_groups], made.end[of_groups]
        self.track, self.work = made.track[of_groups], made.work[of_groups]
        self.site = part.launch.events["site"][of_groups]
        self.phases = phases(part)

    def arithmetic(self) -> None:
        """What lies between events, and behind the last one of each track; all of a track without events."""
        tracks = np.flatnonzero(self.group_of_track >= 0)
        last, looping = self.made.lower.copy(), np.zeros(len(self.group_of_track), bool)
        cause, doing = NUMBER[Cause.ARITHMETIC], Activity.ARITHMETIC
        if len(self.track):
            used = int(np.searchsorted(self.part.heads, len(self.track)))
            heads, of = self.part.heads[:used], self.part.used[:used]
            gaps = np.empty(len(self.track), np.int64)
            np.subtract(self.begin[1:], self.end[:-1], out=gaps[1:])
            gaps[heads] = self.begin[heads] - self.made.lower[of]
            group, gap = self.group_of_track[of], np.full(len(of), Phase.LOOP, np.int8)
            self.add(group, gap, cause, -1, -1, doing, np.add.reduceat(gaps, heads))
            self._elsewhere(np.flatnonzero(self.phases.gap), self.phases.gap, cause, -1, doing, gaps)
            last[of] = self.end[np.append(heads[1:], len(self.track)) - 1]
            looping[of] = np.logical_or.reduceat(self.phases.inside, heads)
        phase = np.where(looping[tracks], Phase.EPILOGUE, Phase.LOOP).astype(np.int8)
        cycles = np.maximum(0, self.made.upper - last)[tracks]
        self.add(self.group_of_track[tracks], phase, cause, -1, -1, doing, cycles)

    def issues(self) -> None:
        """Issuing outside of the main loop, and while an MMA waits for the tensor core: that goes to whose products run
        meanwhile."""
        made, cycles = self.made, self.end - self.begin
        outside = self.phases.outside[self.work[self.phases.outside] != Work.WAIT]
        outside = outside[self.phases.of[outside] != Phase.LOOP]
        every, site = self.every, self.site[outside]
        cause, doing = every.cause_of_site[site], every.doing_of_site[site]
        self._elsewhere(outside, self.phases.of, cause, every.place_of_site[site], doing, cycles)
        held = np.flatnonzero((made.cause[: len(self.work)] >= 0) & (self.work != Work.WAIT))
        own, all_of_it = cycles_of_products(self.part, made, held, self.begin[held], made.since[held])
        all_of_it = np.minimum(all_of_it, cycles[held])
        own = np.minimum(own, all_of_it)
        group, phase = self.group[held], self.phases.of[held]
        place = self.every.place_of_site[self.site[held]]
        for part, cause in ((own, Cause.TENSOR_CORE), (all_of_it - own, Cause.TENSOR_CORE_OTHER)):
            self.add(group, phase, NUMBER[cause], place, -1, Activity.PRODUCT, part)
        self.add(group, phase, NUMBER[Cause.ISSUE], place, -1, Activity.ISSUE, -all_of_it)

    def _elsewhere(
        self,
        events: Int64,
        phase: NDArray[np.int8],
        cause: Int64 | int,
        place: Int64 | int,
        doing: NDArray[np.int8] | Activity,
        cycles: Int64,
    ) -> None:
        """Takes what these events have been given from the main loop, and gives it to their phase."""
        group, cycles, phase = self.group[events], cycles[events], phase[events]
        self.add(group, np.full(len(events), Phase.LOOP, np.int8), cause, place, -1, doing, -cycles)
        self.add(group, phase, cause, place, -1, doing, cycles)

    def waits(self) -> None:
        made, every = self.made, self.every
        waits = np.flatnonzero(self.work == Work.WAIT)
        found = blame(made, waits)
        kind, of_itself = self._kinds(waits)
        track = self.track[waits]
        group, phase = self.group[waits], self.phases.of[waits]
        place = every.place_of_site[self.site[waits]]
        # what a wait took by itself, and what is due to others
        at, activity, cycles = found.place[: found.own], found.activity[: found.own], found.cycles[: found.own]
        self.add(group, phase, of_itself[at], place, -1, activity, cycles, at)
        at, activity, cycles = found.place[found.own :], found.activity[found.own :], found.cycles[found.own :]
        rows = found.row[found.own :]
        doer = doers(self.part.launch, made, rows)
        itself = doer == track[at]
        doing = activity.astype(np.int64)
        doing[np.flatnonzero(itself & (activity == Activity.PRODUCT))] = len(Activity)
        cause = CAUSE_OF_WAIT.ravel()[(kind * CAUSE_OF_WAIT.shape[1])[at] + doing]
        agent = np.array([*(each.agent for each in self.part.launch.tracks), -1], np.int64)
        culprit = agent[doer]
        culprit[itself] = -1
        if len(again := np.flatnonzero(rows == waits[at])):  # with clocks that differ, a chain can come back
            cause[again], culprit[again] = of_itself[at[again]], -1
        self.add(group, phase, cause, place, culprit, activity, cycles, at)
        rest = self.end[waits] - self.begin[waits]
        np.subtract.at(rest, found.place, found.cycles)
        left = np.flatnonzero(rest > 0)
        other = NUMBER[Cause.OTHER]
        self.add(group[left], phase[left], other, place[left], -1, Activity.UNKNOWN, rest[left])

    def _kinds(self, waits: Int64) -> tuple[Int64, Int64]:
        """The `Wait` that each is, and the number of the cause of what it takes by itself."""
        made, site, doing = self.made, self.site[waits], self.made.activity[waits]
        released = made.cause[waits]
        by_engine = released >= len(self.work)
        kind = self.every.wait_of_site[site]
        of_phase = kind == Wait.PHASE
        kind[of_phase & self.every.filling[site]] = Wait.SLOT
        kind[of_phase & by_engine] = Wait.ENGINE
        cause = np.full(len(waits), NUMBER[Cause.SYNCHRONIZATION], np.int64)
        unknown, partners = doing == Activity.UNKNOWN, kind == Wait.PARTNERS
        cause[unknown & ~partners] = NUMBER[Cause.OTHER]
        # nothing but partners holds up a barrier of theirs
        as_others = np.flatnonzero(((kind == Wait.COPIES) & ~unknown) | (partners & unknown))
        cause[as_others] = CAUSE_OF_WAIT[kind[as_others], doing[as_others]]
        return kind, cause
