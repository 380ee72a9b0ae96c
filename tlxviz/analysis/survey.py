"""What has to be known of all events of a launch before a part of them can be looked at."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tlxviz.trace.model import LaunchTrace, TrackKind

Int64 = NDArray[np.int64]

BLOCK = 1 << 16
"""Events that are looked at together: their columns stay in a second-level cache."""
_NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True, eq=False)
class SiteFacts:
    """By site, with one entry more for site -1."""

    looping: NDArray[np.bool_]
    """Whether it is in the innermost loop of its warp group."""
    nested: NDArray[np.bool_]
    """Whether it is in a loop within a loop."""
    shortest_issue: Int64
    """SM cycles of the shortest issue of an MMA at the same line, whichever warp group runs it."""
    shortest_copy: Int64
    """SM cycles of its shortest copy."""


@dataclass(frozen=True, slots=True, eq=False)
class Survey:
    """By track of the launch."""

    first: Int64
    """Its first cycle with its events."""
    last: Int64
    """The last cycle of its events; the first one of its own where it has none."""
    counts: Int64
    """Events."""
    sites: SiteFacts


def blocks(size: int) -> Iterator[slice]:
    """Rows of an event table of this size, block by block."""
    return (slice(first, min(first + BLOCK, size)) for first in range(0, size, BLOCK))


def survey(launch: LaunchTrace) -> Survey:
    """Goes over all events once."""
    events, tracks, columns = launch.events, len(launch.tracks), len(launch.sites) + 1
    first = np.array([each.begin for each in launch.tracks], np.int64)
    last = first.copy()
    counts = np.zeros(tracks, np.int64)
    kinds = list(TrackKind)
    # a row for each kind of track, a column for each site, the first one for site -1
    row = np.array([1 + kinds.index(each.kind) * columns for each in launch.tracks], np.int64)
    shortest = np.full(len(kinds) * columns, _NEVER)
    loops = np.zeros(4 * columns, np.int64)
    for block in blocks(len(events)):
        track, site = events["track"][block].astype(np.int64), events["site"][block].astype(np.int64)
        begin, end, inner = events["begin"][block], events["end"][block], events["inner"][block]
        np.minimum.at(first, track, begin)
        np.maximum.at(last, track, end)
        counts += np.bincount(track, minlength=tracks)
        np.minimum.at(shortest, row[track] + site, end - begin)
        site += 1
        site *= 4
        site += inner >= 0
        site += np.left_shift(inner != events["outer"][block], 1, dtype=np.int64)
        loops += np.bincount(site, minlength=len(loops))
    # from here on the last column is that of site -1, as where sites are indices
    by_site = np.roll(shortest.reshape(len(kinds), columns), -1, axis=1)
    of_loops = np.roll(loops.reshape(columns, 4), -1, axis=0)
    looping, nested = of_loops[:, 1] + of_loops[:, 3] > 0, of_loops[:, 2] + of_loops[:, 3] > 0
    issues, copies = by_site[kinds.index(TrackKind.WARP_GROUP)], by_site[kinds.index(TrackKind.TMA)]
    return Survey(first, last, counts, _facts(launch, looping, nested, issues, copies))


def _facts(
    launch: LaunchTrace, looping: NDArray[np.bool_], nested: NDArray[np.bool_], issues: Int64, copies: Int64
) -> SiteFacts:
    looping[-1] = nested[-1] = False
    # Iterations of a single loop have equal `outer` and `inner`; where a warp group has sites for which they differ,
    # its loops are nested, and the others are in the outer loop alone.
    agent = np.array([*(each.agent for each in launch.sites), -1], np.int64)
    with_nests = np.zeros(int(agent.max(initial=0)) + 2, bool)
    with_nests[agent[nested]] = True
    lines: dict[tuple[str, int], int] = {}
    line = np.array([lines.setdefault((each.file, each.line), len(lines)) for each in launch.sites], np.int64)
    mma = np.array([each.kind == "mma" for each in launch.sites], bool)
    of_line = np.full(len(lines) + 1, _NEVER)
    np.minimum.at(of_line, line[mma], issues[:-1][mma])
    return SiteFacts(np.where(with_nests[agent], nested, looping), nested, of_line[np.append(line, -1)], copies)
