"""What goes from one CTA to another: arrivals, data, products of pairs, and which waits they end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from tlxviz.trace.clusters import Clusters
from tlxviz.trace.model import LaunchTrace, SiteRow, TrackKind
from tlxviz.trace.vocabulary import Work, work_of_events

Int64 = NDArray[np.int64]


class CrossingKind(StrEnum):
    ARRIVAL = "remote arrival"
    STORE = "remote store"
    COPY = "remote copy"
    MULTICAST = "multicast"
    LOAD = "load for the other CTA's barrier"
    """A TMA load into the CTA's own memory, of whose bytes a barrier of the other CTA is told."""
    PRODUCT = "product of the pair"
    COMMIT = "commit of the pair"
    BARRIER = "cluster barrier"
    ANSWER = "answer of the block scheduler"


@dataclass(frozen=True, slots=True)
class Crossing:
    """What one operation does to another CTA, in all of its iterations."""

    kind: CrossingKind
    site: int
    source: int
    """The CTA that issues or arrives."""
    target: int
    """The CTA that gets it."""
    count: int
    """How often; of the cluster's barrier, phases that the source completed for the target."""
    bytes: int
    """That came into the target's memory."""
    waits: int
    """Waits of the target that it ended."""
    waited: int
    """SM cycles that these took in all."""


def clusters_of(launch: LaunchTrace) -> Clusters:
    """How the CTAs of a launch are grouped; a file of format 1.0 says nothing of it, and has clusters of one."""
    return Clusters(launch.grid, launch.cluster)


def mates(launch: LaunchTrace, cta: int) -> tuple[int, ...]:
    """The recorded CTAs of a CTA's cluster, by rank, and itself among them."""
    found, recorded = clusters_of(launch), {track.cta for track in launch.tracks}
    return tuple(each for each in found.members(found.cluster_of(cta)) if each in recorded)


def sources_of_waits(launch: LaunchTrace) -> Int64:
    """For each event, the CTA that let it go on; -1 where nobody is known.

    Of a wait that an engine's event ended, such as a load that came by multicast, the CTA that issued that.
    """
    by = launch.events["released_by"].astype(np.int64)
    cta = np.array([track.cta for track in launch.tracks] + [-1], np.int64)
    track = np.append(launch.events["track"].astype(np.int64), len(launch.tracks))
    on_group = np.array([each.kind is TrackKind.WARP_GROUP for each in launch.tracks] + [True])
    issued = by[by]  # of an engine's event: who issued it
    behind = np.where(on_group[track[by]] | (issued < 0), by, issued)
    return np.where(by < 0, -1, cta[track[np.where(by < 0, -1, behind)]]) if len(by) else by


def crossings(launch: LaunchTrace) -> tuple[Crossing, ...]:
    """Everything that a recorded CTA does to another one, by source, target and site."""
    return tuple(_Finder(launch).found()) if len(launch.events) and len({t.cta for t in launch.tracks}) > 1 else ()


_RELEASES = {
    "tma_load": CrossingKind.LOAD,
    "clc": CrossingKind.ANSWER,
    "mma": CrossingKind.PRODUCT,
    "mma_commit": CrossingKind.COMMIT,
    "cluster_arrive": CrossingKind.BARRIER,
    "cluster_wait": CrossingKind.BARRIER,
}
_COPIES = "ttg.async_remote_shmem_copy"


