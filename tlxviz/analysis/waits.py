"""Where warp groups wait longest, and who released them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tlxviz.analysis.groups import WarpGroup
from tlxviz.analysis.kinds import site_wait_kinds
from tlxviz.analysis.occupation import Occupation
from tlxviz.analysis.places import places_of_sites
from tlxviz.analysis.site_totals import SiteTotals
from tlxviz.trace.model import LaunchTrace, TrackKind

_TRACK_KINDS: tuple[TrackKind, ...] = tuple(TrackKind)


@dataclass(frozen=True, slots=True)
class Release:
    """One party that ended waits."""

    engine: str
    """`tma` or `tensor_core` if an engine's completion did it, `warp_group` if an arrival did; empty: not recorded."""
    agent: str
    """The warp group that arrived, or that issued what the engine completed; empty if not recorded."""
    count: int
    share: float
    """Of the waits' cycles; of their count where no wait took any."""


@dataclass(frozen=True, slots=True)
class Wait:
    """All waits of one warp group on one barrier at one source line."""

    agent: str
    role: str
    kind: str
    variable: str
    """Name of the barrier; empty where the operation names none."""
    file: str
    line: int
    count: int
    cycles: int
    """SM cycles of all of them together."""
    mean: float
    max: int
    share: float
    """Of the warp group's time."""
    released_by: tuple[Release, ...]
    """Most cycles first."""


def worst_waits(
    launch: LaunchTrace, groups: list[WarpGroup], occupied: Occupation, totals: SiteTotals, *, limit: int = 5
) -> tuple[Wait, ...]:
    """The `limit` places of the source that cost most waiting, longest first, over the traced CTAs together."""
    keys, key_of_site = places_of_sites(launch, np.flatnonzero(site_wait_kinds(launch)[:-1] >= 0).tolist())
    if not keys:
        return ()
    size = len(groups) * len(keys)
    waits = np.flatnonzero(key_of_site >= 0)
    # a place of a warp group is one of `keys`, at some sites
    place = (np.arange(len(groups))[:, np.newaxis] * len(keys) + key_of_site[waits]).ravel()
    cycles, counts, longest = (np.zeros(size, np.int64) for _ in range(3))
    np.add.at(cycles, place, totals.cycles[:, waits].ravel())
    np.add.at(counts, place, totals.counts[:, waits].ravel())
    np.maximum.at(longest, place, totals.longest[:, waits].ravel())
    of_key = np.full(totals.cycles.size + 1, -1, np.int64)
    of_key[:-1].reshape(totals.cycles.shape)[:, waits] = place.reshape(len(groups), -1)
    result: list[Wait] = []
    ranking: list[int] = np.argsort(-cycles, kind="stable")[:limit].tolist()
    for worst in ranking:
        total, count = int(cycles[worst]), int(counts[worst])
        if total == 0:
            break
        member = groups[worst // len(keys)]
        kind, variable, file, line = keys[worst % len(keys)]
        rows = list(member.tracks)
        here = np.flatnonzero((of_key == worst)[totals.key])
        result.append(
            Wait(
                agent=member.agent.name,
                role=member.agent.role,
                kind=kind,
                variable=variable,
                file=file,
                line=line,
                count=count,
                cycles=total,
                mean=total / count,
                max=int(longest[worst]),
                share=total / int(np.sum(occupied.upper[rows] - occupied.lower[rows])),
                released_by=_releases(launch, occupied.row[here], occupied.cycles[here]),
            )
        )
    return tuple(result)


def _releases(launch: LaunchTrace, rows: NDArray[np.int64], cycles: NDArray[np.int64]) -> tuple[Release, ...]:
    """Who ended these waits. An engine's completion counts for the warp group that issued its work."""
    by = launch.events["released_by"][rows]
    known = by >= 0
    agents = len(launch.agents)
    kind_of_track = np.array([_TRACK_KINDS.index(track.kind) for track in launch.tracks], dtype=np.int64)
    agent_of_track = np.array([track.agent for track in launch.tracks], dtype=np.int64)
    agent_of_site = np.array([*(site.agent for site in launch.sites), -1], dtype=np.int64)
    track = launch.events["track"][by[known]]
    kind = kind_of_track[track]
    issuer = agent_of_site[launch.events["site"][by[known]]]
    agent = np.where(kind == 0, agent_of_track[track], issuer)
    # Number 0 stands for a release that was not recorded.
    party = np.zeros(len(rows), dtype=np.int64)
    party[known] = 1 + kind * (agents + 1) + np.clip(agent, -1, agents - 1) + 1
    counts = np.bincount(party)
    weights = np.bincount(party, weights=cycles).astype(np.float64)
    if weights.sum() == 0:
        weights = counts.astype(np.float64)
    result: list[Release] = []
    ranking: list[int] = np.argsort(-weights, kind="stable").tolist()
    for number in ranking:
        if counts[number] == 0:
            continue
        engine, name = "", ""
        if number > 0:
            which, index = divmod(number - 1, agents + 1)
            engine = str(_TRACK_KINDS[which])
            name = launch.agents[index - 1].name if index > 0 else ""
        result.append(Release(engine, name, int(counts[number]), float(weights[number] / weights.sum())))
    return tuple(result)
