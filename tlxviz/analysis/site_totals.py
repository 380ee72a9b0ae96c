"""Events of each warp group at each site, summed up in one pass."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tlxviz.analysis.groups import WarpGroup, group_of_track
from tlxviz.analysis.occupation import Occupation
from tlxviz.trace.model import LaunchTrace

Int64 = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SiteTotals:
    """A row per warp group, a column per site and one more for events without a site."""

    cycles: Int64
    """SM cycles of its events there."""
    counts: Int64
    longest: Int64
    """SM cycles of the longest."""
    key: NDArray[np.int32]
    """Of each position of the `Occupation`: which of these, row by row; behind them all for an event of an engine."""


def site_totals(launch: LaunchTrace, groups: list[WarpGroup], occupied: Occupation) -> SiteTotals:
    """What the warp groups of the traced CTAs do at each site."""
    columns = len(launch.sites) + 1
    size = len(groups) * columns
    first = group_of_track(launch, groups) * columns
    first[first < 0] = size
    site = launch.events["site"][occupied.row]
    key = first.astype(np.int32)[occupied.track] + np.where(site < 0, np.int32(columns - 1), site)
    np.minimum(key, size, out=key)
    shape = (len(groups), columns)
    cycles = np.bincount(key, weights=occupied.cycles, minlength=size + 1)[:size].astype(np.int64)
    counts = np.bincount(key, minlength=size + 1)[:size]
    longest = np.zeros(size + 1, np.int64)
    np.maximum.at(longest, key, occupied.cycles)
    return SiteTotals(cycles.reshape(shape), counts.reshape(shape), longest[:size].reshape(shape), key)
