"""A launch as timelines of other tools show it: lanes of spans in nanoseconds, flows between spans, counters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tlxviz.analysis.clusters import clusters_of
from tlxviz.exports.counters import Counter, counters
from tlxviz.exports.hanging import with_waiters
from tlxviz.exports.lanes import sublanes
from tlxviz.exports.model import Cut
from tlxviz.trace.model import LaunchTrace, SiteRow, TrackKind
from tlxviz.trace.vocabulary import Work, answer_text, meaning, work_of_events

_Int32 = NDArray[np.int32]
_Int64 = NDArray[np.int64]

HUNG = "never ends"
"""The category of a wait that a launch hung in; others are the names of `Work`."""


@dataclass(frozen=True, slots=True)
class Lane:
    """A line of the timeline, on which no span overlaps another."""

    cta: int
    sm: int
    cluster: str
    """`rank 1 of cluster 0`; empty without clusters."""
    name: str
    """That of the track; the second one of a track is `TMA 2`."""


@dataclass(frozen=True, slots=True, eq=False)
class Flows:
    """From spans to spans that they let go on or gave their work."""

    source: _Int64
    """Rows of spans, by which the flows are ordered."""
    target: _Int64
    at_end: NDArray[np.bool_]
    """Whether it leads to the target's end, as of a wait that is over, and not to its begin."""


@dataclass(frozen=True, slots=True, eq=False)
class Spans:
    """Columns, one row per span: an event of the launch, or (at the end) a wait that it hung in."""

    launch: LaunchTrace
    lanes: Sequence[Lane]
    """By cluster and CTA, each as its tracks stand in the trace."""
    lane: _Int32
    begin_ns: _Int64
    """From the begin of the file, in which launches follow each other without a gap."""
    end_ns: _Int64
    names: Sequence[str]
    name: _Int32
    categories: Sequence[str]
    category: _Int32
    event: _Int64
    """Number in the whole launch; -1 for what is no event."""
    released_by: _Int64
    """Number in the whole launch, whether or not the event is here."""
    flows: Flows
    counters: Sequence[tuple[Counter, _Int64]]
    """Each with its times in ns."""
    over_ns: int
    """When the launch is over, and the next one may begin."""

    def __len__(self) -> int:
        return len(self.lane)


def cta_name(lane: Lane) -> str:
    """`CTA 1 on SM 1`; in a cluster `CTA 1 (rank 1 of cluster 0) on SM 1`."""
    cluster = f" ({lane.cluster})" if lane.cluster else ""
    return f"CTA {lane.cta}{cluster}" + (f" on SM {lane.sm}" if lane.sm >= 0 else "")


def spans(cut: Cut, at_ns: int = 0) -> Spans:
    """The spans of a launch that begins `at_ns` after the begin of the file."""
    launch, waiters = with_waiters(cut)
    events = launch.events
    per_cycle = 1e3 / launch.clock_mhz if launch.clock_mhz > 0 else 0.0
    shown = counters(cut)
    # Clocks of a measured launch may begin before it; a file's times may not.
    earliest = min(0, int(events["begin"].min(initial=0)), *(int(each.cycles[0]) for each in shown))

    def time(cycles: NDArray[Any]) -> _Int64:
        return np.rint((cycles - earliest) * per_cycle).astype(np.int64) + at_ns

    lanes, lane = _lanes(launch)
    begin, end = time(events["begin"]), time(events["end"])
    names, name = _names(launch)
    category = work_of_events(launch).astype(np.int32)
    category[len(events) - waiters :] = len(Work)
    unknown = np.full(waiters, -1, dtype=np.int64)
    last = max(launch.cycles, int(events["end"].max(initial=0)), cut.end)
    return Spans(
        launch=launch,
        lanes=lanes,
        lane=lane,
        begin_ns=begin,
        end_ns=end,
        names=names,
        name=name,
        categories=[*(each.name.lower() for each in Work), HUNG],
        category=category,
        event=np.concatenate((cut.numbers(), unknown)),
        released_by=np.concatenate((cut.released_by(), unknown)),
        flows=_flows(launch, begin, end),
        counters=[(each, time(each.cycles)) for each in shown],
        over_ns=int(time(np.array([last]))[0]),
    )


def _lanes(launch: LaunchTrace) -> tuple[list[Lane], _Int32]:
    """All lanes, and which each event stands on."""
    events, tracks, clusters = launch.events, launch.tracks, clusters_of(launch)
    sublane = sublanes(events["track"], events["begin"], events["end"])
    most = np.zeros(len(tracks), dtype=np.int64)
    beside = sublane > 0
    np.maximum.at(most, events["track"][beside], sublane[beside])
    first = np.zeros(len(tracks), dtype=np.int64)
    lanes: list[Lane] = []
    for row in sorted(range(len(tracks)), key=lambda row: clusters.order(tracks[row].cta)):
        track = tracks[row]
        first[row] = len(lanes)
        names = [track.name, *(f"{track.name} {number + 1}" for number in range(1, int(most[row]) + 1))]
        lanes += [Lane(track.cta, track.sm, clusters.where(track.cta), name) for name in names]
    return lanes, (first[events["track"]] + sublane).astype(np.int32)


def _names(launch: LaunchTrace) -> tuple[list[str], _Int32]:
    """What spans are called, as `wait full`, and which of these each is."""
    kinds = list(TrackKind)
    kind_of_track = np.array([kinds.index(track.kind) for track in launch.tracks], dtype=np.intp)
    code = launch.events["site"] * len(kinds) + kind_of_track[launch.events["track"]] + len(kinds)
    sites = [SiteRow("", -1, "", -1, "", ""), *launch.sites]
    table = np.zeros(len(sites) * len(kinds), dtype=np.int32)
    names: dict[str, int] = {}
    for each in np.flatnonzero(np.bincount(code)).tolist():
        site, kind = divmod(each, len(kinds))
        table[each] = names.setdefault(_name(sites[site], kinds[kind]), len(names))
    name = table[code]
    answers = np.array([track.kind is TrackKind.LAUNCH_CONTROL for track in launch.tracks], dtype=np.bool_)
    for row in np.flatnonzero(answers[launch.events["track"]]).tolist() if answers.any() else ():
        name[row] = names.setdefault(answer_text(int(launch.events["slot"][row])), len(names))
    return list(names), name


def _name(site: SiteRow, kind: TrackKind) -> str:
    if kind == TrackKind.RANGE and site.variable:
        return site.variable
    known = meaning(site.kind, kind)
    words = (known.label if known else site.kind or "event", site.variable)
    return " ".join(word for word in words if word)


def _flows(launch: LaunchTrace, begin: _Int64, end: _Int64) -> Flows:
    """Flows that do not lead back in time, as those of clocks that differ by some cycles would."""
    by = launch.events["released_by"]
    target = np.flatnonzero(by >= 0).astype(np.int64)
    source = by[target]
    group = np.array([track.kind == TrackKind.WARP_GROUP for track in launch.tracks], dtype=np.bool_)
    at_end = group[launch.events["track"][target]]
    leaves, arrives = begin[source], np.where(at_end, end[target], begin[target])
    # Of one time, readers take what stands first in the file for what was first.
    keep = (leaves < arrives) | ((leaves == arrives) & (source < target))
    source, target, at_end = source[keep], target[keep], at_end[keep]
    order = np.argsort(source, kind="stable")
    return Flows(source[order], target[order], at_end[order])
