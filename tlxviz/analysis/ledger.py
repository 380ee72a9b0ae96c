"""Totals of cycles by several things at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Int64 = NDArray[np.int64]

_ENOUGH_KEYS = 1 << 22
"""Combinations of group, place and party that one table of totals may have."""
_MOST_PIECES = 100


class Ledger:
    """Cycles by warp group, phase, cause, place, culprit and what the culprit did."""

    def __init__(self, groups: int, phases: int, causes: int, places: int, agents: int, activities: int) -> None:
        self.sizes = (groups, phases, causes, places + 1, agents + 1, activities)
        self._dense = int(np.prod(self.sizes)) <= _ENOUGH_KEYS
        self._totals = np.zeros(int(np.prod(self.sizes)) if self._dense else 0, np.int64)
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
        at: Int64 | None = None,
    ) -> None:
        """Adds cycles. Negative ones take back what was added.

        Args:
            place: -1 for none, as for `culprit`.
            at: Which of `group`, `phase` and `place` each of the others goes with; None if they are as many.
        """
        _, phases_, causes, places, agents, activities = self.sizes
        of_cause = places * agents * activities
        key = (group * phases_ + phase) * (causes * of_cause) + (place + 1) * (agents * activities)
        if at is not None:
            key = key[at]
        key = key + ((culprit + 1) * activities + cause * of_cause) + doing
        if self._dense:
            np.add.at(self._totals, key, cycles)
        else:
            self._sparse.append((key, cycles))
            if len(self._sparse) > _MOST_PIECES:
                self._condense()

    def entries(self) -> tuple[Int64, Int64]:
        """The six parts of each key that has cycles, one row each, and the cycles."""
        if self._dense:
            keys = np.flatnonzero(self._totals)
            totals = self._totals[keys]
        else:
            self._condense()
            [(keys, totals)] = self._sparse or [(np.empty(0, np.int64), np.empty(0, np.int64))]
            keys, totals = keys[totals > 0], totals[totals > 0]
        return np.stack(np.unravel_index(keys, self.sizes)), totals

    def _condense(self) -> None:
        """Adds up what there is of one key."""
        if self._sparse:
            keys, of = np.unique(np.concatenate([key for key, _ in self._sparse]), return_inverse=True)
            totals = np.bincount(of, weights=np.concatenate([cycles for _, cycles in self._sparse]))
            self._sparse = [(keys, totals.astype(np.int64))]
