"""Launches to the comparison that `diff` and `run --compare-sim` print."""

from __future__ import annotations

from collections.abc import Sequence

from tlxviz.analysis.difference import difference
from tlxviz.reporters import Reporter
from tlxviz.reporters.diff_json import DiffJsonReporter
from tlxviz.reporters.diff_text import DiffTextReporter
from tlxviz.trace.model import LaunchTrace


def difference_reporter(
    a: Sequence[LaunchTrace],
    b: Sequence[LaunchTrace],
    pairs: Sequence[tuple[int, int]],
    names: tuple[str, str],
    *,
    as_json: bool,
) -> Reporter:
    """The comparison of launches of two traces.

    Args:
        pairs: Which is compared with which.
        names: What the user calls the traces.
    """
    found = [difference(a[one], b[other]) for one, other in pairs]
    if as_json:
        return DiffJsonReporter(found)
    return DiffTextReporter(found, names, pairs if max(len(a), len(b)) > 1 else ())
