"""Where warp groups wait longest, and who released them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tlxviz.analysis.groups import WarpGroup
from tlxviz.analysis.kinds import site_wait_kinds
from tlxviz.analysis.parts import Part
from tlxviz.analysis.places import places_of_sites
from tlxviz.analysis.site_totals import SiteTotals
from tlxviz.trace.model import LaunchTrace, TrackKind

Int64 = NDArray[np.int64]

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


class Releases:
    """Who ended the waits of each warp group at each site, added up part by part.

    An engine's completion counts for the warp group that issued its work.
    """

    def __init__(self, launch: LaunchTrace, groups: int) -> None:
        self._agents = [each.name for each in launch.agents]
        waiting = site_wait_kinds(launch) >= 0
        # one entry more for sites that do not wait
        self._number = np.where(waiting, np.cumsum(waiting) - 1, int(waiting.sum()))
        self._agent_of_site = self._numbered([*(site.agent for site in launch.sites), -1])
        self._columns = int(waiting.sum()) + 1
        # number 0 stands for a release that was not recorded
        size = (groups * self._columns, 1 + len(_TRACK_KINDS) * (len(self._agents) + 1))
        self._counts, self._cycles = np.zeros(size, np.int64), np.zeros(size, np.int64)

    def _numbered(self, agents: list[int]) -> Int64:
        return np.clip(np.array(agents, np.int64), -1, len(self._agents) - 1) + 1

    def add(self, part: Part, group: Int64, waits: Int64) -> None:
        """Adds a part.

        Args:
            group: Which warp group each of its tracks is of.
            waits: Its events that are waits of warp groups.
        """
        tracks, track, site = part.launch.tracks, part.occupied.track, part.launch.events["site"]
        by = part.launch.events["released_by"][waits]
        first = np.array([1 + _TRACK_KINDS.index(each.kind) * (len(self._agents) + 1) for each in tracks], np.int64)
        arrived = first + self._numbered([each.agent for each in tracks])
        of = track[by]
        groups = part.on[TrackKind.WARP_GROUP].stop
        party = np.where(by < groups, arrived[of], first[of] + self._agent_of_site[site[by]])
        party[by < 0] = 0
        key = (group * self._columns)[track[waits]] + self._number[site[waits]]
        key = key * self._counts.shape[1] + party
        np.add.at(self._cycles.ravel(), key, part.occupied.cycles[waits])
        np.add.at(self._counts.ravel(), key, 1)

    def of(self, group: int, sites: Int64) -> tuple[Release, ...]:
        """Of a warp group at these sites, all of which wait."""
        rows = group * self._columns + self._number[sites]
        counts, weights = self._counts[rows].sum(axis=0), self._cycles[rows].sum(axis=0).astype(np.float64)
        if weights.sum() == 0:
            weights = counts.astype(np.float64)
        result: list[Release] = []
        ranking: list[int] = np.argsort(-weights, kind="stable").tolist()
        for number in ranking:
            if counts[number] == 0:
                continue
            engine, name = "", ""
            if number > 0:
                which, index = divmod(number - 1, len(self._agents) + 1)
                engine = str(_TRACK_KINDS[which])
                name = self._agents[index - 1] if index > 0 else ""
            result.append(Release(engine, name, int(counts[number]), float(weights[number] / weights.sum())))
        return tuple(result)


def worst_waits(
    launch: LaunchTrace,
    groups: list[WarpGroup],
    lives: Int64,
    totals: SiteTotals,
    releases: Releases,
    *,
    limit: int = 5,
) -> tuple[Wait, ...]:
    """The `limit` places of the source that cost most waiting, longest first, over the traced CTAs together.

    Args:
        lives: SM cycles of each track.
    """
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
    result: list[Wait] = []
    ranking: list[int] = np.argsort(-cycles, kind="stable")[:limit].tolist()
    for worst in ranking:
        total, count = int(cycles[worst]), int(counts[worst])
        if total == 0:
            break
        group, key = divmod(worst, len(keys))
        member = groups[group]
        kind, variable, file, line = keys[key]
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
                share=total / int(lives[list(member.tracks)].sum()),
                released_by=releases.of(group, np.flatnonzero(key_of_site == key)),
            )
        )
    return tuple(result)
