"""Which part of the difference in time of two launches comes from where: their critical paths, cause by cause."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from tlxviz.analysis.chains import Stretch
from tlxviz.analysis.difference_launch import LaunchFacts
from tlxviz.analysis.difference_places import Place, PlaceMap
from tlxviz.analysis.links import Activity
from tlxviz.trace.model import LaunchTrace, TrackKind

Int64 = NDArray[np.int64]


class PathCause(StrEnum):
    """What a cycle of a launch goes to. All but the last two are causes that have a name."""

    TENSOR_CORE = "tensor_core"
    """The SM's tensor core computes, whatever else goes on meanwhile. All others are of cycles in which it does not."""
    COPY_LATENCY = "copy_latency"
    COPY_BANDWIDTH = "copy_bandwidth"
    ARITHMETIC = "arithmetic"
    """Of a role: arithmetic, loads without TMA, control flow."""
    TENSOR_MEMORY = "tensor_memory"
    """Warp groups read and write it."""
    NEXT_TILE = "next_tile"
    """The block scheduler answers which CTA's work comes next."""
    ISSUE = "issue"
    HAND_OFF = "hand_off"
    """From the release of a wait until its warp group goes on; waits that find their phase complete."""
    BETWEEN = "between"
    """From the end of a CTA to the begin of the next on the SM."""
    LAUNCH = "launch"
    """Before the first CTA begins, and what the device's figures say of a launch's end."""
    WAVES = "waves"
    """CTAs of the SM that were not traced: as long, each, as those that were."""
    UNKNOWN = "unknown"
    """Waits of which nobody recorded what ended them."""
    REST = "rest"
    """What is left of the launch: SMs that were not traced end later."""


NAMELESS = frozenset({PathCause.UNKNOWN, PathCause.REST})
_OF_ACTIVITY = {
    Activity.ARITHMETIC: PathCause.ARITHMETIC,
    Activity.ISSUE: PathCause.ISSUE,
    Activity.HAND_OFF: PathCause.HAND_OFF,
    Activity.COPY_LATENCY: PathCause.COPY_LATENCY,
    Activity.COPY_BANDWIDTH: PathCause.COPY_BANDWIDTH,
    Activity.PRODUCT: PathCause.TENSOR_CORE,
    Activity.UNKNOWN: PathCause.UNKNOWN,
    Activity.TENSOR_MEMORY: PathCause.TENSOR_MEMORY,
    Activity.LAUNCH_CONTROL: PathCause.NEXT_TILE,
}
_OUTSIDE = frozenset({PathCause.LAUNCH, PathCause.WAVES, PathCause.REST})
"""Not of a traced CTA, or of the time between two."""


@dataclass(frozen=True, slots=True)
class PathPart:
    """A cause at one place of the kernel."""

    agent: str
    """The warp group that does it, or that issued it to an engine; empty for what no CTA does."""
    activity: str
    """Name of the `Activity`; empty for what no CTA does."""
    kind: str
    """Kind of the site; empty for arithmetic."""
    variable: str
    file: str
    """Source file; of the first kernel where both have the place."""
    line_a: int | None
    """Source line in the first kernel; None where it has none."""
    line_b: int | None
    a: int
    """SM cycles in the first launch."""
    b: int

    @property
    def difference(self) -> int:
        return self.b - self.a


@dataclass(frozen=True, slots=True)
class CauseDifference:
    cause: PathCause
    role: str
    """Whose arithmetic it is; empty for all other causes."""
    a: int
    """SM cycles in the first launch."""
    b: int
    share: float | None
    """Of the difference of the launches, negative where it counteracts; None where they take equally long."""
    parts: tuple[PathPart, ...]
    """Where that is: the largest differences first."""

    @property
    def difference(self) -> int:
        return self.b - self.a

    @property
    def named(self) -> bool:
        return self.cause not in NAMELESS


@dataclass(frozen=True, slots=True)
class _Key:
    cause: PathCause
    role: str
    place: Place


Parts = Mapping[_Key, int]
_NOWHERE = Place("", "", "", "", 0)


def path_parts(launch: LaunchTrace, facts: LaunchFacts, *, like_traced: bool = False) -> dict[_Key, int]:
    """SM cycles of a launch by cause and place; they add up to `launch.cycles`.

    Args:
        like_traced: Give the waves that were not traced the causes of those that were, in proportion.
    """
    path = facts.account.path
    parts: dict[_Key, int] = {}
    if path is not None:
        for key, cycles in _of_stretches(launch, facts, path.stretches):
            parts[key] = parts.get(key, 0) + cycles
        outside = {
            PathCause.BETWEEN: path.between,
            PathCause.LAUNCH: facts.launch_cycles,
            PathCause.WAVES: facts.waves_cycles,
        }
        parts |= {_Key(cause, "", _NOWHERE): cycles for cause, cycles in outside.items() if cycles}
    if like_traced:
        parts = _spread(parts)
    rest = launch.cycles - sum(parts.values())
    if rest:
        parts[_Key(PathCause.REST, "", _NOWHERE)] = rest
    return parts


