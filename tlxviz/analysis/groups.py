"""Warp groups of a launch and the tracks that they have in the trace."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tlxviz.trace.model import AgentRow, LaunchTrace, TrackKind


@dataclass(frozen=True, slots=True)
class WarpGroup:
    """One agent of the program with its tracks in all traced CTAs."""

    agent: AgentRow
    tracks: tuple[int, ...]
    """Rows of `LaunchTrace.tracks`; empty when no CTA is traced."""


def warp_groups(launch: LaunchTrace) -> list[WarpGroup]:
    """Every warp group in the program's order; a track that names no agent of the program makes a group of its own."""
    tracks: dict[int | str, list[int]] = {index: [] for index in range(len(launch.agents))}
    for row, track in enumerate(launch.tracks):
        if track.kind == TrackKind.WARP_GROUP:
            known = 0 <= track.agent < len(launch.agents)
            tracks.setdefault(track.agent if known else track.name, []).append(row)
    groups: list[WarpGroup] = []
    for key, rows in tracks.items():
        if isinstance(key, int):
            agent = launch.agents[key]
        else:
            agent = AgentRow(name=key, role="", task=0, warps=launch.tracks[rows[0]].warps)
        groups.append(WarpGroup(agent, tuple(rows)))
    return groups


def group_of_track(launch: LaunchTrace, groups: list[WarpGroup]) -> NDArray[np.int64]:
    """Index into `groups` of each track, -1 for an engine's."""
    result = np.full(len(launch.tracks), -1, dtype=np.int64)
    for index, group in enumerate(groups):
        result[list(group.tracks)] = index
    return result
