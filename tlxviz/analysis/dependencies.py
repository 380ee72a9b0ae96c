"""What each event waited for: the chain that leads from it back to the start of its CTA.

A chain is a row of stretches without gaps. It goes backwards from the end of an event: through what the event itself
did, and from there to the event that let it begin or go on. That is

- of a wait that was held up, the event that released it (`released_by`);
- of a copy or an MMA, the event before it on the engine if that held it up, else the operation that issued it;
- of an MMA's issue that was held up because the tensor core's queue was full, the MMA whose end made room;
- of everything else on a warp group's track, the event before it, with the arithmetic between the two.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from tlxviz.analysis.occupation import Occupation
from tlxviz.trace.model import LaunchTrace, TrackKind
from tlxviz.trace.vocabulary import Work, work_of_events

Int64 = NDArray[np.int64]

_LATE_CYCLES = 8
"""A copy or MMA that begins so much later than it was issued was held up by the one before it."""
_LONGER = 1.1
"""A copy that takes so much longer than the shortest of its site was held up as well."""
_QUEUE_CYCLES = 32
"""The issue of an MMA that takes so much longer than the shortest of its site was held up."""


class Activity(IntEnum):
    """What a stretch of a chain is."""

    ARITHMETIC = 0
    """A warp group between its events: arithmetic, loads without TMA, control flow."""
    ISSUE = 1
    """A warp group hands work to others: arrivals, expects, copies, MMAs, fences."""
    HAND_OFF = 2
    """From the release of a wait until the warp group goes on; a wait that found its phase complete."""
    COPY_LATENCY = 3
    """A copy that nothing held up."""
    COPY_BANDWIDTH = 4
    """A copy behind others that the engine or memory was busy with."""
    PRODUCT = 5
    """The tensor core computes."""
    UNKNOWN = 6
    """A wait of which nobody recorded what ended it."""


@dataclass(frozen=True, slots=True)
class Dependencies:
    """One entry per event of the launch; rows are those of the event table, -1 for none."""

    begin: Int64
    end: Int64
    track: Int64
    on_group: NDArray[np.bool_]
    """Whether it is on a warp group's track."""
    work: NDArray[np.int8]
    """A `Work` value; BUSY for engines."""
    activity: NDArray[np.int8]
    """An `Activity`: what the event itself did, from `since` to its end."""
    since: Int64
    """SM cycle at which that began: the release of a wait that was held up, the end of the copy before it."""
    cause: Int64
    """The event that it went on from at `since`, on another track or engine; -1 if it goes on from `before`."""
    before: Int64
    """The event before it on the warp group's track; of a copy or MMA, the operation that issued it."""
    lower: Int64
    """First cycle of each track."""
    upper: Int64
    """Cycle at which each track ends."""


def dependencies(launch: LaunchTrace, occupied: Occupation) -> Dependencies:
    """What each event of a launch waited for."""
    events = launch.events
    begin, end = events["begin"].astype(np.int64), events["end"].astype(np.int64)
    track, by = events["track"].astype(np.int64), events["released_by"].astype(np.int64)
    kinds = np.array([list(TrackKind).index(each.kind) for each in launch.tracks] or [0], np.int64)[track]
    on_group = kinds == list(TrackKind).index(TrackKind.WARP_GROUP)
    work = work_of_events(launch)
    made = Dependencies(
        begin,
        end,
        track,
        on_group,
        work,
        np.full(len(begin), Activity.ISSUE, np.int8),
        begin.copy(),
        np.full(len(begin), -1, np.int64),
        np.full(len(begin), -1, np.int64),
        occupied.lower,
        occupied.upper,
    )
    _along_tracks(made, occupied)
    _waits(made, by)
    sms = np.array([each.sm for each in launch.tracks] or [0], np.int64)[track]
    for kind, join in ((TrackKind.TMA, _copies), (TrackKind.TENSOR_CORE, _products)):
        rows = np.flatnonzero(kinds == list(TrackKind).index(kind))
        if len(rows):
            # by SM and begin; rows of a trace stand by end, and so do equals
            rows = rows[np.lexsort((begin[rows], sms[rows]))]
            join(made, rows, sms[rows], by, launch)
    return made


