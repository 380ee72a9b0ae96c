"""What each event waited for: the chain that leads from it back to the start of its CTA.

A chain is a row of stretches without gaps. It goes backwards from the end of an event: through what the event itself
did, and from there to the event that let it begin or go on. That is

- of a wait that was held up, the event that released it (`released_by`); of one at a named barrier that another wait
  there completed, the latter's begin;
- of a copy or an MMA, the event before it on the engine if that held it up, else the operation that issued it;
- of an MMA's issue that was held up because the tensor core's queue was full, the MMA whose end made room; of one that
  is not asynchronous, the MMA itself;
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
"""The issue of an MMA that takes so much longer than the shortest of its line was held up."""
_ROOM_CYCLES = 16
"""By so much the MMA that made room may seem to end after the issue that waited for it."""
_CLOCK_CYCLES = 64
"""By so much a measured release may seem to come after the wait that it ended."""
_UNKNOWN_CYCLES = 256
"""A wait that took longer, and that no event released, is not explained."""
_SYNCHRONOUS = "tt.dot"
"""The operation whose issue goes on once the product is there."""
_STORES = frozenset({"tma_store", "tma_reduce"})


class Activity(IntEnum):
    """What a stretch of a chain is."""

    ARITHMETIC = 0
    """A warp group between its events: arithmetic, loads without TMA, control flow."""
    ISSUE = 1
    """A warp group hands work to others: arrivals, expects, copies, MMAs, fences."""
    HAND_OFF = 2
    """From the release of a wait until the warp group goes on; a wait that found its phase complete."""
    COPY_LATENCY = 3
    """A copy that nothing held up; a wait for copies without TMA, which no event ends."""
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
    """SM cycle at which that began: the release of a wait that was held up, the end of the copy before it. Never
    after its own end, nor after that of its cause."""
    cause: Int64
    """The event that it went on from at `since`, on another track or engine; -1 if it goes on from `before`."""
    before: Int64
    """The event before it on the warp group's track; of a copy or MMA, the operation that issued it."""
    lower: Int64
    """First cycle of each track."""
    upper: Int64
    """Cycle at which each track ends."""


def dependencies(launch: LaunchTrace, occupied: Occupation) -> Dependencies:
    """What each event of a launch waited for.

    Times of warp groups' events are those of `occupied`, within their tracks.
    """
    events = launch.events
    begin, end = events["begin"].astype(np.int64), events["end"].astype(np.int64)
    track, by = events["track"].astype(np.int64), events["released_by"].astype(np.int64)
    kinds = np.array([list(TrackKind).index(each.kind) for each in launch.tracks] or [0], np.int64)[track]
    on_group = kinds == list(TrackKind).index(TrackKind.WARP_GROUP)
    work = work_of_events(launch)
    within = on_group[occupied.row]
    rows = occupied.row[within]
    begin[rows] = occupied.begin[within]
    end[rows] = begin[rows] + occupied.cycles[within]
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
    _waits(made, by, launch)
    _meetings(made, launch)
    sms = np.array([each.sm for each in launch.tracks] or [0], np.int64)[track]
    for kind, join in ((TrackKind.TMA, _copies), (TrackKind.TENSOR_CORE, _products)):
        rows = np.flatnonzero(kinds == list(TrackKind).index(kind))
        if len(rows):
            join(made, rows, sms, by, launch)
    return made


def _along_tracks(made: Dependencies, occupied: Occupation) -> None:
    rows = occupied.row
    same = (np.diff(occupied.track) == 0) & made.on_group[rows[1:]]
    made.before[rows[1:][same]] = rows[:-1][same]


def _waits(made: Dependencies, by: Int64, launch: LaunchTrace) -> None:
    waits = (made.work == Work.WAIT) & made.on_group
    made.activity[waits] = Activity.HAND_OFF
    site = launch.events["site"]
    made.activity[waits & _of_kind(launch, "async_copy_wait")[site]] = Activity.COPY_LATENCY
    released = np.where(by >= 0, made.end[by], -1)
    credible = (by >= 0) & ((released <= made.end + _CLOCK_CYCLES) | (made.begin[by] <= made.end))
    held = np.flatnonzero(waits & credible & (released > made.begin))
    made.since[held], made.cause[held] = np.minimum(released[held], made.end[held]), by[held]
    unknown = waits & ~credible & (made.activity == Activity.HAND_OFF)
    made.activity[unknown & (made.end - made.begin > _UNKNOWN_CYCLES)] = Activity.UNKNOWN


def _meetings(made: Dependencies, launch: LaunchTrace) -> None:
    """Named barriers that the last wait completes, which no arrival does: the others wait for it to begin."""
    rows = np.flatnonzero(made.on_group & _of_kind(launch, "named_wait")[launch.events["site"]])
    if not len(rows):
        return
    cta = np.array([each.cta for each in launch.tracks], np.int64)[made.track[rows]]
    slot, phase = (launch.events[name][rows].astype(np.int64) for name in ("slot", "phase"))
    order = np.lexsort((made.begin[rows], phase, slot, cta))
    rows, key = rows[order], np.stack((cta, slot, phase))[:, order]
    last = np.flatnonzero(np.concatenate(((np.diff(key) != 0).any(axis=0), [True])))
    latest = rows[last[np.searchsorted(last, np.arange(len(rows)))]]
    came = made.begin[latest]
    # an arrival that came later still is a cause already
    others = (rows != latest) & (came > made.since[rows]) & (came <= made.end[rows]) & (phase[order] >= 0)
    mine, came, latest = rows[others], came[others], latest[others]
    made.since[mine], made.cause[mine], made.activity[mine] = came, latest, Activity.HAND_OFF


