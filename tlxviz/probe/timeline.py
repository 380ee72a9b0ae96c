"""Puts measured times on what a replay says happened.

The replay knows which event stands between which points, the points know when. An event whose begin or end is a point
takes the point's time. What lies between two points is placed there in the proportion of the simulated times.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tlxviz.probe.points import Point
from tlxviz.sim.replay import AgentReplay
from tlxviz.sim.rows import BEGIN, CODE, END, RUN

Times = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Placed:
    """The events of one run of a warp group, in time."""

    rows: NDArray[np.intp]
    """Rows of the CTA's table that are its own events, in order."""
    begin: Times
    end: Times
    start: int
    """When the warp group starts."""
    stop: int
    """When it ends."""
    shifted: int
    """Most cycles by which a time had to be moved so that the warp group's events stay in order."""
    known: int
    """How many of the events have been seen to end; the others, at the end, have times that nobody measured."""
    standing: bool
    """Whether the first of the others has been seen to begin."""


@dataclass(frozen=True, slots=True)
class Passed:
    """When one run of a warp group passed its points."""

    places: NDArray[np.int64]
    """Positions among the run's marks; the same may be there for each part that recorded it."""
    cycles: Times
    """For each, all on one clock."""


def place_events(
    table: NDArray[np.int64],
    number: int,
    agent: AgentReplay,
    points: Sequence[Point],
    passed: Passed,
    sites: int,
) -> Placed:
    """The measured times of the events of one run.

    Args:
        table: The rows of the run's CTA, with `rows.COLUMNS`.
        number: The run's position in the CTA.
        agent: The run.
        points: All points of the kernel.
        passed: What was measured.
        sites: How many sites the program has.
    """
    rows = np.flatnonzero((table[:, RUN] == number) & (table[:, CODE] < sites))
    count = len(rows)
    simulated = np.empty(2 * count, np.int64)
    simulated[0::2], simulated[1::2] = table[rows, BEGIN], table[rows, END]
    # one place more than rows: of no event, whose site no point begins or ends
    site_of = np.append(table[rows, CODE], sites)
    event = np.searchsorted(rows, agent.places)[passed.places]
    mark = agent.marks[passed.places]
    begins, ends = _table([point.begins for point in points], sites), _table([point.ends for point in points], sites)
    starts = np.array([point.starts for point in points], bool)
    finishes = np.array([point.finishes for point in points], bool)
    # pins: position among begins and ends in turn; -1 and 2 * count are the run's own start and end
    pinned = [
        (np.full(len(event), -1), starts[mark]),
        (np.full(len(event), 2 * count), finishes[mark]),
        (2 * event - 1, (event > 0) & ends[mark, site_of[event - 1]]),
        (2 * event, begins[mark, site_of[event]]),
    ]
    places = np.concatenate([place[holds] for place, holds in pinned])
    cycles = np.concatenate([passed.cycles[holds] for _, holds in pinned])
    known, which = np.unique(places, return_inverse=True)
    sums = np.zeros(len(known), np.int64)
    np.add.at(sums, which, cycles)
    return _placed(agent, rows, simulated, known + 1, sums // np.maximum(1, np.bincount(which, minlength=len(known))))


def _table(numbers: Sequence[tuple[int, ...]], sites: int) -> NDArray[np.bool_]:
    """A row for each point, a column for each site and one more."""
    made = np.zeros((len(numbers), sites + 1), bool)
    for row, own in enumerate(numbers):
        made[row, list(own)] = True
    return made


def _placed(
    agent: AgentReplay, rows: NDArray[np.intp], simulated: Times, known: NDArray[np.int64], times: Times
) -> Placed:
    """The events between what is known: positions, one more than those among begins and ends, and their times."""
    count = len(simulated)
    whole = np.concatenate([[agent.begin], simulated, [max(agent.end, agent.begin)]])
    whole = np.maximum.accumulate(whole)
    if not len(known):
        return Placed(rows, simulated[0::2], simulated[1::2], agent.begin, agent.begin, 0, 0, False)
    ordered = np.maximum.accumulate(times)
    shifted = int((ordered - times).max())
    made = _between(whole, known, ordered)
    _tighten(made, whole, known)
    begin, end = made[1:-1][0::2], made[1:-1][1::2]
    last = int(known[-1])
    ended = last > count
    stop = int(made[count + 1]) if ended else int(ordered[-1])
    seen = count // 2 if ended else last // 2
    return Placed(rows, begin, end, int(made[0]), stop, shifted, seen, last % 2 == 1 and not ended)


def _between(whole: Times, known: NDArray[np.int64], times: Times) -> Times:
    """Times for all positions: the known ones, and between two of them in the proportion of the simulated ones."""
    positions = np.arange(len(whole))
    right = np.searchsorted(known, positions)
    left = np.clip(np.searchsorted(known, positions, side="right") - 1, 0, len(known) - 1)
    right = np.clip(right, 0, len(known) - 1)
    a, b = known[left], known[right]
    span = whole[b] - whole[a]
    share = np.where(span > 0, (whole - whole[a]) / np.maximum(span, 1), (positions - a) / np.maximum(b - a, 1))
    made = times[left] + np.rint(np.clip(share, 0, 1) * (times[right] - times[left])).astype(np.int64)
    # outside of what is known the simulated distances stand
    made = np.where(positions < known[0], times[0] - (whole[known[0]] - whole), made)
    made = np.where(positions > known[-1], times[-1] + (whole - whole[known[-1]]), made)
    return made.astype(np.int64)


def _tighten(made: Times, whole: Times, known: NDArray[np.int64]) -> None:
    """An event that issues work, and of which only the end is known, has taken no longer than it is simulated."""
    is_known = np.zeros(len(made), bool)
    is_known[known] = True
    begins = np.arange(1, len(made) - 1, 2)
    loose = begins[~is_known[begins] & is_known[begins + 1]]
    earliest = np.maximum(made[loose - 1], made[loose + 1] - (whole[loose + 1] - whole[loose]))
    made[loose] = np.maximum(made[loose], np.minimum(earliest, made[loose + 1]))
