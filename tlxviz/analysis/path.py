"""The critical path: the chain of events and waits that is as long as the run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from tlxviz.analysis.chains import Stretch, chain_of_track
from tlxviz.analysis.links import Activity, Dependencies
from tlxviz.analysis.occupation import Int64, Occupation
from tlxviz.analysis.parts import Part
from tlxviz.trace.model import LaunchTrace, TrackKind


@dataclass(frozen=True, slots=True)
class PathShare:
    """What one party has on the path at one line."""

    agent: str
    """The warp group that does it, or that issued it to an engine."""
    activity: Activity
    kind: str
    """Kind of the site; empty for arithmetic."""
    variable: str
    file: str
    line: int
    cycles: int
    share: float
    """Of the path."""


@dataclass(frozen=True, slots=True)
class CriticalPath:
    """From the start of the launch to its end, as far as one SM was traced. Cycles of all parts add up to `cycles`."""

    cycles: int
    """SM cycles of the launch."""
    ctas: tuple[int, ...]
    """Numbers of the CTAs that it leads through, first to last."""
    start: int
    """Cycles before the first of them begins: the launch itself, or CTAs before it that were not traced."""
    between: int
    """Cycles from the end of one of them to the begin of the next."""
    rest: int
    """Cycles after the last has ended: others that were not traced, and the end of the launch."""
    activities: Mapping[Activity, int]
    """SM cycles of what goes on within CTAs."""
    shares: tuple[PathShare, ...]
    """The same by party and line, longest first."""
    stretches: tuple[Stretch, ...]
    """The same one by one, in order of time."""


def critical_path(launch: LaunchTrace, occupied: Occupation, made: Dependencies) -> CriticalPath | None:
    """The critical path of a launch; None where no warp group was traced.

    In a CTA it leads to the warp group that ends last. Where CTAs follow each other on an SM, it goes on in the one
    whose end made room.
    """
    return path_along(
        launch, occupied.lower, occupied.upper, lambda track: chain_of_track(made, track, _last(occupied, track))
    )


def chain_in_part(part: Part, made: Dependencies, track: int) -> list[Stretch]:
    """The chain from the end of a track, by rows and tracks of the whole launch.

    Args:
        made: What the part's events waited for.
        track: Its number in the whole launch.
    """
    here = int(np.flatnonzero(part.tracks == track)[0])
    rows, tracks = part.rows.data, part.tracks.data

    def named(row: int, track: int, activity: Activity, begin: int, end: int) -> Stretch:
        return Stretch(rows[row] if row >= 0 else -1, tracks[track], activity, begin, end)

    return chain_of_track(made, here, _last(part.occupied, here), named)


def path_along(
    launch: LaunchTrace, lowest: Int64, highest: Int64, chain: Callable[[int], list[Stretch]]
) -> CriticalPath | None:
    """The same from the first cycle of each track, its end, and the chain that leads to that."""
    left = [row for row, track in enumerate(launch.tracks) if track.kind == TrackKind.WARP_GROUP]
    if not left:
        return None
    lower, upper = lowest.tolist(), highest.tolist()
    found: list[Stretch] = []
    ctas: list[int] = []
    between = 0
    track = max(left, key=lambda row: upper[row])
    end = now = upper[track]
    while True:
        steps = chain(track)
        found += steps
        now = steps[-1].begin if steps else upper[track]
        passed = dict.fromkeys(launch.tracks[row].cta for row in (track, *(step.track for step in steps)))
        ctas += [cta for cta in passed if cta not in ctas]
        if steps:  # within a cluster, that may be another CTA
            track = steps[-1].track
        cta, sm = launch.tracks[track].cta, launch.tracks[track].sm
        begin = min((lower[row] for row in left if launch.tracks[row].cta == cta), default=now)
        if now > begin:  # a warp group that starts later than its CTA, or a copy that nobody is known to have issued
            known = launch.tracks[track].kind == TrackKind.WARP_GROUP
            found.append(Stretch(-1, track, Activity.ARITHMETIC if known else Activity.UNKNOWN, begin, now))
            now = begin
        left = [row for row in left if launch.tracks[row].cta not in ctas]
        earlier = [row for row in left if launch.tracks[row].sm == sm and upper[row] <= now]
        if not earlier:
            break
        track = max(earlier, key=lambda row: upper[row])
        between += now - upper[track]
    found.reverse()
    total = max(launch.cycles, end)
    activities = dict.fromkeys(Activity, 0)
    for step in found:
        activities[step.activity] += step.end - step.begin
    return CriticalPath(
        cycles=total,
        ctas=tuple(reversed(ctas)),
        start=now,
        between=between,
        rest=total - end,
        activities={each: count for each, count in activities.items() if count},
        shares=_shares(launch, found, total),
        stretches=tuple(found),
    )


def _last(occupied: Occupation, track: int) -> int:
    """The row of the last event of a track; -1 for none."""
    there = occupied.of_track(track)
    return int(occupied.row[there.stop - 1]) if there.stop > there.start else -1


def _shares(launch: LaunchTrace, steps: Iterable[Stretch], total: int) -> tuple[PathShare, ...]:
    site = launch.events["site"].data
    found: dict[tuple[int, int, Activity], int] = {}
    for step in steps:
        number = site[step.row] if step.row >= 0 and step.activity != Activity.ARITHMETIC else -1
        at = (number, step.track, step.activity)
        found[at] = found.get(at, 0) + step.end - step.begin
    sums: dict[tuple[str, Activity, str, str, str, int], int] = {}
    for (number, row_of_track, activity), cycles in found.items():
        track = launch.tracks[row_of_track]
        if number < 0:
            key = (track.name, activity, "", "", "", 0)
        else:
            row = launch.sites[number]
            known = 0 <= row.agent < len(launch.agents)
            engine = track.kind != TrackKind.WARP_GROUP
            name = launch.agents[row.agent].name if engine and known else track.name
            key = (name, activity, row.kind, row.variable, row.file, row.line)
        sums[key] = sums.get(key, 0) + cycles
    ranking = sorted(sums.items(), key=lambda item: -item[1])
    return tuple(PathShare(*key, cycles, cycles / total if total else 0.0) for key, cycles in ranking)
