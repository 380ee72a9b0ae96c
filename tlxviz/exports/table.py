"""Events as a table: columns with units in their names, and what numbers refer to spelled out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tlxviz.analysis.clusters import clusters_of
from tlxviz.exports.model import Cut
from tlxviz.exports.texts import clean
from tlxviz.trace.model import SiteRow
from tlxviz.trace.vocabulary import Work, work_of_events

_NO_SITE = SiteRow("", -1, "", -1, "", "")
_PICOSECONDS = 1e6
"""In a microsecond, and `clock_mhz` is cycles in one."""


@dataclass(frozen=True, slots=True, eq=False)
class Texts:
    """A column of texts, of which few differ."""

    values: Sequence[str]
    index: NDArray[Any]
    """Which of them, per event."""


@dataclass(frozen=True, slots=True, eq=False)
class Nanoseconds:
    """A column of times, or lengths of time, to the picosecond."""

    picoseconds: NDArray[np.int64]


Column = NDArray[Any] | Texts | Nanoseconds


def table(cut: Cut) -> dict[str, Column]:
    """Columns of a launch's events, in the order of the trace.

    Times are SM cycles (`_cycles`) and nanoseconds at the launch's clock (`_ns`). What an event does not have is -1,
    or an empty text. `event` and `released_by_event` number the events of the whole launch.
    """
    launch, events = cut.launch, cut.launch.events
    count = len(events)
    track, site = events["track"], events["site"]
    begin, end = events["begin"], events["end"]
    tracks, clusters = launch.tracks, clusters_of(launch)
    sites = [*launch.sites, _NO_SITE]  # which an event of site -1 finds

    def of_launch(text: str) -> Texts:
        return Texts([clean(text)], np.zeros(count, dtype=np.int32))

    return {
        "launch": np.full(count, cut.number, dtype=np.int32),
        "kernel": of_launch(launch.kernel),
        "event": cut.numbers(),
        "cta": _taken([each.cta for each in tracks], track),
        "sm": _taken([each.sm for each in tracks], track),
        "cluster": _taken([clusters.cluster_of(each.cta) if clusters.size > 1 else -1 for each in tracks], track),
        "rank": _taken([clusters.rank_of(each.cta) if clusters.size > 1 else -1 for each in tracks], track),
        "track": _texts([each.name for each in tracks], track),
        "track_kind": _texts([str(each.kind) for each in tracks], track),
        "kind": _texts([each.kind for each in sites], site),
        "work": Texts([each.name.lower() for each in Work], work_of_events(launch)),
        "file": _texts([each.file for each in sites], site),
        "line": _taken([each.line for each in sites], site),
        "variable": _texts([each.variable for each in sites], site),
        "begin_cycles": begin,
        "end_cycles": end,
        "duration_cycles": end - begin,
        "begin_ns": _nanoseconds(begin, launch.clock_mhz),
        "duration_ns": _nanoseconds(end - begin, launch.clock_mhz),
        "outer_iteration": events["outer"],
        "inner_iteration": events["inner"],
        "slot": events["slot"],
        "phase": events["phase"],
        "bytes": events["bytes"],
        "released_by_event": cut.released_by(),
        "peer_cta": events["peer"],
    }


def _taken(values: Sequence[int], rows: NDArray[Any]) -> NDArray[np.int32]:
    return np.array(values, dtype=np.int32)[rows]


def _texts(values: Sequence[str], rows: NDArray[Any]) -> Texts:
    """With each text once, whatever has it."""
    values = [clean(text) for text in values]
    places = {text: place for place, text in enumerate(dict.fromkeys(values))}
    return Texts(list(places), np.array([places[text] for text in values], dtype=np.int32)[rows])


def _nanoseconds(cycles: NDArray[Any], clock_mhz: float) -> Nanoseconds:
    if not clock_mhz > 0:
        return Nanoseconds(np.zeros(len(cycles), dtype=np.int64))
    return Nanoseconds(np.rint(cycles * (_PICOSECONDS / clock_mhz)).astype(np.int64))
