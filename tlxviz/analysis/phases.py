"""Which part of a warp group's time is main loop, and which comes before and after it."""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from tlxviz.analysis.dependencies import Dependencies
from tlxviz.trace.model import LaunchTrace

Int64 = NDArray[np.int64]


class Phase(IntEnum):
    LOOP = 0
    """The innermost loop; all of a warp group that has none."""
    PROLOGUE = 1
    """Before it; in a persistent kernel, before that of each tile."""
    EPILOGUE = 2
    """After it."""


def in_main_loop(launch: LaunchTrace) -> NDArray[np.bool_]:
    """Whether each site is in the innermost loop of its warp group; one entry more, false, for site -1.

    Iterations of a single loop have equal `outer` and `inner`; where a warp group has sites for which they differ, its
    loops are nested, and the others are in the outer loop alone.
    """
    looping = np.zeros(len(launch.sites) + 1, bool)
    looping[launch.events["site"][launch.events["inner"] >= 0]] = True
    looping[-1] = False
    nested = _nested(launch)
    agent = np.array([*(each.agent for each in launch.sites), -1], np.int64)
    with_nests = np.zeros(int(agent.max(initial=0)) + 2, bool)
    with_nests[agent[nested]] = True
    return np.where(with_nests[agent], nested, looping)


def _nested(launch: LaunchTrace) -> NDArray[np.bool_]:
    """Whether each site is in a loop within a loop; one entry more, false, for site -1."""
    events = launch.events
    nested = np.zeros(len(launch.sites) + 1, bool)
    nested[events["site"][events["inner"] != events["outer"]]] = True
    nested[-1] = False
    return nested


def phases(launch: LaunchTrace, made: Dependencies, order: Int64) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    """The `Phase` of each event on a warp group's track, and of the stretch in front of it.

    Args:
        order: Rows of these events, by track and begin.

    Returns:
        Both by position in `order`.
    """
    size = len(order)
    phase, gap = np.zeros(size, np.int8), np.zeros(size, np.int8)
    if not size:
        return phase, gap
    site, outer, inner = (launch.events[name][order] for name in ("site", "outer", "inner"))
    track = made.track[order]
    inside = in_main_loop(launch)[site]
    first = np.concatenate(([True], track[1:] != track[:-1]))

    # outside: by the nearest events inside, of the same track
    ins, outs = np.flatnonzero(inside), np.flatnonzero(~inside)
    place = np.searchsorted(ins, outs)
    ends = np.concatenate((ins, [0])) if len(ins) else np.zeros(1, np.int64)
    last, following = ends[np.maximum(place - 1, 0)], ends[np.minimum(place, max(0, len(ins) - 1))]
    after = (place > 0) & (track[last] == track[outs])
    ahead = (place < len(ins)) & (track[following] == track[outs])
    same_tile = (outer[last] == outer[outs]) | ~ahead
    before_next = ahead & (outer[following] == outer[outs])
    epilogue = after & (same_tile | ~before_next)
    phase[outs] = np.where(~after & ~ahead, Phase.LOOP, np.where(epilogue, Phase.EPILOGUE, Phase.PROLOGUE))
    gap[outs] = phase[outs]

    # inside: what is in front is of the loop, unless this is the first event of a run of it, which is of the same run
    # as the one before if it is in the same iteration around a nested loop, or in a later one of a single loop
    backwards = np.concatenate(([True], (outer[1:] != outer[:-1]) | (inner[1:] < inner[:-1]) | ~inside[:-1])) | first
    some = np.flatnonzero(inside & backwards)
    before = np.maximum(some - 1, 0)
    follows = ~first[some] & inside[before]
    goes_on = np.where(_nested(launch)[site[some]], outer[before] == outer[some], inner[before] <= inner[some])
    gap[some] = np.where(follows & goes_on, Phase.LOOP, np.where(follows, Phase.EPILOGUE, Phase.PROLOGUE))
    return phase, gap
