"""What has to be known of all events of a launch before a part of them can be looked at."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tlxviz.trace.model import LaunchTrace

Int64 = NDArray[np.int64]

BLOCK = 1 << 16
"""Events that are looked at together: their columns stay in a second-level cache."""


@dataclass(frozen=True, slots=True, eq=False)
class Survey:
    """By track and by site of a launch."""

    first: Int64
    """First cycle of each track with its events."""
    last: Int64
    """The last one; where the track has no end, that of its events."""
    counts: Int64
    """Its events."""
    looping: NDArray[np.bool_]
    """Whether each site is in the innermost loop of its warp group; one entry more, false, for site -1."""
    nested: NDArray[np.bool_]
    """Whether each site is in a loop within a loop; likewise."""


def blocks(size: int) -> Iterator[slice]:
    """Rows of an event table of this size, block by block."""
    return (slice(first, min(first + BLOCK, size)) for first in range(0, size, BLOCK))


def survey(launch: LaunchTrace) -> Survey:
    """Goes over all events once."""
    events, tracks, columns = launch.events, len(launch.tracks), len(launch.sites) + 1
    lower = np.array([each.begin for each in launch.tracks], np.int64)
    upper = np.maximum(lower, np.array([each.end for each in launch.tracks], np.int64))
    first, last = lower.copy(), upper.copy()
    counts = np.zeros(tracks, np.int64)
    # four for each site, the first four for site -1
    loops = np.zeros(4 * columns, np.int64)
    for block in blocks(len(events)):
        track, inner = events["track"][block].astype(np.intp), events["inner"][block]
        begin, end = events["begin"][block], events["end"][block]
        early, late = np.flatnonzero(begin < lower[track]), np.flatnonzero(end > upper[track])
        np.minimum.at(first, track[early], begin[early])
        np.maximum.at(last, track[late], end[late])
        counts += np.bincount(track, minlength=tracks)
        key = events["site"][block].astype(np.int64)
        key += 1
        key *= 4
        key += (inner >= 0).astype(np.int64)
        key += (inner != events["outer"][block]).astype(np.int64) * 2
        loops += np.bincount(key, minlength=len(loops))
    # from here on the last entry is that of site -1, as where sites are indices
    of_site = np.roll(loops.reshape(columns, 4) > 0, -1, axis=0)
    looping, nested = of_site[:, 1] | of_site[:, 3], of_site[:, 2] | of_site[:, 3]
    looping[-1] = nested[-1] = False
    # Iterations of a single loop have equal `outer` and `inner`; where a warp group has sites for which they differ,
    # its loops are nested, and the others are in the outer loop alone.
    agent = np.array([*(each.agent for each in launch.sites), -1], np.int64)
    with_nests = np.zeros(int(agent.max(initial=0)) + 2, bool)
    with_nests[agent[nested]] = True
    return Survey(first, last, counts, np.where(with_nests[agent], nested, looping), nested)
