"""One clock for all SMs: each has a counter of its own, all of one frequency, which changes while a kernel runs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_SAME = 96.0
"""Cycles that the counters of two SMs of a group may seem apart: the global timer moves in steps of 32 ns."""


@dataclass(frozen=True, slots=True)
class CommonClock:
    """Cycles since the launch began, for the counters of its SMs."""

    offsets: NDArray[np.int64]
    """By SM: what its counter showed when the launch began."""
    cycles: int
    """From the start of the first CTA to the end of the last."""
    ns: int
    """The same by the global timer."""

    @property
    def mhz(self) -> float:
        """The SM clock, on the mean of the launch."""
        return 1000 * self.cycles / max(1, self.ns)

    def cycle(self, sm: int, clock: NDArray[np.int64]) -> NDArray[np.int64]:
        """`clock` of an SM, in cycles since the launch began."""
        return clock - self.offsets[sm]


def common_clock(headers: NDArray[np.void]) -> CommonClock:
    """Aligns the SMs by what the CTAs of a launch noted at their start and end (`buffer.HEADER`).

    SMs of a group share a counter, and the groups' counters differ by constants. Both clock and global timer were read
    at each start: an SM's constant is what its first reading says, which comes early in a launch, when all count alike;
    within a group it is the median. CTAs that have not started, or not ended, do not count.
    """
    headers = headers[headers["start_ns"] > 0]
    if not len(headers):
        return CommonClock(np.zeros(1, np.int64), 0, 0)
    sm = headers["sm"].astype(np.int64)
    begin = int(headers["start_ns"].min())
    ns = headers["start_ns"] - begin
    order = np.lexsort((ns, sm))
    first = order[np.unique(sm[order], return_index=True)[1]]
    offsets = np.zeros(int(sm.max()) + 1)
    offsets[sm[first]] = headers["start_clock"][first] - _slope(headers) * ns[first]
    offsets = _grouped(offsets, sm[first])
    zero = (headers["start_clock"] - offsets[sm]).min()
    whole = np.rint(offsets + zero).astype(np.int64)
    ended = headers[headers["end_ns"] > 0]
    if not len(ended):
        return CommonClock(whole, 0, 0)
    cycles = int((ended["end_clock"] - whole[ended["sm"]]).max())
    return CommonClock(whole, cycles, int(ended["end_ns"].max()) - begin)


def _slope(headers: NDArray[np.void]) -> float:
    """Cycles per nanosecond."""
    ns = headers["end_ns"] - headers["start_ns"]
    longest = int(np.argmax(ns))
    if ns[longest] <= 0:
        return 1.0
    return float(headers["end_clock"][longest] - headers["start_clock"][longest]) / float(ns[longest])


def _grouped(offsets: NDArray[np.float64], sms: NDArray[np.int64]) -> NDArray[np.float64]:
    """SMs whose offsets differ by no more than the readings do are given the same one."""
    made = offsets.copy()
    order = sms[np.argsort(offsets[sms], kind="stable")]
    breaks = np.flatnonzero(np.diff(offsets[order]) > _SAME) + 1
    for part in np.split(order, breaks):
        made[part] = np.median(offsets[part])
    return made
