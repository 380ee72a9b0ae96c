"""Lines of a timeline on which nothing overlaps: a track, or several for one whose events do."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def sublanes(track: NDArray[Any], begin: NDArray[Any], end: NDArray[Any]) -> NDArray[np.int32]:
    """For each event, which line of its track it stands on, from 0.

    By begin, each takes the first line on which everything has ended by then, so that there are no more lines than
    events at one time. Events of one track that begin and end together take a line each, unless they last no time.

    Args:
        track: Numbers from 0.
        begin: Cycles.
        end: Cycles, not before `begin`. In a track, begins or ends ascend, but for some at the end.
    """
    lanes = np.zeros(len(track), dtype=np.int32)
    if not len(track):
        return lanes
    # Small numbers are sorted fastest.
    small = track.astype(np.min_scalar_type(int(track.max())))
    order = np.argsort(small, kind="stable")
    there = track[order]
    same = there[1:] == there[:-1]
    overlaps = np.zeros(int(track.max()) + 1, dtype=np.bool_)
    overlaps[there[1:][same & (begin[order][1:] < end[order][:-1])]] = True
    left = np.flatnonzero(overlaps[track])
    left = left[np.lexsort((end[left], begin[left], track[left]))]
    # One number for track and time, in which tracks stand one after the other.
    first = int(begin.min())
    span = int(end.max()) - first + 1
    begins = track[left].astype(np.int64) * span + (begin[left] - first)
    ends = track[left].astype(np.int64) * span + (end[left] - first)
    lane = 0
    while len(left):
        # The first line of what is left: from each event to the next that begins once it has ended, or to the next
        # track's first.
        following: list[int] = np.maximum(np.searchsorted(begins, ends), np.arange(1, len(left) + 1)).tolist()
        chosen: list[int] = []
        place = 0
        while place < len(following):
            chosen.append(place)
            place = following[place]
        lanes[left[chosen]] = lane
        rest = np.ones(len(left), dtype=np.bool_)
        rest[chosen] = False
        left, begins, ends = left[rest], begins[rest], ends[rest]
        lane += 1
    return lanes
