"""From the records of a ring to the cycles at which a warp passed its points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tlxviz.probe.buffer import MOST_OF_A_BLOCK
from tlxviz.probe.ptx import tags

_LOW = (1 << 24) - 1


@dataclass(frozen=True, slots=True)
class Difference:
    """The first record that is not what the replay expects."""

    position: int
    """Its place in the stream."""
    expected: int
    """The point that should have been passed."""
    tag: int
    """What the record says instead: `ptx.tag_of` some point, or 0 for a point behind the first of a block."""


@dataclass(frozen=True, slots=True)
class Stream:
    """What one warp recorded."""

    times: NDArray[np.int64]
    """SM cycles on the clock of `%clock64`, one for each point passed, as far as they were kept."""
    missing: int
    """Points passed that the ring had no room for."""
    difference: Difference | None = None
    """Where the records stop to be what was expected; `times` end there."""


def decode(ring: NDArray[np.uint32], expected: NDArray[np.int32], start: int) -> Stream:
    """The times at which a warp passed the points `expected`.

    A record is the lower half of the clock, and where a block of code begins the number of the point on top. The
    clock's lower 24 bits follow each other; whatever the upper eight differ by must be nothing, or that number.

    Args:
        ring: The ring as it was written, from its lowest address on.
        expected: Numbers of the points in the order in which the replay passed them.
        start: `%clock64` at the start of the CTA.
    """
    room = max(0, len(ring) - MOST_OF_A_BLOCK)
    count = min(len(expected), room)
    records = ring[:count].astype(np.int64)
    low = records & _LOW
    steps = np.diff(low, prepend=start & _LOW) & _LOW
    times = start + np.cumsum(steps)
    surplus = ((records - times) >> 24) & 0xFF
    wrong = np.flatnonzero((surplus != 0) & (surplus != tags(expected[:count])))
    if len(wrong):
        first = int(wrong[0])
        difference = Difference(first, int(expected[first]), int(surplus[first]))
        return Stream(times[:first], len(expected) - count, difference)
    return Stream(times, len(expected) - count)


def written(ring: NDArray[np.uint32]) -> int:
    """How many records a warp has left in a ring that was zero before, where it may still be running."""
    blank = np.flatnonzero(ring == 0)
    # a record is zero once in four billion cycles: two in a row are where the warp has not been
    ends = blank[:-1][np.diff(blank) == 1] if len(blank) > 1 else blank[:0]
    return int(ends[0]) if len(ends) else len(ring) - (1 if len(blank) and blank[-1] == len(ring) - 1 else 0)
