"""Rings of two CTAs each, of which the first loads for both."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from tui.ring_scene import ARRIVE, EMPTY, LOAD, ring

from tlxviz.trace import Events, LaunchTrace, TrackKind


def rings(clusters: int = 2) -> LaunchTrace:
    """`tui.ring_scene.ring` in clusters of two CTAs, four iterations each.

    The first CTA of a cluster issues the copies of both, and its `load` waits for the `mma` of the second.
    """
    made = ring(ctas=2 * clusters)
    events = made.events
    track, site, inner = (events[name] for name in ("track", "site", "inner"))
    cta = np.array([each.cta for each in made.tracks])[track]
    group = np.array([each.kind is TrackKind.WARP_GROUP for each in made.tracks])[track]
    by, peer = events["released_by"].copy(), events["peer"].copy()
    kept = np.ones(len(events), bool)
    for row in range(len(events)):
        first = cta[row] % 2 == 0
        if site[row] == LOAD and not group[row] and not first:
            [by[row]] = np.flatnonzero((site == LOAD) & group & (cta == cta[row] - 1) & (inner == inner[row]))
        elif site[row] == EMPTY and first and by[row] >= 0:
            [by[row]] = np.flatnonzero((site == ARRIVE) & (cta == cta[row] + 1) & (inner == inner[by[row]]))
        elif site[row] == ARRIVE and not first:
            peer[row] = cta[row] - 1
        kept[row] = not (site[row] == LOAD and group[row] and not first)
    given = Events({**events.columns, "released_by": by, "peer": peer})
    return replace(made, grid=(2 * clusters, 1, 1), cluster=(2, 1, 1), events=given.select(kept))
