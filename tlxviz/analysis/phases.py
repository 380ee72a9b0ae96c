"""Which part of a warp group's time is main loop, and which comes before and after it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from tlxviz.analysis.parts import Part
from tlxviz.trace.model import TrackKind

Int64 = NDArray[np.int64]


class Phase(IntEnum):
    LOOP = 0
    """The innermost loop; all of a warp group that has none."""
    PROLOGUE = 1
    """Before it; in a persistent kernel, before that of each tile."""
    EPILOGUE = 2
    """After it."""


@dataclass(frozen=True, slots=True, eq=False)
class Phases:
    """By event of a warp group's track, as they stand in a part."""

    inside: NDArray[np.bool_]
    """Whether it is in the main loop."""
    of: NDArray[np.int8]
    """A `Phase`."""
    gap: NDArray[np.int8]
    """That of the stretch in front of it."""
    outside: Int64
    """Events that are not in the main loop."""


def phases(part: Part) -> Phases:
    """The phase of each event on a warp group's track, and of the stretch in front of it."""
    of_groups = part.on[TrackKind.WARP_GROUP]
    site, outer, inner = (part.launch.events[name][of_groups] for name in ("site", "outer", "inner"))
    track = part.occupied.track[of_groups]
    phase, gap = np.zeros(len(site), np.int8), np.zeros(len(site), np.int8)
    inside = part.seen.looping[site]
    if not len(site):
        return Phases(inside, phase, gap, np.empty(0, np.int64))
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
    goes_on = np.where(part.seen.nested[site[some]], outer[before] == outer[some], inner[before] <= inner[some])
    gap[some] = np.where(follows & goes_on, Phase.LOOP, np.where(follows, Phase.EPILOGUE, Phase.PROLOGUE))
    return Phases(inside, phase, gap, outs)
