"""Iterations of main loops, which two launches have in common by number."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tlxviz.analysis.iterations import Iterations


@dataclass(frozen=True, slots=True)
class Iteration:
    """An iteration of a warp group's main loop."""

    run: int
    """Passes through the loop before it: tiles, in a persistent kernel."""
    number: int
    """In its run, from 0."""
    begin: int
    """SM cycle."""


def iteration_at(loop: Iterations, cycle: int) -> Iteration:
    """The iteration that a cycle lies in; the first for an earlier one."""
    at = max(0, int(np.searchsorted(loop.begin, cycle, side="right")) - 1)
    return _numbered(loop, at)


def _numbered(loop: Iterations, at: int) -> Iteration:
    runs = np.unique(loop.run)
    run = int(loop.run[at])
    first = int(np.searchsorted(loop.run, run))
    return Iteration(int(np.searchsorted(runs, run)), at - first, int(loop.begin[at]))


def same_iteration(loop: Iterations, wanted: Iteration) -> Iteration:
    """The iteration of the same number in the run of the same number, or the last before it."""
    runs = np.unique(loop.run)
    run = int(runs[min(wanted.run, len(runs) - 1)])
    first, after = (int(np.searchsorted(loop.run, each)) for each in (run, run + 1))
    number = wanted.number if wanted.run < len(runs) else after - first - 1
    return _numbered(loop, min(first + number, after - 1))
