"""Two launches compared: which part of the difference in time comes from where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tlxviz.analysis.difference_causes import CauseDifference, cause_differences, explained, path_parts
from tlxviz.analysis.difference_iterations import IterationDifference, iteration_differences
from tlxviz.analysis.difference_launch import LaunchFacts, launch_facts
from tlxviz.analysis.difference_places import align_groups, align_places
from tlxviz.analysis.difference_roles import RoleDifference, SiteDifference, role_differences, site_differences
from tlxviz.analysis.difference_units import Units, units
from tlxviz.trace.model import LaunchTrace


@dataclass(frozen=True, slots=True)
class Side:
    """One of the launches."""

    kernel: str
    device: str
    """The device's title."""
    recorder: str
    """`simulated` or `measured`."""
    config: Mapping[str, Any]
    """Arguments and meta-parameters by name."""
    cycles: int
    """SM cycles of the whole launch; up to the hang or the interruption where it did not end."""
    time_ns: float | None
    """`cycles` at the SM clock; None for a launch that did not end."""
    flop: int
    """0 when unknown."""
    ended: bool
    """False for a launch that hangs, or whose recording was interrupted."""
    ctas_traced: int
    rounds: int
    """CTAs that the critical path leads through, one after the other."""
    waves: int | None
    """Rounds that the grid takes; None where the recorder did not say."""


@dataclass(frozen=True, slots=True)
class SiteError:
    agent: str
    kind: str
    """Empty for what is between events."""
    variable: str
    file: str
    line: int | None
    simulated: float | None
    """SM cycles of one execution, on average; None where there is none."""
    measured: float | None
    error: float | None
    """`simulated` - `measured`."""
    fraction: float | None
    """Of `measured`; None where that is 0."""


@dataclass(frozen=True, slots=True)
class Accuracy:
    """A simulated launch against the same one measured."""

    simulated: str
    """`a` or `b`."""
    error: int
    """SM cycles by which the simulated launch is longer."""
    fraction: float | None
    """Of the measured launch's."""
    roles: tuple[SiteError, ...]
    """Whole warp groups: cycles of a CTA."""
    sites: tuple[SiteError, ...]
    """The largest errors of a CTA's time first."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The second launch (b) against the first (a). Differences are `b` - `a`: negative where the second is faster."""

    a: Side
    b: Side
    cycles: int
    """SM cycles by which the second launch is longer."""
    time_ns: float | None
    aligned: bool
    """Each warp group of one has a counterpart in the other."""
    changed: Mapping[str, tuple[Any, Any]]
    """Arguments and meta-parameters that are not the same; None for one that a launch does not have."""
    like_traced: bool
    """Different numbers of rounds were traced: those that were not count as the traced ones, cause by cause."""
    causes: tuple[CauseDifference, ...]
    """The largest differences first; they add up to `cycles`."""
    explained: float | None
    """How much of the difference causes with a name explain, 0 to 1; None where there is no difference."""
    roles: tuple[RoleDifference, ...]
    sites: tuple[SiteDifference, ...]
    iterations: tuple[IterationDifference, ...]
    units: Units
    accuracy: Accuracy | None
    """Where one launch is simulated and the other measured, of one kernel."""


def difference(a: LaunchTrace, b: LaunchTrace) -> Difference:
    """Compare two launches."""
    first, second = launch_facts(a), launch_facts(b)
    pairs = align_groups(first.account.groups, second.account.groups)
    names = [
        (first.account.groups[one].agent.name, second.account.groups[other].agent.name)
        for one, other in pairs
        if one is not None and other is not None
    ]
    places = align_places(a, b, names)
    like_traced = first.rounds != second.rounds and bool(first.waves_cycles or second.waves_cycles)
    causes = cause_differences(
        path_parts(a, first, like_traced=like_traced), path_parts(b, second, like_traced=like_traced), places
    )
    sides = _side(a, first), _side(b, second)
    times = sides[0].time_ns, sides[1].time_ns
    roles = role_differences(first, second, pairs)
    sites = site_differences((a, first), (b, second), places)
    return Difference(
        a=sides[0],
        b=sides[1],
        cycles=b.cycles - a.cycles,
        time_ns=times[1] - times[0] if times[0] is not None and times[1] is not None else None,
        aligned=len(names) == len(pairs),
        changed={
            name: (a.arguments.get(name), b.arguments.get(name))
            for name in dict.fromkeys([*a.arguments, *b.arguments])
            if a.arguments.get(name) != b.arguments.get(name)
        },
        like_traced=like_traced,
        causes=causes,
        explained=explained(causes),
        roles=roles,
        sites=sites,
        iterations=iteration_differences((a, first), (b, second), pairs, places),
        units=units((a, first), (b, second)),
        accuracy=_accuracy(sides, roles, sites),
    )


def _side(launch: LaunchTrace, facts: LaunchFacts) -> Side:
    ended = launch.complete and launch.hang is None and launch.cycles > 0
    return Side(
        kernel=launch.kernel,
        device=str(launch.device.get("title") or launch.device.get("name") or "an unknown device"),
        recorder=str(launch.provenance.get("recorder", "recorded")),
        config=launch.arguments,
        cycles=launch.cycles,
        time_ns=launch.cycles * 1000 / launch.clock_mhz if ended and launch.clock_mhz > 0 else None,
        flop=launch.flop,
        ended=ended,
        ctas_traced=len({track.cta for track in launch.tracks}),
        rounds=facts.rounds,
        waves=facts.waves,
    )


def _accuracy(
    sides: tuple[Side, Side], roles: tuple[RoleDifference, ...], sites: tuple[SiteDifference, ...]
) -> Accuracy | None:
    recorders = [side.recorder for side in sides]
    if sorted(recorders) != ["measured", "simulated"] or sides[0].kernel != sides[1].kernel:
        return None
    at = recorders.index("simulated")
    simulated, measured = sides[at].cycles, sides[1 - at].cycles

    def error(place: tuple[str, str, str, str, int | None], pair: tuple[float | None, float | None]) -> SiteError:
        ours, theirs = pair[at], pair[1 - at]
        wrong = ours - theirs if ours is not None and theirs is not None else None
        return SiteError(*place, ours, theirs, wrong, wrong / theirs if wrong is not None and theirs else None)

    return Accuracy(
        simulated="ab"[at],
        error=simulated - measured,
        fraction=(simulated - measured) / measured if measured else None,
        roles=tuple(error((each.name_a or each.name_b or "", "", "", "", None), (each.a, each.b)) for each in roles),
        sites=tuple(
            error(
                (each.agent, each.kind, each.variable, each.file, each.line_a or each.line_b),
                (each.mean_a, each.mean_b),
            )
            for each in sites
        ),
    )
