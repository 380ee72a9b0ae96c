"""Launches to the report that `run` and `report` print."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from tlxviz.analysis.account import Account
from tlxviz.analysis.summary import summarise
from tlxviz.commands import streams
from tlxviz.commands.remarks import missing_ctas
from tlxviz.reporters import Reporter
from tlxviz.reporters.json import JsonReporter
from tlxviz.reporters.text import TextReporter
from tlxviz.trace.model import LaunchTrace


def summary_reporter(launches: Sequence[LaunchTrace], *, as_json: bool, sections: Sequence[str] = ()) -> Reporter:
    """The report of these launches: the short one, or sections of the long one.

    JSON has all, and the same bytes whatever the terminal's width.
    """
    accounts = [Account(launch) for launch in launches]
    if as_json:
        return JsonReporter([summarise(account) for account in accounts], accounts)
    columns = TextReporter.strip_columns(streams.stdout())
    return TextReporter(
        [summarise(account, strip_columns=columns) for account in accounts],
        [missing_ctas(launch, _requested(launch)) for launch in launches],
        accounts,
        sections,
    )


def _requested(launch: LaunchTrace) -> list[int]:
    """The CTAs that were asked for, as far as the trace says."""
    options: object = launch.provenance.get("options")
    ctas: object = cast("dict[str, object]", options).get("ctas") if isinstance(options, dict) else None
    numbers = cast("list[Any]", ctas) if isinstance(ctas, list) else []
    return sorted({number for number in numbers if type(number) is int})
