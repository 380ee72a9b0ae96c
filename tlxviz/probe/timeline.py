"""Puts measured times on what a replay says happened.

The replay knows which event stands between which points, the points know when. An event whose begin or end is a point
takes the point's time. What lies between two points is placed there in the proportion of the simulated times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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


def place_events(
    table: NDArray[np.int64],
    number: int,
    agent: AgentReplay,
    points: Sequence[Point],
    measured: Mapping[int, Times],
    sites: int,
) -> Placed:
    """The measured times of the events of one run.

    Args:
        table: The rows of the run's CTA, with `rows.COLUMNS`.
        number: The run's position in the CTA.
        agent: The run.
        points: All points of the kernel.
        measured: By position in `agent.marks`: all times at which that point was passed; one from each part that
            recorded it, on one clock.
        sites: How many sites the program has.
    """
    rows = np.flatnonzero((table[:, RUN] == number) & (table[:, CODE] < sites))
    count = len(rows)
    simulated = np.empty(2 * count, np.int64)
    simulated[0::2], simulated[1::2] = table[rows, BEGIN], table[rows, END]
    site_of = table[rows, CODE]
    before = np.searchsorted(rows, agent.places)
    # pins: position among begins and ends in turn; -1 and 2 * count are the run's own start and end
    pins: dict[int, list[int]] = {}
    for position, times in measured.items():
        point = points[int(agent.marks[position])]
        event = int(before[position])
        time = int(times.mean())
        if point.starts:
            pins.setdefault(-1, []).append(time)
        if point.finishes:
            pins.setdefault(2 * count, []).append(time)
        if event > 0 and int(site_of[event - 1]) in point.ends:
            pins.setdefault(2 * event - 1, []).append(time)
        if event < count and int(site_of[event]) in point.begins:
            pins.setdefault(2 * event, []).append(time)
    return _placed(agent, rows, simulated, {place: sum(times) // len(times) for place, times in pins.items()})


def _placed(agent: AgentReplay, rows: NDArray[np.intp], simulated: Times, pins: Mapping[int, int]) -> Placed:
    count = len(simulated)
    whole = np.concatenate([[agent.begin], simulated, [max(agent.end, agent.begin)]])
    whole = np.maximum.accumulate(whole)
    known = np.array(sorted(pins), np.int64) + 1
    if not len(known):
        return Placed(rows, simulated[0::2], simulated[1::2], agent.begin, agent.begin, 0, 0, False)
    times = np.array([pins[place - 1] for place in known.tolist()], np.int64)
    ordered = np.maximum.accumulate(times)
    shifted = int((ordered - times).max())
    made = _between(whole, known, ordered)
    _tighten(made, whole, known)
    begin, end = made[1:-1][0::2], made[1:-1][1::2]
    last = int(known[-1])
    ended = last > count
    stop = int(made[count + 1]) if ended else int(ordered[-1])
    return Placed(
        rows, begin, end, int(made[0]), stop, shifted, count // 2 if ended else last // 2, last % 2 == 1 and not ended
    )


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
