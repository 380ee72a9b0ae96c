"""Slack: how much later something could happen, and the run would take no longer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tlxviz.analysis.dependencies import Activity, Dependencies
from tlxviz.trace.model import LaunchTrace, TrackKind
from tlxviz.trace.vocabulary import Work

Int64 = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class BarrierSlack:
    """Of the arrivals and copies that complete phases of one barrier."""

    barrier: str
    waiter: str
    """The warp group that waits for them."""
    line: int
    """Where it does."""
    releases: int
    least: int
    """SM cycles, as all that follow."""
    median: float
    mean: float
    critical: float
    """Share of them that have none: any delay makes the run longer."""


def slacks(launch: LaunchTrace, made: Dependencies) -> Int64:
    """SM cycles by which each event could end later without making a CTA longer; never negative.

    Whatever follows an event waits for it, or has some room left: a wait that is held up by somebody else until later,
    a warp group that comes to a barrier when its phase is complete, an engine that is busy anyway. The slack of an
    event is the least room on any way from it to the end of its CTA.
    """
    size = len(made.begin)
    if not size:
        return np.empty(0, np.int64)
    first, first_room, second, second_room = _predecessors(launch, made)
    room = _to_the_end(launch, made)
    last = made.on_group.copy()
    last[first[made.on_group & (first >= 0)]] = False
    room[made.on_group & ~last] = np.iinfo(np.int64).max // 2
    slack: list[int] = room.tolist()
    firsts: list[int] = first.tolist()
    rooms: list[int] = first_room.tolist()
    seconds: list[int] = second.tolist()
    others: list[int] = second_room.tolist()
    # rows stand by end, so that whatever an event lets go on comes behind it
    for row in range(size - 1, -1, -1):
        own, one, other = slack[row], firsts[row], seconds[row]
        if one >= 0 and own + rooms[row] < slack[one]:
            slack[one] = own + rooms[row]
        if other >= 0 and own + others[row] < slack[other]:
            slack[other] = own + others[row]
    return np.array(slack, np.int64)


def _to_the_end(launch: LaunchTrace, made: Dependencies) -> Int64:
    """The room that each event has up to the end of its CTA, if nothing follows it on its track."""
    ends: dict[int, int] = {}
    upper: list[int] = made.upper.tolist()
    for track, end in zip(launch.tracks, upper, strict=True):
        if track.kind == TrackKind.WARP_GROUP:
            ends[track.cta] = max(ends.get(track.cta, end), end)
    cta_end = np.array([ends.get(track.cta, end) for track, end in zip(launch.tracks, upper, strict=True)], np.int64)
    # what a warp group does behind its last event takes its time all the same
    followed = np.where(made.on_group, made.upper[made.track], made.end)
    return np.maximum(0, cta_end[made.track] - followed)


def _predecessors(launch: LaunchTrace, made: Dependencies) -> tuple[Int64, Int64, Int64, Int64]:
    """Two events that each depends on, -1 for none, and the room that each has: cycles until it matters."""
    by = launch.events["released_by"].astype(np.int64)
    waits = made.on_group & (made.work == Work.WAIT)
    held = made.cause >= 0
    room = np.where(made.on_group & held, made.since - made.begin, 0)
    other = np.where(waits, by, made.cause)
    behind = np.where(other >= 0, made.end[other], 0)
    more = np.where(waits & ~held & (other >= 0), np.maximum(0, made.begin - behind), 0)
    engine = ~made.on_group
    issued = np.where(made.before >= 0, made.end[made.before], made.begin)
    queued = engine & held
    room = np.where(queued, np.maximum(0, made.begin - issued), room)
    copies = engine & ~held & (made.activity != Activity.PRODUCT)
    other = np.where(copies, -1, other)
    return made.before, np.maximum(0, room), other, more


def barrier_slacks(launch: LaunchTrace, made: Dependencies, slack: Int64) -> tuple[BarrierSlack, ...]:
    """The slack of what completes phases, by barrier and who waits for it; the tightest first.

    Args:
        slack: What `slacks` gives.
    """
    by = launch.events["released_by"].astype(np.int64)
    site = launch.events["site"].astype(np.int64)
    mbarrier = np.array([*(each.kind == "wait" and bool(each.variable) for each in launch.sites), False])
    waits = np.flatnonzero(made.on_group & (by >= 0) & mbarrier[site])
    keys: dict[tuple[str, str, int], int] = {}
    numbers = np.full(len(launch.sites) + 1, -1, np.int64)
    for number, each in enumerate(launch.sites):
        if mbarrier[number]:
            name = launch.agents[each.agent].name if 0 <= each.agent < len(launch.agents) else ""
            numbers[number] = keys.setdefault((each.variable, name, each.line), len(keys))
    of = numbers[site[waits]]
    found: list[BarrierSlack] = []
    for (barrier, waiter, line), number in keys.items():
        releases = np.unique(by[waits[of == number]])
        if not len(releases):
            continue
        values = slack[releases]
        found.append(
            BarrierSlack(
                barrier,
                waiter,
                line,
                len(releases),
                int(values.min()),
                float(np.median(values)),
                float(values.mean()),
                float((values == 0).mean()),
            )
        )
    return tuple(sorted(found, key=lambda each: (each.median, -each.critical)))
