"""Traces to export, whose every event is known."""

from __future__ import annotations

from typing import Any

from analysis.synthetic_traces import MEASURED, Scene, launch, pipeline

from tlxviz.exports.model import Cut
from tlxviz.exports.selection import Selection, cut
from tlxviz.trace import AgentRow, LaunchTrace, SiteRow, Track, TrackKind


def all_of(made: LaunchTrace, number: int = 0) -> Cut:
    return cut(made, number, Selection())


def copies() -> LaunchTrace:
    """Three copies in flight at once, each 50 cycles and 10 after the other, and one when the first is through."""
    scene = Scene()
    load = scene.group("load", 0, 200)
    issued = [scene.event(load, "tma_load", 10 * i, 10 * i + 4, variable="a", slot=i) for i in range(3)]
    issued.append(scene.event(load, "tma_load", 55, 59, variable="a", slot=3))
    begins = (10, 20, 30, 60)
    for event, begin in zip(issued, begins, strict=True):
        scene.copy(load, begin, begin + 50, by=event, variable="a")
    return scene.launch()


def awkward() -> LaunchTrace:
    """Names that formats have to quote, a site that is not there, an unknown kind, ranges that overlap, two CTAs."""
    tracks = [
        Track(TrackKind.WARP_GROUP, 'load, "left"', 7, 3, 0, 4, 0, 90),
        Track(TrackKind.RANGE, 'load, "left" ranges', 7, 3, 0, 4, 0, 90),
        Track(TrackKind.WARP_GROUP, "läd\nß", 2, -1, 1, 4, 0, 90),
    ]
    sites = [
        SiteRow("wait", 0, "/a dir/ker,nel.py", 3, "vollè", ""),
        SiteRow("range_begin", 0, "/a dir/ker,nel.py", 4, 'main "loop"', ""),
        SiteRow("of_the_future", 1, "", -1, "", ""),
    ]
    rows = [
        (0, 0, 5, 10, 0, 0, 1, 0, 0, -1),
        (2, -1, 10, 10, -1, -1, -1, -1, 0, -1),
        (2, 2, 12, 20, 3, 4, -1, -1, 16, 0),
        (1, 1, 0, 40, -1, -1, -1, -1, 0, -1),
        (0, 0, 30, 60, 0, 1, 0, 1, 0, 2),
        (1, 1, 20, 70, -1, -1, -1, -1, 0, -1),
    ]
    agents = [AgentRow('load, "left"', "", 0, 4), AgentRow("läd\nß", "", 1, 4)]
    return launch(tracks, sites, rows, agents, kernel='k"er,nel☃', clock_mhz=1500.0, cycles=90)


def ring() -> LaunchTrace:
    """A ring of two slots: copies land at 50, 60 and 150 in slots 0, 1 and 0, which are given back at 94 and 134."""
    scene = Scene()
    load, mma = scene.group("load", 0, 100), scene.group("mma", 0, 160)
    arrive = scene.event(mma, "arrive", 90, 94, variable="empty", slot=0, phase=0)
    scene.event(mma, "arrive", 130, 134, variable="empty", slot=1, phase=0)
    for slot, phase, wait, issued, landed, by, reader in (
        (0, 0, (0, 5), (5, 8), 50, -1, (0, 52)),
        (1, 0, (8, 10), (10, 12), 60, -1, (94, 96)),
        (0, 1, (12, 95), (95, 97), 150, arrive, (134, 152)),
    ):
        scene.event(load, "wait", *wait, variable="empty", slot=slot, phase=1 - phase, by=by)
        issue = scene.event(load, "tma_load", *issued, variable="a", slot=slot, phase=phase)
        copy = scene.copy(load, issued[1], landed, by=issue, variable="a", slot=slot, phase=phase)
        scene.event(mma, "wait", *reader, variable="full", slot=slot, phase=phase, by=copy)
    return scene.launch()


def _pairs(made: LaunchTrace) -> list[tuple[int, int]]:
    return list(zip(made.events["track"].tolist(), made.events["site"].tolist(), strict=True))


def measured(**fields: Any) -> LaunchTrace:
    """As a recorder on a GPU leaves it: by the clocks, a wait is over 2 cycles before what released it began."""
    made = pipeline(2, provenance=MEASURED, **fields)
    [wait] = [
        row
        for row, (_, site) in enumerate(_pairs(made))
        if made.sites[site].variable == "full" and made.events["released_by"][row] >= 0
    ]
    made.events["end"][wait] = 126
    made.events["begin"][made.events["released_by"][wait]] = 128
    return made
