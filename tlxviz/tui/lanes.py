"""The rows of the timeline, as a tree: clusters, in each its CTAs, and in these their agents and what is worked out
from them. A launch without clusters begins with the CTAs."""

from __future__ import annotations

from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from tlxviz.analysis.clusters import clusters_of
from tlxviz.trace.clusters import Clusters
from tlxviz.trace.model import Events, LaunchTrace, TrackKind
from tlxviz.trace.vocabulary import Work, work_of_events
from tlxviz.tui.by_track import TrackEvents
from tlxviz.tui.cta_lanes import CtaMaker
from tlxviz.tui.lane import CtaLanes, Lane
from tlxviz.tui.looks import Look
from tlxviz.tui.slices import Blend, no_slices


class Lanes:
    """The lanes of a launch, CTA by CTA, each made when it is first looked at."""

    def __init__(self, launch: LaunchTrace) -> None:
        self.launch = launch
        self.events = TrackEvents(launch)
        self._made: dict[int, CtaLanes] = {}

    @property
    def tracks(self) -> dict[int, list[int]]:
        """The tracks of each CTA."""
        return self.events.of_cta

    @cached_property
    def ctas(self) -> list[int]:
        """Numbers of the traced CTAs, in order."""
        return list(self.tracks)

    @cached_property
    def heads(self) -> dict[int, Lane]:
        """The lane of each CTA, with its other lanes in it."""
        clusters, found = self.clusters, dict[int, Lane]()
        for cta in self.ctas:
            made = CtaMaker(self.events, cta, cluster=self._cluster_key(cta), rank=clusters.rank_of(cta))
            found[cta] = made.head(shut=cta != self.ctas[0])
        return found

    @cached_property
    def clusters(self) -> Clusters:
        """How the CTAs are grouped."""
        return clusters_of(self.launch)

    @cached_property
    def roots(self) -> list[Lane]:
        """The lanes that are in no other: those of clusters; without clusters, those of CTAs."""
        heads = self.heads
        if self.clusters.size == 1:
            return list(heads.values())
        together: dict[int, list[Lane]] = {}
        for cta, head in heads.items():
            together.setdefault(self.clusters.cluster_of(cta), []).append(head)
        return [_cluster(number, own, shut=bool(at)) for at, (number, own) in enumerate(together.items())]

    def _cluster_key(self, cta: int) -> str:
        return f"cluster {self.clusters.cluster_of(cta)}" if self.clusters.size > 1 else ""

    def around(self, cta: int) -> tuple[str, ...]:
        """Keys of the lanes that a CTA's own lanes are in, the outermost first."""
        return tuple(filter(None, (self._cluster_key(cta), f"cta {cta}")))

    def mates(self, cta: int, other: int) -> bool:
        """Whether two CTAs are of one cluster."""
        return self.clusters.cluster_of(cta) == self.clusters.cluster_of(other)

    def life(self, cta: int) -> tuple[int, int]:
        """SM cycles at which a CTA starts and ends."""
        return self.events.life(cta)

    def of(self, cta: int) -> CtaLanes:
        """The lanes of a CTA, without those in folded ones that were never opened."""
        if cta not in self._made:
            head, tracks = self.heads[cta], self.tracks[cta]
            self._made[cta] = CtaLanes(cta, self.launch.tracks[tracks[0]].sm, [head, *head.own])
        return self._made[cta]

    def lane_of(self, event: int) -> Lane | None:
        """The lane that shows an event."""
        track = int(self.launch.events["track"][event])
        row = self.launch.tracks[track]
        found = [lane for lane in self.of(row.cta).lanes if lane.track == track]
        if row.kind is TrackKind.TMA:
            store = int(self.events.looks_of(np.array([event]))[0]) == Look.STORE
            found = [lane for lane in found if lane.key.endswith(" stores") == store]
        return found[0] if found else None

    def find(self, key: str) -> Lane | None:
        """The lane of a key; None where this launch has none."""
        if key.startswith("cluster "):
            return next((lane for lane in self.roots if lane.key == key), None)
        name = key.partition("/")[0].removeprefix("cta ")
        head = self.heads.get(int(name)) if name.isdecimal() else None
        if head is None or head.key == key:
            return head
        for lane in head.own:
            if lane.key == key:
                return lane
            if lane.folds and key.startswith(f"{lane.key}/"):
                return next((each for each in lane.own if each.key == key), None)
        return None


def _cluster(number: int, heads: list[Lane], *, shut: bool) -> Lane:
    """The lane of a cluster, which shows what its CTAs do."""

    def whole() -> Blend:
        parts = [head.slices for head in heads]
        life = min(each.life[0] for each in parts), max(each.life[1] for each in parts)
        empty = no_slices(life=life)
        return Blend(empty.begin, empty.end, empty.look, empty.event, life=life, parts=parts)

    return Lane(f"cluster {number}", f"cluster {number}", 0, heads[0].cta, whole, make_own=lambda: heads, shut=shut)


def waits(launch: LaunchTrace) -> NDArray[np.bool_]:
    """Whether each event is a wait."""
    return _waits(launch, launch.events)


@lru_cache(maxsize=2)  # asked for at every key that goes from wait to wait; the events, since a launch may get more
def _waits(launch: LaunchTrace, events: Events) -> NDArray[np.bool_]:
    made = work_of_events(launch) == Work.WAIT
    made.flags.writeable = False
    return made
