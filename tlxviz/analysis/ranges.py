"""Stretches of a warp group's time that the kernel's author named."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tlxviz.analysis.groups import WarpGroup
from tlxviz.trace.model import LaunchTrace, TrackKind


@dataclass(frozen=True, slots=True)
class Range:
    """All ranges of one name of one warp group, over the traced CTAs together."""

    agent: str
    name: str
    file: str
    line: int
    """Where the first of them begins."""
    count: int
    cycles: int
    """SM cycles of all of them together."""
    mean: float
    share: float
    """Of the warp group's time; more than 1 where ranges of one name overlap."""


@dataclass(frozen=True, slots=True)
class RangesAmiss:
    """Bounds of ranges that have no counterpart in their run of the warp group, in the traced CTAs."""

    ends: int
    """Ends without a beginning, which were passed over."""
    begins: int
    """Beginnings without an end: these ranges end with their track."""


def ranges_amiss(launch: LaunchTrace) -> RangesAmiss:
    def count(key: str) -> int:
        value = launch.statistics.get(key)
        return value if isinstance(value, int) else 0

    return RangesAmiss(count("range_ends_without_begin"), count("range_begins_without_end"))


def ranges(launch: LaunchTrace, groups: list[WarpGroup]) -> tuple[Range, ...]:
    """The ranges by warp group, in the program's order, and then in the order in which they first began."""
    if not any(track.kind == TrackKind.RANGE for track in launch.tracks):
        return ()
    events = launch.events
    named = np.array([track.kind == TrackKind.RANGE for track in launch.tracks])[events["track"]]
    found: dict[tuple[int, str], list[int]] = {}
    rows = np.flatnonzero(named)
    for row in rows[np.argsort(events["begin"][rows], kind="stable")].tolist():
        agent = launch.tracks[int(events["track"][row])].agent
        found.setdefault((agent, launch.sites[int(events["site"][row])].variable), []).append(row)
    result: list[Range] = []
    for (agent, name), members in sorted(found.items(), key=lambda item: item[0][0]):
        group = groups[agent]
        time = sum(launch.tracks[track].end - launch.tracks[track].begin for track in group.tracks)
        cycles = int((events["end"][members] - events["begin"][members]).sum())
        site = launch.sites[int(events["site"][members[0]])]
        result.append(
            Range(
                group.agent.name,
                name,
                site.file,
                site.line,
                len(members),
                cycles,
                cycles / len(members),
                cycles / time if time > 0 else 0.0,
            )
        )
    return tuple(result)
