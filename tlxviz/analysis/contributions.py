"""Which phase of which barrier each event contributes to."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tlxviz.trace.model import LaunchTrace, TrackKind

Int64 = NDArray[np.int64]

_ARRIVALS = frozenset({"arrive", "expect"})
_NAMED = frozenset({"named_arrive", "named_wait"})


def phase_of_events(launch: LaunchTrace) -> Int64:
    """A number for each phase of a barrier that events of the launch contribute to, by event; -1 for other events.

    Arrivals at mbarriers and named barriers, waits at the latter, and loads by TMA. A trace does not say which barrier
    a load completes: that is the one whose waits loads of its site released, else that of the `expect` before it.
    """
    events = launch.events
    barrier = _barrier_of_sites(launch)[events["site"]]
    slot, phase = events["slot"].astype(np.int64), events["phase"].astype(np.int64)
    tracks = events["track"]
    on_group = np.array([each.kind == TrackKind.WARP_GROUP for each in launch.tracks] or [False])[tracks]
    tma = np.array([each.kind == TrackKind.TMA for each in launch.tracks] or [False])[tracks]
    load = np.array([*(each.kind == "tma_load" for each in launch.sites), False])[events["site"]]
    rows = np.flatnonzero((barrier >= 0) & (slot >= 0) & (phase >= 0) & np.where(load, tma, on_group))
    cta = np.array([each.cta for each in launch.tracks] or [0], np.int64)[tracks[rows]]
    found = np.full(len(slot), -1, np.int64)
    if len(rows):
        parts = (cta, barrier[rows], slot[rows], phase[rows])
        key = np.ravel_multi_index(parts, tuple(int(part.max()) + 1 for part in parts))
        found[rows] = np.unique(key, return_inverse=True)[1]
    return found


def barriers_of_loads(launch: LaunchTrace) -> dict[int, str]:
    """By site of a load by TMA, the name of the barrier that it completes, as `phase_of_events` finds it."""
    released = _released_barriers(launch)
    expected: dict[int, str] = {}
    found: dict[int, str] = {}
    for number, site in enumerate(launch.sites):
        if site.kind == "expect":
            expected[site.agent] = site.variable
        elif site.kind == "tma_load" and (name := released.get(number) or expected.get(site.agent, "")):
            found[number] = name
    return found


def _barrier_of_sites(launch: LaunchTrace) -> Int64:
    """A number for the barrier that each site contributes to; -1 for none, and once more for site -1."""
    numbers: dict[str, int] = {"named": 0}
    found = np.full(len(launch.sites) + 1, -1, np.int64)
    loads = barriers_of_loads(launch)
    for number, site in enumerate(launch.sites):
        if site.kind in _NAMED:
            found[number] = 0
        elif site.kind in _ARRIVALS or site.kind == "tma_load":
            name = loads.get(number, "") if site.kind == "tma_load" else site.variable
            if name:
                found[number] = numbers.setdefault(f"mbarrier {name}", len(numbers))
    return found


def _released_barriers(launch: LaunchTrace) -> dict[int, str]:
    """By site, a barrier whose waits its events released."""
    by, site = launch.events["released_by"], launch.events["site"]
    waits = np.array([*(each.kind == "wait" for each in launch.sites), False])[site] & (by >= 0)
    pairs = np.unique(np.stack((site[by[waits]], site[waits])), axis=1)
    sources: list[int] = pairs[0].tolist()
    targets: list[int] = pairs[1].tolist()
    return {one: launch.sites[other].variable for one, other in zip(sources, targets, strict=True) if one >= 0}
