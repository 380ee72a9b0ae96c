"""Totals of cycles by several things at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Int64 = NDArray[np.int64]

_ENOUGH_KEYS = 1 << 22
"""Combinations of group, place and party that one table of totals may have."""


class Ledger:
    """Cycles by warp group, phase, cause, place, culprit and what the culprit did."""

    def __init__(self, groups: int, phases: int, causes: int, places: int, agents: int, activities: int) -> None:
        self.sizes = (groups, phases, causes, places + 1, agents + 1, activities)
        self._dense = int(np.prod(self.sizes)) <= _ENOUGH_KEYS
        self._totals = np.zeros(int(np.prod(self.sizes)) if self._dense else 0)
        self._sparse: list[tuple[Int64, Int64]] = []

    def add(
        self,
        group: Int64,
        phase: NDArray[np.int8],
        cause: Int64 | int,
        place: Int64 | int,
        culprit: Int64 | int,
        doing: NDArray[np.int8] | int,
        cycles: Int64,
    ) -> None:
        """`place` and `culprit` are -1 for none."""
        _, phases_, causes, places, agents, activities = self.sizes
        key = (group * phases_ + phase) * causes + cause
        key = ((key * places + (place + 1)) * agents + (culprit + 1)) * activities + doing
        if self._dense:
            found = np.bincount(key, weights=cycles)
            self._totals[: len(found)] += found
        else:
            self._sparse.append((key, cycles))

    def entries(self) -> tuple[Int64, Int64]:
        """The six parts of each key that has cycles, one row each, and the cycles."""
        if self._dense:
            keys = np.flatnonzero(self._totals)
            totals = self._totals[keys]
        else:
            keys, of = np.unique(np.concatenate([key for key, _ in self._sparse]), return_inverse=True)
            totals = np.bincount(of, weights=np.concatenate([cycles for _, cycles in self._sparse]))
            keys, totals = keys[totals > 0], totals[totals > 0]
        return np.stack(np.unravel_index(keys, self.sizes)), totals.astype(np.int64)
