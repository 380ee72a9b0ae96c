"""Stretches of a CTA's time that its iterations bound: a typical one, or that of iterations with given numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tlxviz.analysis.iterations import end_of_last, loop_iterations
from tlxviz.analysis.occupation import Occupation
from tlxviz.analysis.pace import by_pace
from tlxviz.trace.model import LaunchTrace

_ITERATIONS = 4
_FEWEST = 3


@dataclass(frozen=True, slots=True)
class Stretch:
    begin: int
    """SM cycle."""
    end: int
    """SM cycle."""
    agent: str = ""
    """The warp group whose iterations it covers; empty where none iterates and it is the whole CTA."""
    iterations: int = 0
    """How many of them; 0 where none iterates."""


def typical_stretch(launch: LaunchTrace, occupied: Occupation, cta: int) -> Stretch | None:
    """A few iterations of the innermost loop of the warp group that sets the CTA's pace, in the middle of its time.

    Returns:
        The CTA's whole time where nothing iterates; None where it has no warp group, or none of any length.
    """
    groups = by_pace(launch, occupied, cta)
    if not groups:
        return None
    begin, end = int(occupied.lower[groups].min()), int(occupied.upper[groups].max())
    for row in groups:
        found = _typical(loop_iterations(launch, occupied, row).begin, begin, end)
        if found is not None:
            return Stretch(found[0], found[1], launch.tracks[row].name, found[2])
    return Stretch(begin, end) if end > begin else None


def stretch_of_iterations(
    launch: LaunchTrace, occupied: Occupation, cta: int, first: int, after: int
) -> Stretch | tuple[int, int] | None:
    """From the begin of iteration `first` to the begin of iteration `after` of the warp group that sets the pace.

    Numbers are those of the innermost loop; in a persistent kernel, of the first tile that has them. Where nothing
    begins iteration `after`, it is up to the end of the last event before.

    Returns:
        The first and last number there are, where these iterations are not among them; None without a loop.
    """
    for row in by_pace(launch, occupied, cta):
        loop = loop_iterations(launch, occupied, row)
        if not len(loop):
            continue
        inside = np.flatnonzero((loop.inner >= first) & (loop.inner < after))
        if not len(inside):
            return int(loop.inner.min()), int(loop.inner.max())
        inside = inside[loop.run[inside] == loop.run[inside[0]]]
        last = int(inside[-1])
        end = int(loop.end[last])
        if end < 0:
            end = end_of_last(launch, occupied, row, int(loop.first[last]))
        return Stretch(int(loop.begin[inside[0]]), end, launch.tracks[row].name, len(inside))
    return None


def _typical(starts: NDArray[np.int64], begin: int, end: int) -> tuple[int, int, int] | None:
    """Begin, end and iterations of the stretch with the median duration in the middle third, the nearest to its middle.

    Where the middle third has too few iterations, the whole time is searched.
    """
    third = (end - begin) / 3
    middle = starts[(starts >= begin + third) & (starts <= end - third)]
    for candidates in (middle, starts):
        if len(candidates) <= _FEWEST:
            continue
        steps = min(_ITERATIONS, len(candidates) - 1)
        lengths = candidates[steps:] - candidates[:-steps]
        median = np.sort(lengths)[(len(lengths) - 1) // 2]
        off_centre = np.abs((candidates[steps:] + candidates[:-steps]) - (begin + end))
        best = int(np.argmin(np.where(lengths == median, off_centre, np.iinfo(np.int64).max)))
        if candidates[best + steps] > candidates[best]:
            return int(candidates[best]), int(candidates[best + steps]), steps
    return None
