"""What each warp group spends its time on, and for whom it waits: every cycle has one cause."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tlxviz.analysis.attributor import Attributor
from tlxviz.analysis.causes import CAUSES, NUMBER, Cause
from tlxviz.analysis.groups import WarpGroup, group_of_track
from tlxviz.analysis.links import Activity, Dependencies
from tlxviz.analysis.occupation import Occupation
from tlxviz.analysis.parts import Parts
from tlxviz.analysis.phases import Phase
from tlxviz.analysis.site_totals import site_totals
from tlxviz.trace.model import LaunchTrace

Int64 = NDArray[np.int64]


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
    part = Parts(launch, one=True)[0]
    group = group_of_track(launch, groups)[part.tracks]
    places, tracks = np.argsort(part.rows), np.argsort(part.tracks)
    every = Attributor(launch, len(groups))
    every.add(part, made.renumbered(part.rows, places, tracks, part.occupied), group)
    every.add_issues(site_totals(part, group, len(groups)))
    return summed(every, groups, occupied.upper - occupied.lower, most)


def summed(every: Attributor, groups: list[WarpGroup], lives: Int64, most: int = 200) -> tuple[GroupAttribution, ...]:
    """What has been found of each warp group.

    Args:
        lives: SM cycles of each track of the launch.
        most: Items of a warp group.
    """
    parts, totals = every.ledger.entries()
    agents = every.launch.agents
    found: list[GroupAttribution] = []
    for number, member in enumerate(groups):
        span = int(lives[list(member.tracks)].sum()) if member.tracks else 0
        if span <= 0:
            found.append(GroupAttribution(member.agent.name, member.agent.role, 0, {}, ()))
            continue
        mine = np.flatnonzero(parts[0] == number)
        phase, cause = parts[1, mine], parts[2, mine]
        outside = [phase == Phase.PROLOGUE, phase == Phase.EPILOGUE]
        named = np.select(outside, [NUMBER[Cause.PROLOGUE], NUMBER[Cause.EPILOGUE]], cause)
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
