"""Prologue, steady state and epilogue of each warp group, and which iterations are out of the ordinary."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tlxviz.analysis.iterations import Iterations, loop_iterations
from tlxviz.analysis.occupation import Int64, Occupation, longest_cta
from tlxviz.trace.model import LaunchTrace, TrackKind
from tlxviz.trace.vocabulary import Work, work_of_events

BUSY = "busy"
"""`Excess.kind` of a warp group's own work, the time between two events."""

_FEWEST = 3
"""Iterations of known length that make a loop worth describing."""
_NEAR = 0.2
"""Fraction of the median by which an interval may always be off and still be like the others."""
_FENCE = 1.5
"""Interquartile ranges beyond the quartiles: Tukey's fences."""
_NORMAL = 1.349
"""Interquartile range of a normal distribution in standard deviations."""
_ODD_JITTERS = 5
_REASONS = 3


@dataclass(frozen=True, slots=True)
class Intervals:
    """Of the iterations of a steady part: SM cycles from the begin of one to the begin of the next."""

    mean: float
    median: float
    """The initiation interval."""
    p95: float
    min: int
    max: int
    jitter: float
    """Interquartile range / 1.349: their standard deviation, were they normally distributed. Few odd iterations do not
    change it."""


@dataclass(frozen=True, slots=True)
class Excess:
    """What one place of the source took more, or less, than it does in other iterations."""

    kind: str
    """Kind of the site; `BUSY` for the warp group's work between the events of this place and the next."""
    variable: str
    """Name of the barrier or buffer; empty where there is none, and for work."""
    file: str
    line: int
    cycles: float
    """SM cycles above the median over the steady part; negative in an iteration that is shorter."""


@dataclass(frozen=True, slots=True)
class OddIteration:
    outer: int
    """Iteration of the outermost loop: in a persistent kernel, of the CTA's tiles."""
    inner: int
    begin: int
    """SM cycle."""
    cycles: int
    excess: float
    """SM cycles above the median interval; negative for a short one."""
    reasons: tuple[Excess, ...]
    """What makes it longer, or shorter, the largest first."""


@dataclass(frozen=True, slots=True)
class SteadyState:
    """A warp group of one CTA. Prologue, steady part and epilogue together are its time."""

    agent: str
    cta: int
    prologue: int
    """SM cycles from the warp group's begin to the steady part."""
    begin: int
    """SM cycle at which the steady part begins."""
    end: int
    """SM cycle at which it ends."""
    epilogue: int
    """SM cycles from there to the warp group's end."""
    iterations: int
    """Of the steady part, of known length: the last one of each pass through the loop is not among them."""
    runs: int
    """Passes through the loop that the steady part has a share in: tiles, in a persistent kernel."""
    between: int
    """SM cycles of the steady part outside of `iterations`: from the last iteration of one run to the next run."""
    intervals: Intervals
    busy: float
    """SM cycles of a mean iteration; with `issue` and `wait`, its mean interval."""
    issue: float
    wait: float
    odd: tuple[OddIteration, ...]
    """Iterations that are off the median by more than a fifth and by more than 5 jitters, the worst first."""
    odd_count: int
    """How many there are, where `odd` is cut short."""


def steady_states(
    launch: LaunchTrace, occupied: Occupation, *, cta: int | None = None, worst: int = 5
) -> dict[str, SteadyState | None]:
    """The steady state of each warp group of a CTA, by the name of its track.

    An iteration is like the others if its interval lies within 1.5 interquartile ranges of the quartiles over the whole
    loop, or within a fifth of the median. The steady part is the stretch in which iterations like the others outnumber
    the rest by most, the shortest of equals. So it begins and ends with such iterations, leaves out those that fill the
    pipeline, and goes on past a few odd ones where more follow that are not and, in a persistent kernel, from tile to
    tile.

    Args:
        cta: Linear number; None for the traced CTA that took longest.
        worst: How many odd iterations to list for a warp group.

    Returns:
        None for a warp group without a loop, or with too few iterations to tell. Empty where the CTA was not traced.
    """
    chosen = longest_cta(launch, occupied.lower, occupied.upper) if cta is None else cta
    work = work_of_events(launch)[occupied.row]
    return {
        track.name: _steady(launch, occupied, work, row, worst)
        for row, track in enumerate(launch.tracks)
        if track.kind == TrackKind.WARP_GROUP and track.cta == chosen
    }


