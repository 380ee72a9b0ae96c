"""The steady state in one line per track."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tlxviz.analysis.iterations import loop_iterations
from tlxviz.analysis.occupation import Occupation, longest_cta
from tlxviz.trace.model import LaunchTrace, TrackKind
from tlxviz.trace.vocabulary import Work, work_of_events

BUSY, ISSUE, WAIT, IDLE = "b", "i", "w", "-"
"""Characters of `StripRow.cells`. IDLE: an engine with nothing to do, or a warp group outside its life."""

_ITERATIONS = 4
_ORDER = {TrackKind.WARP_GROUP: 0, TrackKind.TMA: 1, TrackKind.TENSOR_CORE: 2}
"""Kinds of track that the strip has, from the top."""
_FEWEST = 3


@dataclass(frozen=True, slots=True)
class StripRow:
    name: str
    kind: str
    """A `TrackKind` value."""
    cells: str
    """What prevails in each column: `BUSY`, `ISSUE`, `WAIT` or `IDLE`."""


@dataclass(frozen=True, slots=True)
class Strip:
    """A window of one CTA's time; all its columns are equally long."""

    cta: int
    begin: int
    """SM cycle."""
    end: int
    """SM cycle."""
    agent: str
    """The warp group whose iterations the window covers; empty where none iterates and the window is the whole CTA."""
    iterations: int
    """How many of them; 0 where none iterates."""
    rows: tuple[StripRow, ...]

    @property
    def cycles_per_column(self) -> float:
        return (self.end - self.begin) / len(self.rows[0].cells) if self.rows else 0.0


def steady_strip(
    launch: LaunchTrace, occupied: Occupation, *, cta: int | None = None, columns: int = 60
) -> Strip | None:
    """A typical window of the middle of the launch: a few iterations of the innermost loop of its busiest warp group.

    Args:
        cta: Linear number; None for the traced CTA that took longest.
        columns: Cells of each row.

    Returns:
        None when nothing was traced.
    """
    if cta is None:
        cta = longest_cta(launch, occupied.lower, occupied.upper)
    if cta is None:
        return None
    rows = [row for row, track in enumerate(launch.tracks) if track.cta == cta and track.kind in _ORDER]
    groups = [row for row in rows if launch.tracks[row].kind == TrackKind.WARP_GROUP]
    work = work_of_events(launch)[occupied.row]
    begin, end = int(occupied.lower[groups].min()), int(occupied.upper[groups].max())
    agent, iterations = "", 0
    for row in sorted(groups, key=lambda row: _waiting(occupied, work, row)):
        window = _window(loop_iterations(launch, occupied, row).begin, begin, end)
        if window is not None:
            (begin, end, iterations), agent = window, launch.tracks[row].name
            break
    if end <= begin:
        return None
    edges = np.linspace(begin, end, columns + 1)
    rows.sort(key=lambda row: (_ORDER[launch.tracks[row].kind], launch.tracks[row].agent, row))
    strips: list[StripRow] = []
    for row in rows:
        track = launch.tracks[row]
        if track.kind == TrackKind.WARP_GROUP:
            cells = _group_cells(occupied, work, row, edges)
        else:
            half = np.diff(edges) / 2
            cells = "".join(np.where(occupied.coverage(row, edges) >= half, BUSY, IDLE).tolist())
        strips.append(StripRow(track.name, str(track.kind), cells))
    return Strip(cta, begin, end, agent, iterations, tuple(strips))


def _waiting(occupied: Occupation, work: NDArray[np.int8], row: int) -> float:
    """Share of the track's time that it waits: the busiest has the smallest."""
    part = occupied.of_track(row)
    waits = int(occupied.cycles[part][work[part] == Work.WAIT].sum())
    span = int(occupied.upper[row] - occupied.lower[row])
    return waits / span if span > 0 else 1.0


def _window(starts: NDArray[np.int64], begin: int, end: int) -> tuple[int, int, int] | None:
    """Begin, end and iterations of the stretch with the median duration in the middle third, the nearest to its middle.

    Where the middle third has too few iterations, the whole time is searched.
    """
    third = (end - begin) / 3
    middle = starts[(starts >= begin + third) & (starts <= end - third)]
    for candidates in (middle, starts):
        if len(candidates) <= _FEWEST:
            continue
        steps = min(_ITERATIONS, len(candidates) - 1)
        lengths = candidates[steps:] - candidates[:-steps]
        median = np.sort(lengths)[(len(lengths) - 1) // 2]
        off_centre = np.abs((candidates[steps:] + candidates[:-steps]) - (begin + end))
        best = int(np.argmin(np.where(lengths == median, off_centre, np.iinfo(np.int64).max)))
        if candidates[best + steps] > candidates[best]:
            return int(candidates[best]), int(candidates[best + steps]), steps
    return None


def _group_cells(occupied: Occupation, work: NDArray[np.int8], row: int, edges: NDArray[np.float64]) -> str:
    waits = occupied.coverage(row, edges, work == Work.WAIT)
    issues = occupied.coverage(row, edges, work == Work.ISSUE)
    alive = np.diff(np.clip(edges, occupied.lower[row], occupied.upper[row]))
    away = np.diff(edges) - alive
    # A tie goes to the first: waiting is what the strip is there to show.
    prevails = np.argmax(np.stack([waits, alive - waits - issues, issues, away]), axis=0)
    return "".join(np.array([WAIT, BUSY, ISSUE, IDLE])[prevails].tolist())
