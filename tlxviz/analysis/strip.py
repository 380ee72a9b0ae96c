"""The steady state in one line per track."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tlxviz.analysis.occupation import Occupation, longest_cta
from tlxviz.analysis.stretch import typical_stretch
from tlxviz.trace.model import LaunchTrace, TrackKind
from tlxviz.trace.vocabulary import Work, work_of_events

BUSY, ISSUE, WAIT, IDLE = "b", "i", "w", "-"
"""Characters of `StripRow.cells`. IDLE: an engine with nothing to do, or a warp group outside its life."""

_ORDER = {TrackKind.WARP_GROUP: 0, TrackKind.TMA: 1, TrackKind.TENSOR_CORE: 2, TrackKind.LAUNCH_CONTROL: 3}
"""Kinds of track that the strip has, from the top."""


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
    """A typical window of the middle of the launch: a few iterations of the warp group that sets the pace.

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
    stretch = typical_stretch(launch, occupied, cta)
    if stretch is None:
        return None
    begin, end = stretch.begin, stretch.end
    rows = [row for row, track in enumerate(launch.tracks) if track.cta == cta and track.kind in _ORDER]
    work = work_of_events(launch)[occupied.row]
    edges = np.linspace(begin, end, columns + 1)
    rows.sort(key=lambda row: (_ORDER[launch.tracks[row].kind], launch.tracks[row].agent, row))
    strips: list[StripRow] = []
    for row in rows:
        track = launch.tracks[row]
        if track.kind == TrackKind.WARP_GROUP:
            cells = _group_cells(occupied, work[occupied.of_track(row)], row, edges)
        else:
            half = np.diff(edges) / 2
            cells = "".join(np.where(occupied.coverage(row, edges) >= half, BUSY, IDLE).tolist())
        strips.append(StripRow(track.name, str(track.kind), cells))
    return Strip(cta, begin, end, stretch.agent, stretch.iterations, tuple(strips))


def _group_cells(occupied: Occupation, work: NDArray[np.int8], row: int, edges: NDArray[np.float64]) -> str:
    """
    Args:
        work: Of the track's events.
    """
    waits = occupied.coverage(row, edges, work == Work.WAIT)
    issues = occupied.coverage(row, edges, work == Work.ISSUE)
    alive = np.diff(np.clip(edges, occupied.lower[row], occupied.upper[row]))
    away = np.diff(edges) - alive
    # A tie goes to the first: waiting is what the strip is there to show.
    prevails = np.argmax(np.stack([waits, alive - waits - issues, issues, away]), axis=0)
    return "".join(np.array([WAIT, BUSY, ISSUE, IDLE])[prevails].tolist())
