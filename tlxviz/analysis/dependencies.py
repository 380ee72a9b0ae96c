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
from tlxviz.analysis.parts import Part, Parts
from tlxviz.trace.model import LaunchTrace, TrackKind
from tlxviz.trace.vocabulary import Work, meaning

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


_ENGINES = {TrackKind.TMA: Activity.COPY_LATENCY, TrackKind.TENSOR_CORE: Activity.PRODUCT}


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

    def renumbered(self, places: Int64, numbers: Int64, track_numbers: Int64, occupied: Occupation) -> Dependencies:
        """The same by other rows and tracks.

        Args:
            places: Of each new row, where the event stood.
            numbers: Of each row so far, the new one.
            track_numbers: Of each track so far, the new number.
            occupied: The life of the tracks, by their new numbers.
        """
        number = np.append(numbers, -1)
        return Dependencies(
            self.begin[places],
            self.end[places],
            track_numbers[self.track[places]],
            self.on_group[places],
            self.work[places],
            self.activity[places],
            self.since[places],
            number[self.cause[places]],
            number[self.before[places]],
            occupied.lower,
            occupied.upper,
        )


def dependencies(launch: LaunchTrace, occupied: Occupation) -> Dependencies:
    """What each event of a launch waited for, by rows of its table.

    Times of warp groups' events are those of `occupied`, within their tracks.
    """
    part = Parts(launch, one=True)[0]
    made = linked(part)
    return made.renumbered(np.argsort(part.rows), part.rows, part.tracks, occupied)


def linked(part: Part) -> Dependencies:
    """What each event of a part waited for, by its place in the part."""
    launch, occupied, groups = part.launch, part.occupied, part.on[TrackKind.WARP_GROUP]
    events, size = launch.events, len(occupied.row)
    begin, end = events["begin"], events["end"]
    # slices of copies
    begin[groups] = occupied.begin[groups]
    end[groups] = begin[groups] + occupied.cycles[groups]
    on_group = np.zeros(size, bool)
    on_group[groups] = True
    before = np.full(size, -1, np.int64)
    before[groups] = np.arange(-1, groups.stop - 1)
    before[part.heads[part.heads < groups.stop]] = -1
    site = events["site"]
    kind = _KindsOfEvents(launch)
    at = kind.of(occupied.track, site)
    made = Dependencies(
        begin,
        end,
        occupied.track,
        on_group,
        kind.work[at],
        kind.activity[at],
        begin.copy(),
        np.full(size, -1, np.int64),
        before,
        occupied.lower,
        occupied.upper,
    )
    by = events["released_by"]
    _waits(made, np.flatnonzero(made.work[groups] == Work.WAIT), by)
    _meetings(made, part, site)
    sms = np.array([each.sm for each in launch.tracks] or [0], np.int64)
    for track_kind, join in ((TrackKind.TMA, _copies), (TrackKind.TENSOR_CORE, _products)):
        there = part.on[track_kind]
        if there.stop > there.start:
            join(made, part, there, sms, by, site)
    return made


class _KindsOfEvents:
    """What is known of an event by its track and site: tables with an entry for each combination."""

    def __init__(self, launch: LaunchTrace) -> None:
        kinds = [*(each.kind for each in launch.sites), ""]
        self._columns = len(kinds)
        works = {
            (kind, track): known.work if (known := meaning(kind, track)) is not None else Work.BUSY
            for kind in set(kinds)
            for track in TrackKind
        }
        rows = {track: np.array([works[kind, track] for kind in kinds], np.int8) for track in TrackKind}
        copied = np.array([kind == "async_copy_wait" for kind in kinds])
        activities = {track: np.full(len(kinds), _ENGINES.get(track, Activity.ISSUE), np.int8) for track in rows}
        waits = rows[TrackKind.WARP_GROUP] == Work.WAIT
        activities[TrackKind.WARP_GROUP][waits] = np.where(copied, Activity.COPY_LATENCY, Activity.HAND_OFF)[waits]
        self.work = self._table(launch, rows)
        self.activity = self._table(launch, activities)

    def _table(self, launch: LaunchTrace, rows: dict[TrackKind, NDArray[np.int8]]) -> NDArray[np.int8]:
        # the first column is that of site -1
        rolled = {track: np.roll(row, 1) for track, row in rows.items()}
        return np.concatenate([rolled[each.kind] for each in launch.tracks] or [np.zeros(0, np.int8)])

    def of(self, track: Int64, site: Int64) -> Int64:
        """Where each event is found in the tables."""
        found = track * self._columns
        found += site
        found += 1
        return found


def _waits(made: Dependencies, rows: Int64, released_by: Int64) -> None:
    begin, end, by = made.begin[rows], made.end[rows], released_by[rows]
    released = np.where(by >= 0, made.end[by], -1)
    credible = (by >= 0) & ((released <= end + _CLOCK_CYCLES) | (made.begin[by] <= end))
    held = np.flatnonzero(credible & (released > begin))
    made.since[rows[held]] = np.minimum(released, end)[held]
    made.cause[rows[held]] = by[held]
    unknown = rows[np.flatnonzero(~credible & (end - begin > _UNKNOWN_CYCLES))]
    made.activity[unknown[made.activity[unknown] == Activity.HAND_OFF]] = Activity.UNKNOWN