def _of_kind(launch: LaunchTrace, *kinds: str) -> NDArray[np.bool_]:
    """Whether each site is of these kinds; one entry more, false, for site -1."""
    return np.array([*(each.kind in kinds for each in launch.sites), False])


def shortest_of_line(launch: LaunchTrace, made: Dependencies, rows: Int64) -> Int64:
    """SM cycles of the shortest of the events `rows` at each one's line of the source, whichever warp group runs it."""
    lines: dict[tuple[str, int], int] = {}
    line = np.array([*(lines.setdefault((each.file, each.line), len(lines)) for each in launch.sites), -1], np.int64)
    line = line[launch.events["site"][rows]]
    shortest = np.full(len(lines) + 1, np.iinfo(np.int64).max)
    np.minimum.at(shortest, line, made.end[rows] - made.begin[rows])
    return shortest[line]


def in_line(made: Dependencies, rows: Int64, line: Int64) -> tuple[Int64, Int64, NDArray[np.bool_]]:
    """Events of engines by line and begin, the event before each in its line, and whether there is one.

    Rows of a trace stand by end, and so do equals here.
    """
    order = np.lexsort((made.begin[rows], line))
    rows = rows[order]
    previous = np.concatenate(([-1], rows[:-1]))
    return rows, previous, np.concatenate(([False], np.diff(line[order]) == 0))


def _copies(made: Dependencies, rows: Int64, sms: Int64, by: Int64, launch: LaunchTrace) -> None:
    # loads and stores have ways of their own
    stores = _of_kind(launch, *_STORES)[launch.events["site"][rows]]
    rows, previous, there = in_line(made, rows, sms[rows] * 2 + stores)
    begin, end, issuer = made.begin[rows], made.end[rows], by[rows]
    made.activity[rows] = Activity.COPY_LATENCY
    made.before[rows] = issuer
    site = launch.events["site"][rows].astype(np.int64)
    shortest = np.full(len(launch.sites) + 1, np.iinfo(np.int64).max)
    np.minimum.at(shortest, site, end - begin)
    issued = np.where(issuer >= 0, made.end[issuer], begin)
    late = (begin - issued > _LATE_CYCLES) | (end - begin > _LONGER * shortest[site])
    ended = made.end[previous]
    queued = late & there & (ended < end) & (ended > issued)
    made.activity[rows[queued]] = Activity.COPY_BANDWIDTH
    made.since[rows[queued]] = ended[queued]
    made.cause[rows[queued]] = previous[queued]


def _products(made: Dependencies, rows: Int64, sms: Int64, by: Int64, launch: LaunchTrace) -> None:
    rows, previous, there = in_line(made, rows, sms[rows])
    begin, end, issuer = made.begin[rows], made.end[rows], by[rows]
    made.activity[rows] = Activity.PRODUCT
    made.before[rows] = issuer
    # the tensor core was still busy when the product was handed to it; where it began is no sign of it: measured ones
    # begin when they have been issued, and arithmetic of other warps delays simulated ones
    asked = np.where(issuer >= 0, made.begin[issuer], begin)
    ended = made.end[previous]
    queued = there & (ended > asked) & (ended < end)
    made.since[rows[queued]] = ended[queued]
    made.cause[rows[queued]] = previous[queued]
    _full_queue(made, rows, sms[rows], launch)
    at_once = np.array([*(each.text == _SYNCHRONOUS for each in launch.sites), False])[launch.events["site"][rows]]
    waited_for = at_once & (issuer >= 0) & (end > begin) & (end <= made.end[issuer]) & (begin >= made.begin[issuer])
    made.since[issuer[waited_for]] = end[waited_for]
    made.cause[issuer[waited_for]] = rows[waited_for]


def _full_queue(made: Dependencies, rows: Int64, sms: Int64, launch: LaunchTrace) -> None:
    """Issues of MMAs that waited for room: the last MMA that ended on the SM by then made it."""
    site = launch.events["site"]
    issues = np.flatnonzero(made.on_group & _of_kind(launch, "mma")[site])
    if not len(issues):
        return
    issues = issues[made.end[issues] - made.begin[issues] > shortest_of_line(launch, made, issues) + _QUEUE_CYCLES]
    if not len(issues):
        return
    sm_of_track = np.array([each.sm for each in launch.tracks], np.int64)
    # one ascending sequence for all SMs, in which the last end before each issue's is searched
    span = int(made.end.max()) + _ROOM_CYCLES + 1
    order = np.argsort(sms * span + made.end[rows], kind="stable")
    ends = (sms * span + made.end[rows])[order]
    sm = sm_of_track[made.track[issues]]
    # how long a measured product ran is the model's word
    place = np.searchsorted(ends, sm * span + made.end[issues] + _ROOM_CYCLES, side="right") - 1
    found = rows[order[np.maximum(place, 0)]]
    room = made.end[found]
    held = (place >= 0) & (ends[place] // span == sm) & (room > made.begin[issues]) & (made.begin[found] < room)
    made.since[issues[held]] = np.minimum(room, made.end[issues])[held]
    made.cause[issues[held]] = found[held]
