"""Slack: how much later something could happen, and the run would take no longer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tlxviz.analysis.contributions import phase_of_events
from tlxviz.analysis.engines import in_line, shortest_of_line
from tlxviz.analysis.links import Activity, Dependencies
from tlxviz.trace.model import LaunchTrace, TrackKind
from tlxviz.trace.vocabulary import Work

Int64 = NDArray[np.int64]

_MOST_PASSES = 8


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
    event is the least room on any way from it to the end of its CTA. It holds for one event at a time. An engine's may
    end later without occupying the engine for longer; the issue of an MMA may begin later by as much.

    Not known, and so no bound: copies that a delayed one would only then hold up, and MMAs that would only then find no
    room to be issued; arrivals at the barrier of a cluster,
    or from another CTA, that were not the last of their phase.
    """
    size = len(made.begin)
    if not size:
        return np.empty(0, np.int64)
    source, target, room = _edges(launch, made)
    slack = _to_the_end(launch, made)
    followed = np.zeros(size, bool)
    followed[made.before[made.on_group & (made.before >= 0)]] = True
    slack[made.on_group & followed] = np.iinfo(np.int64).max // 2
    order = np.argsort(-target, kind="stable")
    source, target, room = source[order], target[order], room[order]
    sources: list[int] = source.tolist()
    targets: list[int] = target.tolist()
    rooms: list[int] = room.tolist()
    for _ in range(_MOST_PASSES):
        # rows stand by end, so that whatever an event lets go on comes behind it, but for clocks that differ
        found: list[int] = slack.tolist()
        for one, other, free in zip(sources, targets, rooms, strict=True):
            most = found[other] + free
            if most < found[one]:
                found[one] = most
        slack = np.array(found, np.int64)
        if bool((slack[source] <= slack[target] + room).all()):
            break
    return slack


def _edges(launch: LaunchTrace, made: Dependencies) -> tuple[Int64, Int64, Int64]:
    """Events, others that depend on them, and by how much the former could end later before the latter do."""
    by = launch.events["released_by"].astype(np.int64)
    parts = [
        _on_tracks(launch, made),
        _releases(made, by),
        _engines(made),
        _tensor_cores(launch, made),
        _phase_mates(launch, made, by),
    ]
    source, target, room = (np.concatenate(column) for column in zip(*parts, strict=True))
    return source, target, np.maximum(0, room)


def _on_tracks(launch: LaunchTrace, made: Dependencies) -> tuple[Int64, Int64, Int64]:
    """From each event of a warp group to the next: what it could be late at a wait that somebody else holds up."""
    rows = np.flatnonzero(made.on_group & (made.before >= 0))
    room = np.where(made.cause[rows] >= 0, made.since[rows] - made.begin[rows], 0)
    # issuing takes its time also where there is room
    issue = (made.cause[rows] >= 0) & (made.work[rows] != Work.WAIT)
    if issue.any():
        issues = np.flatnonzero(made.on_group & (made.work != Work.WAIT))
        least = np.zeros(len(made.begin), np.int64)
        least[issues] = shortest_of_line(launch, made, issues)
        room[issue] -= least[rows[issue]]
    return made.before[rows], rows, room


def _releases(made: Dependencies, by: Int64) -> tuple[Int64, Int64, Int64]:
    """To each wait from what ended it, and to the issue of an MMA from the one that made room."""
    held = np.flatnonzero(made.on_group & (made.cause >= 0))
    cause = made.cause[held]
    # a wait that completes a named barrier does so as it begins, which is when the event before it has let it
    meets = made.on_group[cause] & (made.work[cause] == Work.WAIT)
    source = np.where(meets, made.before[cause], cause)
    there = source >= 0
    early = np.flatnonzero(made.on_group & (made.work == Work.WAIT) & (made.cause < 0) & (by >= 0))
    return (
        np.concatenate((source[there], by[early])),
        np.concatenate((held[there], early)),
        np.concatenate((np.zeros(int(there.sum()), np.int64), made.begin[early] - made.end[by[early]])),
    )


def _engines(made: Dependencies) -> tuple[Int64, Int64, Int64]:
    """To each copy and MMA from what issued it, and from the one before it if that held it up."""
    rows = np.flatnonzero(~made.on_group & (made.before >= 0))
    issuer = made.before[rows]
    product = made.activity[rows] == Activity.PRODUCT
    queued = made.cause[rows] >= 0
    # an MMA can start as soon as its issue begins, which may then wait for room in the queue
    asked = np.where(product, made.begin[issuer], made.end[issuer])
    start = np.where(product, np.maximum(made.begin[rows], made.since[rows]), made.begin[rows])
    room = np.where(queued, start - asked, 0)
    late = np.flatnonzero(product & (made.cause[issuer] >= 0) & (made.before[issuer] >= 0))
    behind = np.flatnonzero(~made.on_group & (made.cause >= 0))
    return (
        np.concatenate((issuer, made.before[issuer[late]], made.cause[behind])),
        np.concatenate((rows, rows[late], behind)),
        np.concatenate((room, room[late], np.zeros(len(behind), np.int64))),
    )


def _tensor_cores(launch: LaunchTrace, made: Dependencies) -> tuple[Int64, Int64, Int64]:
    """To each MMA from the one before it on the SM, if that did not hold it up."""
    rows = np.flatnonzero(~made.on_group & (made.activity == Activity.PRODUCT))
    sm = np.array([each.sm for each in launch.tracks] or [0], np.int64)[made.track[rows]]
    rows, previous, there = in_line(made, rows, sm, rows)
    room = made.begin[rows] - made.end[previous]
    free = there & (made.cause[rows] < 0) & (room >= 0)
    return previous[free], rows[free], room[free]


def _phase_mates(launch: LaunchTrace, made: Dependencies, by: Int64) -> tuple[Int64, Int64, Int64]:
    """To each wait from those that contributed to its phase, but not as the last: until that one came."""
    key = phase_of_events(launch)
    waits = np.flatnonzero(made.on_group & (made.work == Work.WAIT))
    # a wait at a named barrier is of its own phase
    wanted = np.where((key[waits] < 0) & (by[waits] >= 0), key[by[waits]], key[waits])
    waits, wanted = waits[wanted >= 0], wanted[wanted >= 0]
    until = np.where(made.cause[waits] >= 0, made.since[waits], made.begin[waits])
    rows = np.flatnonzero(key >= 0)
    rows = rows[np.argsort(key[rows], kind="stable")]
    first, last = (np.searchsorted(key[rows], wanted, side=side) for side in ("left", "right"))
    counts = last - first
    place = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    mates = rows[np.repeat(first, counts) + place]
    target, until = np.repeat(waits, counts), np.repeat(until, counts)
    # named barriers: a wait contributes as it begins, once the event before it is over
    waiting = made.on_group[mates] & (made.work[mates] == Work.WAIT)
    source = np.where(waiting, made.before[mates], mates)
    room = until - np.where(waiting, made.begin[mates], made.end[mates])
    use = (source >= 0) & (mates != target) & (mates != made.cause[target]) & (room >= 0)
    return source[use], target[use], room[use]


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