class _Finder:
    def __init__(self, launch: LaunchTrace) -> None:
        self._launch = launch
        self._clusters = clusters_of(launch)
        events = launch.events
        self._site = events["site"].astype(np.int64)
        self._track = events["track"].astype(np.int64)
        self._kinds = np.array([site.kind for site in launch.sites] + [""])
        cta = np.array([track.cta for track in launch.tracks], np.int64)
        self._cta = cta[self._track]
        self._group = np.array([track.kind is TrackKind.WARP_GROUP for track in launch.tracks])[self._track]
        self._sums: dict[tuple[int, int, int, CrossingKind], list[int]] = {}

    def found(self) -> Iterator[Crossing]:
        self._issued()
        self._landed()
        self._waits()
        for (source, target, site, kind), sums in sorted(self._sums.items()):
            yield Crossing(kind, site, source, target, *sums)

    def _add(self, kind: CrossingKind, rows: Int64, source: Int64, target: Int64, column: int, values: Int64) -> None:
        """Adds `values` to a column of the sums of those events' sites."""
        key = np.stack((source, target, self._site[rows]))
        names, of = np.unique(key, axis=1, return_inverse=True)
        totals = np.zeros(names.shape[1], np.int64)
        np.add.at(totals, of.reshape(-1), values)
        for (one, other, site), total in zip(names.T.tolist(), totals.tolist(), strict=True):
            self._sums.setdefault((one, other, site, kind), [0, 0, 0, 0])[column] += total

    def _count(self, kind: CrossingKind, rows: Int64, source: Int64, target: Int64, *, moves: bool = False) -> None:
        self._add(kind, rows, source, target, 0, np.ones(len(rows), np.int64))
        if moves:
            self._add(kind, rows, source, target, 1, self._launch.events["bytes"][rows])

    def _rows(self, kind: str, *, group: bool) -> Int64:
        return np.flatnonzero((self._kinds[self._site] == kind) & (self._group == group))

    def _issued(self) -> None:
        """What says itself which other CTA it is for."""
        peer = self._launch.events["peer"].astype(np.int64)
        for name, kind in (("arrive", CrossingKind.ARRIVAL), ("tma_load", CrossingKind.LOAD)):
            rows = self._rows(name, group=name == "arrive")
            rows = rows[peer[rows] >= 0]
            self._count(kind, rows, self._cta[rows], peer[rows])
        rows = self._rows("async_copy", group=True)
        rows = rows[peer[rows] >= 0]
        copies = np.array([site.text == _COPIES for site in self._launch.sites] + [False])[self._site[rows]]
        for kind, of in ((CrossingKind.COPY, rows[copies]), (CrossingKind.STORE, rows[~copies])):
            self._count(kind, of, self._cta[of], peer[of], moves=True)

    def _landed(self) -> None:
        """Engines' events that another CTA issued, and what pairs and clusters are told together."""
        by = self._launch.events["released_by"].astype(np.int64)
        paired: set[tuple[int, int]] = set()
        for name, kind in (("tma_load", CrossingKind.MULTICAST), ("mma", CrossingKind.PRODUCT)):
            rows = self._rows(name, group=False)
            rows = rows[by[rows] >= 0]
            rows = rows[self._cta[by[rows]] != self._cta[rows]]
            source = self._cta[by[rows]]
            self._count(kind, rows, source, self._cta[rows], moves=kind is CrossingKind.MULTICAST)
            if kind is CrossingKind.PRODUCT:
                paired = set(zip(source.tolist(), self._cta[rows].tolist(), strict=True))
        commits = self._rows("mma_commit", group=True)
        for source, target in sorted(paired):
            rows = commits[self._cta[commits] == source]
            self._count(CrossingKind.COMMIT, rows, self._cta[rows], np.full(len(rows), target))
        rows = self._rows("clc", group=False)
        traced = set(self._cta.tolist())
        for cta in sorted(set(self._cta[rows].tolist())):
            own = rows[self._cta[rows] == cta]
            for other in self._clusters.members(self._clusters.cluster_of(cta)):
                if other != cta and other in traced:
                    self._count(CrossingKind.ANSWER, own, self._cta[own], np.full(len(own), other), moves=True)

    def _waits(self) -> None:
        """Waits that another CTA ended."""
        events, source = self._launch.events, sources_of_waits(self._launch)
        rows = np.flatnonzero(
            (source >= 0) & (source != self._cta) & self._group & (work_of_events(self._launch) == Work.WAIT)
        )
        by = events["released_by"][rows].astype(np.int64)
        released = np.array([_release(site) for site in self._launch.sites] + [CrossingKind.ARRIVAL])[self._site[by]]
        told = (released == CrossingKind.LOAD) & (events["peer"][by] < 0)
        released[told] = CrossingKind.MULTICAST
        for kind in CrossingKind:
            mine = released == kind
            of, target, ended = source[rows[mine]], self._cta[rows[mine]], rows[mine]
            if kind is CrossingKind.BARRIER:
                self._count(kind, by[mine], of, target)
            self._add(kind, by[mine], of, target, 2, np.ones(len(ended), np.int64))
            self._add(kind, by[mine], of, target, 3, events["end"][ended] - events["begin"][ended])


def _release(site: SiteRow) -> CrossingKind:
    """What an event of a site is that ended a wait of another CTA, or that another CTA issued."""
    if site.kind == "async_copy":
        return CrossingKind.COPY if site.text == _COPIES else CrossingKind.STORE
    return _RELEASES.get(site.kind, CrossingKind.ARRIVAL)