def _meetings(made: Dependencies, part: Part, site: Int64) -> None:
    """Named barriers that the last wait completes, which no arrival does: the others wait for it to begin."""
    launch = part.launch
    if not any(each.kind == "named_wait" for each in launch.sites):
        return
    rows = np.flatnonzero(_of_kind(launch, "named_wait")[site[part.on[TrackKind.WARP_GROUP]]])
    if not len(rows):
        return
    cta = np.array([each.cta for each in launch.tracks], np.int64)[made.track[rows]]
    slot, phase = (launch.events[name][rows].astype(np.int64) for name in ("slot", "phase"))
    # rows of a trace stand by end, and so do equals here
    order = np.lexsort((part.rows[rows], made.begin[rows], phase, slot, cta))
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


def in_line(made: Dependencies, rows: Int64, line: Int64, rank: Int64) -> tuple[Int64, Int64, NDArray[np.bool_]]:
    """Events of engines by line and begin, the event before each in its line, and whether there is one.

    Args:
        rank: What decides among events that begin together: rows of a trace, which stand by end.
    """
    order = np.lexsort((rank, made.begin[rows], line))
    rows = rows[order]
    previous = np.concatenate(([-1], rows[:-1]))
    return rows, previous, np.concatenate(([False], np.diff(line[order]) == 0))


def _copies(made: Dependencies, part: Part, there: slice, sms: Int64, by: Int64, site: Int64) -> None:
    # loads and stores have ways of their own
    line = sms[made.track[there]] * 2 + _of_kind(part.launch, *_STORES)[site[there]]
    rows, previous, known = in_line(made, np.arange(there.start, there.stop), line, part.rows[there])
    begin, end, issuer = made.begin[rows], made.end[rows], by[rows]
    made.before[rows] = issuer
    issued = np.where(issuer >= 0, made.end[issuer], begin)
    late = (begin - issued > _LATE_CYCLES) | (end - begin > _LONGER * part.shortest.copy[site[rows]])
    ended = made.end[previous]
    queued = late & known & (ended < end) & (ended > issued)
    behind = rows[queued]
    made.activity[behind], made.since[behind] = Activity.COPY_BANDWIDTH, ended[queued]
    made.cause[behind] = previous[queued]


def _products(made: Dependencies, part: Part, there: slice, sms: Int64, by: Int64, site: Int64) -> None:
    line = sms[made.track[there]]
    rows, previous, known = in_line(made, np.arange(there.start, there.stop), line, part.rows[there])
    begin, end, issuer = made.begin[rows], made.end[rows], by[rows]
    made.before[rows] = issuer
    # the tensor core was still busy when the product was handed to it; where it began is no sign of it: measured ones
    # begin when they have been issued, and arithmetic of other warps delays simulated ones
    asked = np.where(issuer >= 0, made.begin[issuer], begin)
    ended = made.end[previous]
    queued = known & (ended > asked) & (ended < end)
    made.since[rows[queued]] = ended[queued]
    made.cause[rows[queued]] = previous[queued]
    _full_queue(made, part, rows, sms, site)
    at_once = np.array([*(each.text == _SYNCHRONOUS for each in part.launch.sites), False])
    if at_once.any():
        waited_for = at_once[site[rows]] & (issuer >= 0) & (end > begin)
        waited_for &= (end <= made.end[issuer]) & (begin >= made.begin[issuer])
        made.since[issuer[waited_for]] = end[waited_for]
        made.cause[issuer[waited_for]] = rows[waited_for]


def _full_queue(made: Dependencies, part: Part, rows: Int64, sm_of_track: Int64, site: Int64) -> None:
    """Issues of MMAs that waited for room: the last MMA that ended on the SM by then made it."""
    of_groups = site[part.on[TrackKind.WARP_GROUP]]
    issues = np.flatnonzero(_of_kind(part.launch, "mma")[of_groups])
    begin, end = made.begin[issues], made.end[issues]
    held = np.flatnonzero(end - begin > part.shortest.issue[of_groups[issues]] + _QUEUE_CYCLES)
    if not len(held):
        return
    issues, begin, end = issues[held], begin[held], end[held]
    # one ascending sequence for all SMs, in which the last end before each issue's is searched
    span = int(made.end.max()) + _ROOM_CYCLES + 1
    ends = sm_of_track[made.track[rows]] * span + made.end[rows]
    order = np.argsort(ends, kind="stable")
    ends = ends[order]
    sm = sm_of_track[made.track[issues]]
    # how long a measured product ran is the model's word
    place = np.searchsorted(ends, sm * span + end + _ROOM_CYCLES, side="right") - 1
    found = rows[order[np.maximum(place, 0)]]
    room = made.end[found]
    made_room = (place >= 0) & (ends[place] // span == sm) & (room > begin) & (made.begin[found] < room)
    made.since[issues[made_room]] = np.minimum(room, end)[made_room]
    made.cause[issues[made_room]] = found[made_room]