def _along_tracks(made: Dependencies, occupied: Occupation) -> None:
    rows = occupied.row
    same = (np.diff(occupied.track) == 0) & made.on_group[rows[1:]]
    made.before[rows[1:][same]] = rows[:-1][same]


def _waits(made: Dependencies, by: Int64) -> None:
    waits = (made.work == Work.WAIT) & made.on_group
    made.activity[waits] = Activity.HAND_OFF
    held = np.flatnonzero(waits & (by >= 0))
    released = made.end[by[held]]
    late = (released > made.begin[held]) & (released <= made.end[held])
    held, released = held[late], released[late]
    made.since[held], made.cause[held] = released, by[held]


def _behind(rows: Int64, sms: Int64) -> tuple[Int64, NDArray[np.bool_]]:
    """The event before each on its engine, and whether there is one."""
    previous = np.concatenate(([-1], rows[:-1]))
    return previous, np.concatenate(([False], np.diff(sms) == 0))


def _copies(made: Dependencies, rows: Int64, sms: Int64, by: Int64, launch: LaunchTrace) -> None:
    begin, end, issuer = made.begin[rows], made.end[rows], by[rows]
    made.activity[rows] = Activity.COPY_LATENCY
    made.before[rows] = issuer
    site = launch.events["site"][rows].astype(np.int64)
    shortest = np.full(len(launch.sites) + 1, np.iinfo(np.int64).max)
    np.minimum.at(shortest, site, end - begin)
    issued = np.where(issuer >= 0, made.end[issuer], begin)
    late = (begin - issued > _LATE_CYCLES) | (end - begin > _LONGER * shortest[site])
    previous, there = _behind(rows, sms)
    ended = made.end[previous]
    queued = late & there & (ended < end) & (ended > issued)
    made.activity[rows[queued]] = Activity.COPY_BANDWIDTH
    made.since[rows[queued]] = ended[queued]
    made.cause[rows[queued]] = previous[queued]


def _products(made: Dependencies, rows: Int64, sms: Int64, by: Int64, launch: LaunchTrace) -> None:
    begin, end = made.begin[rows], made.end[rows]
    made.activity[rows] = Activity.PRODUCT
    made.before[rows] = by[rows]
    previous, there = _behind(rows, sms)
    ended = made.end[previous]
    queued = there & (ended >= begin - _LATE_CYCLES) & (ended < end)
    made.since[rows[queued]] = np.maximum(begin[queued], ended[queued])
    made.cause[rows[queued]] = previous[queued]
    _full_queue(made, rows, sms, launch)


def _full_queue(made: Dependencies, rows: Int64, sms: Int64, launch: LaunchTrace) -> None:
    """Issues of MMAs that waited for room: the last MMA that ended on the SM by then made it."""
    is_product = np.array([*(each.kind == "mma" for each in launch.sites), False])
    site = launch.events["site"]
    issues = np.flatnonzero(made.on_group & is_product[site])
    if not len(issues):
        return
    took = made.end[issues] - made.begin[issues]
    shortest = np.full(len(launch.sites) + 1, np.iinfo(np.int64).max)
    np.minimum.at(shortest, site[issues].astype(np.int64), took)
    issues = issues[took > shortest[site[issues]] + _QUEUE_CYCLES]
    if not len(issues):
        return
    sm_of_track = np.array([each.sm for each in launch.tracks], np.int64)
    # one ascending sequence for all SMs, in which the last end before each issue's is searched
    span = int(made.end.max()) + 1
    order = np.argsort(sms * span + made.end[rows], kind="stable")
    ends = (sms * span + made.end[rows])[order]
    sm = sm_of_track[made.track[issues]]
    place = np.searchsorted(ends, sm * span + made.end[issues], side="right") - 1
    found = rows[order[np.maximum(place, 0)]]
    room = made.end[found]
    held = (place >= 0) & (ends[place] // span == sm) & (room > made.begin[issues]) & (made.begin[found] < room)
    made.since[issues[held]] = room[held]
    made.cause[issues[held]] = found[held]
