"""Warp groups of two launches side by side: causes of their time, and how long each takes at each place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tlxviz.analysis.causes import CAUSES, Cause
from tlxviz.analysis.difference_launch import LaunchFacts
from tlxviz.analysis.difference_places import Place, PlaceMap
from tlxviz.trace.model import AgentRow, LaunchTrace


@dataclass(frozen=True, slots=True)
class CausePair:
    cause: Cause
    a: float
    """SM cycles of a CTA, on average over the traced ones."""
    b: float
    share_a: float
    """Of the warp group's time."""
    share_b: float


@dataclass(frozen=True, slots=True)
class RoleDifference:
    name_a: str | None
    """None for a warp group that only the second launch has."""
    name_b: str | None
    role: str
    a: float | None
    """SM cycles of the warp group in a CTA, on average over the traced ones; None where nothing was traced."""
    b: float | None
    causes: tuple[CausePair, ...]
    """The largest differences first."""


@dataclass(frozen=True, slots=True)
class SiteDifference:
    agent: str
    """Name of the warp group in the first launch, or in the only one that has it."""
    kind: str
    """Kind of the site; empty for what the warp group does between its events: arithmetic."""
    variable: str
    file: str
    """Source file; of the first kernel where both have the place."""
    line_a: int | None
    """Source line in the first kernel; None where it has none."""
    line_b: int | None
    count_a: float
    """Executions in a CTA, on average; 1 for what is between events."""
    count_b: float
    mean_a: float | None
    """SM cycles of one execution; None where there is none."""
    mean_b: float | None

    @property
    def difference(self) -> float:
        """SM cycles of a CTA by which the second launch takes longer here."""
        return self.count_b * (self.mean_b or 0.0) - self.count_a * (self.mean_a or 0.0)


def role_differences(
    a: LaunchFacts, b: LaunchFacts, pairs: Sequence[tuple[int | None, int | None]]
) -> tuple[RoleDifference, ...]:
    """Each pair of warp groups (positions in `groups`), with what its time goes to."""
    found: list[RoleDifference] = []
    for first, second in pairs:
        one, other = _of(a, first), _of(b, second)
        before, after = one[1] or 0.0, other[1] or 0.0
        causes: list[CausePair] = []
        for cause in CAUSES:
            share_a, share_b = one[2].get(cause, 0.0), other[2].get(cause, 0.0)
            if share_a or share_b:
                causes.append(CausePair(cause, before * share_a, after * share_b, share_a, share_b))
        causes.sort(key=lambda each: -abs(each.b - each.a))
        agent = one[0] or other[0]
        found.append(
            RoleDifference(
                one[0].name if one[0] else None,
                other[0].name if other[0] else None,
                agent.role if agent else "",
                one[1],
                other[1],
                tuple(causes),
            )
        )
    return tuple(found)


def _of(facts: LaunchFacts, number: int | None) -> tuple[AgentRow | None, float | None, Mapping[Cause, float]]:
    """A warp group, its cycles in a CTA, and the shares of its causes."""
    if number is None:
        return None, None, {}
    agent, ctas = facts.account.groups[number].agent, len(facts.account.groups[number].tracks)
    found = facts.account.attribution[number]
    return (agent, found.cycles / ctas, found.shares) if ctas else (agent, None, {})


def site_differences(
    a: tuple[LaunchTrace, LaunchFacts], b: tuple[LaunchTrace, LaunchFacts], places: PlaceMap
) -> tuple[SiteDifference, ...]:
    """Mean durations at every place of the warp groups, the largest differences of a CTA's time first.

    The differences of a warp group add up to that of its time in a CTA.
    """
    joined = [_by_place(*a), _joined(_by_place(*b), places)]
    found: list[SiteDifference] = []
    for place in dict.fromkeys([*joined[0], *joined[1]]):
        (count_a, cycles_a), (count_b, cycles_b) = (each.get(place, (0.0, 0.0)) for each in joined)
        line_a, line_b = places.lines(place)
        found.append(
            SiteDifference(
                place.agent,
                place.kind,
                place.variable,
                place.file,
                line_a,
                line_b,
                count_a,
                count_b,
                cycles_a / count_a if count_a else None,
                cycles_b / count_b if count_b else None,
            )
        )
    return tuple(sorted(found, key=lambda each: -abs(each.difference)))


def _joined(entries: dict[Place, tuple[float, float]], places: PlaceMap) -> dict[Place, tuple[float, float]]:
    made: dict[Place, tuple[float, float]] = {}
    for place, (count, cycles) in entries.items():
        first = places.first(place)
        before = made.get(first, (0.0, 0.0))
        made[first] = (before[0] + count, before[1] + cycles)
    return made


def _by_place(launch: LaunchTrace, facts: LaunchFacts) -> dict[Place, tuple[float, float]]:
    """Executions and SM cycles of a CTA at each place, on average over the traced CTAs."""
    lives, totals = facts.account.lives, facts.account.totals
    counts, cycles = totals.counts, totals.cycles
    found: dict[Place, tuple[float, float]] = {}
    for number, each in enumerate(facts.account.groups):
        ctas = len(each.tracks)
        if not ctas:
            continue
        name, rows = each.agent.name, list(each.tracks)
        for site in np.flatnonzero(counts[number, :-1]).tolist():
            row = launch.sites[site]
            place = Place(name, row.kind, row.variable, row.file, row.line)
            before = found.get(place, (0.0, 0.0))
            found[place] = (
                before[0] + float(counts[number, site]) / ctas,
                before[1] + float(cycles[number, site]) / ctas,
            )
        span = float(lives[rows].sum())
        found[Place(name, "", "", "", 0)] = (1.0, (span - float(cycles[number].sum())) / ctas)
    return found
