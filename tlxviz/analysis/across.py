"""What crosses CTAs in a launch, added up: bytes, arrivals, and waits that other CTAs ended."""

from __future__ import annotations

from dataclasses import dataclass

from tlxviz.analysis.clusters import CrossingKind, clusters_of, crossings
from tlxviz.trace.model import LaunchTrace, TrackKind


@dataclass(frozen=True, slots=True)
class Across:
    """Of the recorded CTAs of a launch with clusters."""

    cluster: tuple[int, int, int]
    """CTAs of a cluster along the axes of the grid."""
    multicast_bytes: int
    """That came from loads which another CTA issued."""
    stored_bytes: int
    """That stores and copies brought into other CTAs."""
    arrivals: int
    """On barriers of other CTAs."""
    products: int
    """That the tensor cores of a CTA ran for another one, of pairs."""
    waits: int
    """That another CTA ended, or what it issued."""
    waited: int
    """SM cycles of these in all."""
    share: float
    """Of the time of all warp groups."""
    kind: str
    """What most of that is for: a `CrossingKind`; empty where nobody waited."""
    variable: str
    """The barrier or buffer there."""
    line: int
    """Of the operation that ends those waits; 0 where none is known."""


def across(launch: LaunchTrace) -> Across | None:
    """None without clusters, and where no event was recorded."""
    if clusters_of(launch).size == 1 or not len(launch.events):
        return None
    found = crossings(launch)
    lives = sum(track.end - track.begin for track in launch.tracks if track.kind is TrackKind.WARP_GROUP)
    waited = sum(each.waited for each in found)
    by_place: dict[tuple[str, str, int], int] = {}
    for each in found:
        site = launch.sites[each.site]
        place = str(each.kind), site.variable, site.line
        by_place[place] = by_place.get(place, 0) + each.waited
    most = max(by_place, key=lambda place: by_place[place], default=None) if waited else None
    kind, variable, line = most or ("", "", 0)

    def bytes_of(*kinds: CrossingKind) -> int:
        return sum(each.bytes for each in found if each.kind in kinds)

    def count_of(of: CrossingKind) -> int:
        return sum(each.count for each in found if each.kind is of)

    return Across(
        cluster=launch.cluster,
        multicast_bytes=bytes_of(CrossingKind.MULTICAST),
        stored_bytes=bytes_of(CrossingKind.STORE, CrossingKind.COPY),
        arrivals=count_of(CrossingKind.ARRIVAL),
        products=count_of(CrossingKind.PRODUCT),
        waits=sum(each.waits for each in found),
        waited=waited,
        share=waited / lives if lives > 0 else 0.0,
        kind=kind,
        variable=variable,
        line=max(line, 0),
    )
