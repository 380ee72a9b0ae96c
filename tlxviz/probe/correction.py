"""Undoes the slow-down of recorded CTAs: each is given the length that it has where nothing is recorded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Stretch:
    """A recorded CTA on its SM's clock, and the length that it should have."""

    begin: int
    end: int
    length: int
    """SM cycles without probes."""


class Correction:
    """A map of the cycles of one SM on which CTAs are recorded.

    While one CTA runs, time is scaled so that it gets its length. While several do, by the mean of their factors.
    """

    def __init__(self, stretches: Sequence[Stretch]) -> None:
        knots = np.unique(np.array([cycle for each in stretches for cycle in (each.begin, each.end)], np.int64))
        begins = np.array([each.begin for each in stretches], np.int64)
        ends = np.array([each.end for each in stretches], np.int64)
        factors = np.array([each.length / max(1, each.end - each.begin) for each in stretches])
        middle = (knots[:-1] + knots[1:]) / 2
        made = [float(knots[0])] if len(knots) else [0.0]
        for place, step in zip(middle, np.diff(knots), strict=True):
            running = (begins < place) & (place < ends)
            made.append(made[-1] + float(step) * (float(factors[running].mean()) if running.any() else 1.0))
        self._from, self._to = knots, np.array(made)

    def __call__(self, cycles: NDArray[np.int64]) -> NDArray[np.int64]:
        """Corrected cycles; before the first CTA nothing changes, behind the last the distance stays."""
        if not len(self._from):
            return cycles
        inside = np.interp(cycles, self._from, self._to)
        behind = cycles > self._from[-1]
        inside = np.where(behind, self._to[-1] + (cycles - self._from[-1]), inside)
        inside = np.where(cycles < self._from[0], cycles, inside)
        return np.rint(inside).astype(np.int64)
