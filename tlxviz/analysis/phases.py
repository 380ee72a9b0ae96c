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
    inside = in_main_loop(launch)[launch.events["site"][order]]
    outer = launch.events["outer"][order].astype(np.int64)
    inner = launch.events["inner"][order].astype(np.int64)
    nested = _nested(launch)[launch.events["site"][order]]
    track = made.track[order]
    place = np.arange(len(order))
    last = np.maximum.accumulate(np.where(inside, place, -1))
    following = _next(inside)
    after = (last >= 0) & (track[last] == track)
    ahead = (following < len(order)) & (track[np.minimum(following, len(order) - 1)] == track)
    same_tile = after & ((outer[last] == outer) | ~ahead)
    before_next = ahead & (outer[np.minimum(following, len(order) - 1)] == outer)
    phase = np.where(
        inside | ~(after | ahead),
        Phase.LOOP,
        np.where(after & (same_tile | ~before_next), Phase.EPILOGUE, Phase.PROLOGUE),
    ).astype(np.int8)
    previous = place - 1
    first = np.concatenate(([True], np.diff(track) != 0)) if len(order) else np.zeros(0, bool)
    follows_loop = ~first & inside[previous]
    # the same run of the loop: of a nested one, the same iteration around it; of a single one, a later iteration
    goes_on = np.where(nested, outer[previous] == outer, inner[previous] <= inner)
    gap = np.where(
        phase != Phase.LOOP,
        phase,
        np.where(
            ~inside | (follows_loop & goes_on),
            Phase.LOOP,
            np.where(follows_loop, Phase.EPILOGUE, Phase.PROLOGUE),
        ),
    ).astype(np.int8)
    return phase, gap


def _next(flags: NDArray[np.bool_]) -> Int64:
    """The first place from each on at which `flags` holds; their number where there is none."""
    places = np.where(flags, np.arange(len(flags)), len(flags))
    return np.minimum.accumulate(places[::-1])[::-1]