def _steady(
    launch: LaunchTrace, occupied: Occupation, work: NDArray[np.int8], row: int, worst: int
) -> SteadyState | None:
    whole = loop_iterations(launch, occupied, row)
    loop = whole.take(whole.end >= 0)
    if len(loop) < _FEWEST:
        return None
    loop = loop.take(_stretch(loop.end - loop.begin))
    intervals = loop.end - loop.begin
    begin, end = int(loop.begin[0]), int(loop.end[-1])
    total = int(intervals.sum())
    count = len(loop)
    inside, number = _events_of(loop)
    wait, issue = (int(occupied.cycles[inside][work[inside] == kind].sum()) / count for kind in (Work.WAIT, Work.ISSUE))
    figures = _figures(intervals)
    odd = _odd(intervals, figures)
    return SteadyState(
        agent=launch.tracks[row].name,
        cta=launch.tracks[row].cta,
        prologue=begin - int(occupied.lower[row]),
        begin=begin,
        end=end,
        epilogue=int(occupied.upper[row]) - end,
        iterations=count,
        runs=len(np.unique(loop.run)),
        between=end - begin - total,
        intervals=figures,
        busy=total / count - wait - issue,
        issue=issue,
        wait=wait,
        odd=_explained(launch, occupied, loop, (inside, number), figures.median, odd[:worst]),
        odd_count=len(odd),
    )


def _stretch(intervals: Int64) -> slice:
    """The iterations of the steady part: those like the others count 1, the rest -1, and the sum is the largest."""
    low, median, high = np.percentile(intervals, [25, 50, 75])
    fence = _FENCE * (high - low)
    least = min(low - fence, (1 - _NEAR) * median)
    most = max(high + fence, (1 + _NEAR) * median)
    alike = (intervals >= least) & (intervals <= most)
    sums = np.concatenate(([0], np.cumsum(np.where(alike, 1, -1))))
    lowest = np.minimum.accumulate(sums[:-1])
    gain = sums[1:] - lowest
    last = int(np.argmax(gain))
    first = int(np.flatnonzero(sums[: last + 1] == lowest[last])[-1])
    return slice(first, last + 1)


def _figures(intervals: Int64) -> Intervals:
    low, median, high, p95 = (float(value) for value in np.percentile(intervals, [25, 50, 75, 95]))
    return Intervals(
        mean=float(intervals.mean()),
        median=median,
        p95=p95,
        min=int(intervals.min()),
        max=int(intervals.max()),
        jitter=(high - low) / _NORMAL,
    )


def _odd(intervals: Int64, figures: Intervals) -> NDArray[np.intp]:
    """Positions of the odd iterations, the worst first."""
    off = np.abs(intervals - figures.median)
    odd = np.flatnonzero(off > max(_NEAR * figures.median, _ODD_JITTERS * figures.jitter))
    return odd[np.argsort(-off[odd], kind="stable")]


def _events_of(loop: Iterations) -> tuple[Int64, Int64]:
    """Positions in the columns of `Occupation` of the iterations' events, and which iteration each belongs to."""
    lengths = loop.after - loop.first
    number = np.repeat(np.arange(len(loop)), lengths)
    return np.arange(len(number)) + (loop.first - np.cumsum(lengths) + lengths)[number], number


def _explained(
    launch: LaunchTrace,
    occupied: Occupation,
    loop: Iterations,
    events: tuple[Int64, Int64],
    median: float,
    odd: NDArray[np.intp],
) -> tuple[OddIteration, ...]:
    if not len(odd):
        return ()
    places, cycles = _by_place(launch, occupied, loop, events)
    usual = np.median(cycles, axis=0)
    result: list[OddIteration] = []
    for index in odd.tolist():
        length = int(loop.end[index] - loop.begin[index])
        excess = cycles[index] - usual
        # Only what goes the way of the whole explains it.
        towards = np.maximum(excess if length > median else -excess, 0)
        ranking: list[int] = np.argsort(-towards, kind="stable")[:_REASONS].tolist()
        reasons = tuple(Excess(*places[place], float(excess[place])) for place in ranking if towards[place] > 0)
        outer, inner, begin = int(loop.outer[index]), int(loop.inner[index]), int(loop.begin[index])
        result.append(OddIteration(outer, inner, begin, length, length - median, reasons))
    return tuple(result)


def _by_place(
    launch: LaunchTrace, occupied: Occupation, loop: Iterations, events: tuple[Int64, Int64]
) -> tuple[list[tuple[str, str, str, int]], NDArray[np.float64]]:
    """Cycles of each iteration (row) at each place of the source (column). A row's sum is the interval.

    A place is named by kind, variable, file and line: a compiler that unrolls makes several sites of one line.
    """
    inside, number = events
    numbers: dict[tuple[str, str, str, int], int] = {}
    site = launch.events["site"][occupied.row[inside]]
    column = np.zeros((len(launch.sites) + 1, 2), dtype=np.int64)
    found: list[int] = np.unique(site).tolist()
    for index in found:
        if index >= 0:
            row = launch.sites[index]
            keys = ((row.kind, row.variable, row.file, row.line), (BUSY, "", row.file, row.line))
        else:
            keys = (("", "", "", 0), (BUSY, "", "", 0))
        column[index] = [numbers.setdefault(key, len(numbers)) for key in keys]
    taken = occupied.cycles[inside]
    gap = occupied.begin[inside + 1] - occupied.begin[inside] - taken
    flat = np.concatenate([number * len(numbers) + column[site, which] for which in (0, 1)])
    cycles = np.bincount(flat, weights=np.concatenate([taken, gap]), minlength=len(loop) * len(numbers))
    return list(numbers), cycles.astype(np.float64).reshape(len(loop), len(numbers))