def cause_differences(a: Parts, b: Parts, places: PlaceMap) -> tuple[CauseDifference, ...]:
    """The causes of two launches side by side, the largest difference first; their differences add up to the launches'.

    Args:
        places: Which place of the second launch is which of the first.
    """
    total = sum(b.values()) - sum(a.values())
    paired: dict[tuple[PathCause, str], dict[Place, list[int]]] = {}
    for side, parts in enumerate((a, b)):
        for key, cycles in parts.items():
            place = places.first(key.place) if side else key.place
            role = places.first_role(key.role) if side else key.role
            paired.setdefault((key.cause, role), {}).setdefault(place, [0, 0])[side] += cycles
    found: list[CauseDifference] = []
    for (cause, role), entries in paired.items():
        made = [_part(place, places, *cycles) for place, cycles in entries.items()]
        made.sort(key=lambda part: (-abs(part.difference), -part.a))
        before, after = sum(part.a for part in made), sum(part.b for part in made)
        share = (after - before) / total if total else None
        found.append(CauseDifference(cause, role, before, after, share, tuple(made)))
    return tuple(sorted(found, key=lambda each: (-abs(each.difference), -each.a)))


def _part(place: Place, places: PlaceMap, a: int, b: int) -> PathPart:
    lines = places.lines(place)
    return PathPart(place.agent, place.doing, place.kind, place.variable, place.file, *lines, a, b)


def explained(causes: Iterable[CauseDifference]) -> float | None:
    """How much of the difference the named causes explain, 0 to 1: all but what causes without a name differ by.

    None where the launches take equally long.
    """
    every = list(causes)
    total = abs(sum(each.difference for each in every))
    nameless = sum(abs(each.difference) for each in every if not each.named)
    return max(0.0, 1 - nameless / total) if total else None


def _of_stretches(launch: LaunchTrace, facts: LaunchFacts, steps: Iterable[Stretch]) -> Iterable[tuple[_Key, int]]:
    """Each stretch of the path, divided into what the tensor core computes meanwhile and the rest of it."""
    every = list(steps)
    if not every:
        return
    sm = np.array([track.sm for track in launch.tracks], np.int64)[[step.track for step in every]]
    begin = np.array([step.begin for step in every], np.int64)
    end = np.array([step.end for step in every], np.int64)
    hidden = np.zeros(len(every), np.int64)
    for number in np.unique(sm).tolist():
        here = sm == number
        hidden[here] = _computing(launch, facts, number, begin[here], end[here])
    site = launch.events["site"]
    roles = {agent.name: agent.role or agent.name for agent in launch.agents}
    for step, inside in zip(every, hidden.tolist(), strict=True):
        place = _place(launch, step, int(site[step.row]) if step.row >= 0 else -1)
        # nothing in a trace releases the wait for a copy without TMA: all of it is the copy's
        cause = PathCause.COPY_LATENCY if place.kind == "async_copy_wait" else _OF_ACTIVITY[step.activity]
        role = roles.get(place.agent, place.agent) if cause == PathCause.ARITHMETIC else ""
        if inside:
            yield _Key(PathCause.TENSOR_CORE, "", place), inside
        if rest := step.end - step.begin - inside:
            yield _Key(cause, role, place), rest


def _place(launch: LaunchTrace, step: Stretch, number: int) -> Place:
    track = launch.tracks[step.track]
    doing = step.activity.name.lower()
    if number < 0 or step.activity == Activity.ARITHMETIC:
        return Place(track.name, "", "", "", 0, doing)
    site = launch.sites[number]
    issued = track.kind != TrackKind.WARP_GROUP and 0 <= site.agent < len(launch.agents)
    agent = launch.agents[site.agent].name if issued else track.name
    return Place(agent, site.kind, site.variable, site.file, site.line, doing)


def _computing(launch: LaunchTrace, facts: LaunchFacts, sm: int, begin: Int64, end: Int64) -> Int64:
    """Cycles from `begin` to `end` in which the tensor core of an SM computes, for whichever CTA."""
    occupied = facts.account.occupied
    rows = [row for row, each in enumerate(launch.tracks) if each.kind == TrackKind.TENSOR_CORE and each.sm == sm]
    slices = [occupied.of_track(row) for row in rows]
    start = np.concatenate([occupied.begin[each] for each in slices] or [begin[:0]])
    if not len(start):
        return np.zeros(len(begin), np.int64)
    stop = start + np.concatenate([occupied.cycles[each] for each in slices])
    order = np.argsort(start, kind="stable")
    start, stop = start[order], np.maximum.accumulate(stop[order])
    start[1:] = np.maximum(start[1:], stop[:-1])
    before = np.concatenate(([0], np.cumsum(np.maximum(0, stop - start))))

    def until(cycle: Int64) -> Int64:
        last = np.searchsorted(start, cycle, side="right") - 1
        return np.where(last < 0, 0, before[last] + np.minimum(cycle - start[last], before[last + 1] - before[last]))

    return until(end) - until(begin)


def _spread(parts: dict[_Key, int]) -> dict[_Key, int]:
    """The untraced waves' cycles given to the parts of traced CTAs in proportion, to the cycle."""
    inner = [key for key in parts if key.cause not in _OUTSIDE]
    waves = sum(cycles for key, cycles in parts.items() if key.cause == PathCause.WAVES)
    total = sum(parts[key] for key in inner)
    if not waves or not total:
        return parts
    exact = [parts[key] * waves / total for key in inner]
    more = [int(each) for each in exact]
    for place in sorted(range(len(inner)), key=lambda at: more[at] - exact[at])[: waves - sum(more)]:
        more[place] += 1
    spread = {key: cycles for key, cycles in parts.items() if key.cause != PathCause.WAVES}
    for key, cycles in zip(inner, more, strict=True):
        spread[key] += cycles
    return spread
