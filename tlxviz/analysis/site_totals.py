"""Events of each warp group at each site, summed up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tlxviz.analysis.parts import Part
from tlxviz.trace.model import TrackKind

Int64 = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class SiteTotals:
    """A row per warp group, a column per site and one more for events without a site."""

    cycles: Int64
    """SM cycles of its events there."""
    counts: Int64
    longest: Int64
    """SM cycles of the longest."""

    @staticmethod
    def nothing(groups: int, sites: int) -> SiteTotals:
        return SiteTotals(*(np.zeros((groups, sites + 1), np.int64) for _ in range(3)))

    def plus(self, other: SiteTotals) -> SiteTotals:
        """Both together."""
        longest = np.maximum(self.longest, other.longest)
        return SiteTotals(self.cycles + other.cycles, self.counts + other.counts, longest)


def site_totals(part: Part, group: Int64, groups: int) -> SiteTotals:
    """What the warp groups do at each site in a part of a launch.

    Args:
        group: Which warp group each track of the part is of.
        groups: How many there are.
    """
    of_groups = part.on[TrackKind.WARP_GROUP]
    shape = (groups, len(part.launch.sites) + 1)
    # the first column is that of site -1
    key = part.spread(group * shape[1] + 1)[of_groups] + part.launch.events["site"][of_groups]
    spent = part.occupied.cycles[of_groups]
    cycles, longest = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    np.add.at(cycles.ravel(), key, spent)
    np.maximum.at(longest.ravel(), key, spent)
    counts = np.bincount(key, minlength=cycles.size).reshape(shape)
    return SiteTotals(*(np.roll(each, -1, axis=1) for each in (cycles, counts, longest)))
