"""Launches to the report that `run` and `report` print."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from tlxviz.analysis.summary import summarise
from tlxviz.reporters import Reporter
from tlxviz.reporters.json import JsonReporter
from tlxviz.reporters.text import TextReporter
from tlxviz.trace.model import LaunchTrace


def summary_reporter(launches: Sequence[LaunchTrace], *, as_json: bool) -> Reporter:
    """The report of these launches. JSON has the same bytes whatever the terminal's width."""
    if as_json:
        return JsonReporter([summarise(launch) for launch in launches])
    columns = TextReporter.strip_columns(sys.stdout)
    return TextReporter([summarise(launch, strip_columns=columns) for launch in launches])
