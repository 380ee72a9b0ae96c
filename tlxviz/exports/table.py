"""Events as a table: columns with units in their names, and what numbers refer to spelled out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tlxviz.exports.model import Cut
from tlxviz.trace.model import LaunchTrace, SiteRow

Column = NDArray[Any]

_NO_SITE = SiteRow("", -1, "", 0, "", "")


def table(cuts: Sequence[Cut]) -> dict[str, Column]:
    """Columns of all events, launch after launch, each in the order of the trace.

    Times are SM cycles (`_cycles`) and nanoseconds at the launch's clock (`_ns`). What an event does not have is -1,
    or an empty text.
    """
    parts = [_columns(each) for each in cuts]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _columns(cut: Cut) -> dict[str, Column]:
    launch, events = cut.launch, cut.launch.events
    count = len(events)
    track, site = events["track"], events["site"]
    begin, end = events["begin"], events["end"]
    ns = 1e3 / launch.clock_mhz
    tracks = launch.tracks
    sites = [*launch.sites, _NO_SITE]
    return {
        "launch": np.full(count, cut.number, dtype=np.int32),
        "kernel": np.full(count, launch.kernel),
        "cta": _taken([each.cta for each in tracks], track, np.int32),
        "sm": _taken([each.sm for each in tracks], track, np.int32),
        "track": _texts([each.name for each in tracks], track),
        "kind": _texts([each.kind for each in sites], site),
        "line": _taken([each.line for each in sites], site, np.int32),
        "variable": _texts([each.variable for each in sites], site),
        "begin_cycles": begin,
        "end_cycles": end,
        "duration_cycles": end - begin,
        "begin_ns": begin * ns,
        "duration_ns": (end - begin) * ns,
        "outer_iteration": events["outer"],
        "inner_iteration": events["inner"],
        "slot": events["slot"],
        "phase": events["phase"],
        "bytes": events["bytes"],
        "event": _numbers(launch),
        "released_by_event": events["released_by"],
    }


def _numbers(launch: LaunchTrace) -> Column:
    return np.arange(len(launch.events), dtype=np.int64)


def _taken(values: Sequence[int], rows: Column, dtype: type[np.generic]) -> Column:
    return np.array(values, dtype=dtype)[rows]


def _texts(values: Sequence[str], rows: Column) -> Column:
    return np.array(values, dtype=str)[rows]
