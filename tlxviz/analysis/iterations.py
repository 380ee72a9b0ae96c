"""Iterations of the loop that a warp group spends its time in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tlxviz.analysis.occupation import Int64, Occupation
from tlxviz.trace.model import LaunchTrace


@dataclass(frozen=True, slots=True, eq=False)
class Iterations:
    """Columns, one row per iteration of the innermost loop of a track, in the order of time.

    A run is one pass through the loop: in a persistent kernel, which enters its inner loop once a tile, each tile is a
    run. An iteration goes from its first event to the first event of the next one of its run. Where the last one of a
    run ends cannot be told from what follows the loop, so its `end` is not known.
    """

    outer: Int64
    inner: Int64
    run: Int64
    begin: Int64
    """SM cycle of the first event."""
    end: Int64
    """SM cycle; -1 for the last iteration of a run."""
    first: Int64
    """Position of the first event in the columns of `Occupation`."""
    after: Int64
    """Position behind the last event; -1 for the last iteration of a run."""

    def __len__(self) -> int:
        return len(self.begin)

    def take(self, index: NDArray[np.intp] | NDArray[np.bool_] | slice) -> Iterations:
        return Iterations(
            self.outer[index],
            self.inner[index],
            self.run[index],
            self.begin[index],
            self.end[index],
            self.first[index],
            self.after[index],
        )


def loop_iterations(launch: LaunchTrace, occupied: Occupation, track: int) -> Iterations:
    """Iterations of the innermost loop of a warp group's track; of the one that takes longest where there are several.

    An operation of an outer loop has `inner` equal to `outer`, as has every operation of a single loop. So where any
    site of the track has events in which they differ, there are nested loops, and such sites are those of the inner
    ones. Runs of different loops are told apart by the first of their sites in the program's order.
    """
    part = occupied.of_track(track)
    rows = occupied.row[part]
    site = launch.events["site"][rows].astype(np.int64)
    inner = launch.events["inner"][rows].astype(np.int64)
    outer = launch.events["outer"][rows].astype(np.int64)
    inside = inner >= 0
    innermost = np.zeros(len(launch.sites) + 1, dtype=np.bool_)
    innermost[site[inside & (inner != outer)]] = True
    nested = bool(innermost.any())
    if nested:
        inside &= innermost[site]
    at = np.flatnonzero(inside)
    if not len(at):
        return Iterations(*(np.empty(0, np.int64) for _ in range(7)))
    site, inner, outer = site[at], inner[at], outer[at]
    # A single loop counts in both columns.
    step, tile = np.diff(inner), np.diff(outer) if nested else np.zeros(len(at) - 1, np.int64)
    starts = np.concatenate(([0], np.flatnonzero((step != 0) | (tile != 0)) + 1))
    again = (np.diff(inner[starts]) <= 0) | (tile[starts[1:] - 1] != 0)
    run = np.concatenate(([0], np.cumsum(again)))
    heads = starts[np.concatenate(([True], again))]
    loop = np.minimum.reduceat(site, heads)
    begin, end = occupied.begin[part], occupied.begin[part] + occupied.cycles[part]
    tails = np.concatenate((heads[1:], [len(at)])) - 1
    loops, number = np.unique(loop, return_inverse=True)
    longest = loops[np.argmax(np.bincount(number, weights=end[at[tails]] - begin[at[heads]]))]

    first = at[starts]
    follows = np.concatenate((np.diff(run) == 0, [False]))
    after = np.where(follows, np.concatenate((first[1:], [-1])), -1)
    found = Iterations(
        outer[starts],
        inner[starts],
        run,
        begin[first],
        np.where(follows, begin[after], -1),
        first + part.start,
        np.where(follows, after + part.start, -1),
    )
    return found.take(loop[run] == longest)


def behind_last(launch: LaunchTrace, occupied: Occupation, track: int, first: int) -> int:
    """Position behind the last event of an iteration that no other of its run follows.

    Args:
        first: Position of the iteration's first event in the columns of `Occupation`.
    """
    part = occupied.of_track(track)
    site, inner, outer = (launch.events[name][occupied.row[part]] for name in ("site", "inner", "outer"))
    at = first - part.start
    same = (inner == inner[at]) & (outer == outer[at])
    # an operation of an outer loop has `inner` equal to `outer`, which may happen to be this iteration's number
    nested = np.isin(site, site[inner != outer])
    if bool(nested.any()):
        same &= nested
    same = same[at:]
    return first + (len(same) if bool(same.all()) else int(np.argmin(same)))


def end_of_last(launch: LaunchTrace, occupied: Occupation, track: int, first: int) -> int:
    """SM cycle at which the last event of such an iteration ends."""
    last = behind_last(launch, occupied, track, first) - 1
    return int(occupied.begin[last] + occupied.cycles[last])
