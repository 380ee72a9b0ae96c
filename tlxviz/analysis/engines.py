"""What copies and products waited for: those before them on their engines, and room to be issued."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tlxviz.analysis.links import Activity, Dependencies
from tlxviz.analysis.parts import Part
from tlxviz.trace.model import LaunchTrace, TrackKind

Int64 = NDArray[np.int64]

_LATE_CYCLES = 8
"""A copy or MMA that begins so much later than it was issued was held up by the one before it."""
_LONGER = 1.1
"""A copy that takes so much longer than the shortest of its site was held up as well."""
_QUEUE_CYCLES = 32
"""The issue of an MMA that takes so much longer than the shortest of its line was held up."""
_ROOM_CYCLES = 16
"""By so much the MMA that made room may seem to end after the issue that waited for it."""
_SYNCHRONOUS = "tt.dot"
"""The operation whose issue goes on once the product is there."""
_STORES = frozenset({"tma_store", "tma_reduce"})


def of_kind(launch: LaunchTrace, *kinds: str) -> NDArray[np.bool_]:
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


def copies(made: Dependencies, part: Part, there: slice, sms: Int64, by: Int64, site: Int64) -> None:
    # loads and stores have ways of their own
    line = sms[made.track[there]] * 2 + of_kind(part.launch, *_STORES)[site[there]]
    rows, previous, known = in_line(made, part.places(there), line, part.rows[there])
    begin, end, issuer = made.begin[rows], made.end[rows], by[rows]
    made.before[rows] = issuer
    issued = np.where(issuer >= 0, made.end[issuer], begin)
    late = (begin - issued > _LATE_CYCLES) | (end - begin > _LONGER * part.shortest.copy[site[rows]])
    ended = made.end[previous]
    queued = late & known & (ended < end) & (ended > issued)
    behind = rows[queued]
    made.activity[behind], made.since[behind] = Activity.COPY_BANDWIDTH, ended[queued]
    made.cause[behind] = previous[queued]


def products_of_cores(made: Dependencies, part: Part, there: slice, sms: Int64, by: Int64, site: Int64) -> None:
    line = sms[made.track[there]]
    rows, previous, known = in_line(made, part.places(there), line, part.rows[there])
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


def answers(made: Dependencies, part: Part, there: slice, sms: Int64, by: Int64, site: Int64) -> None:
    """Of the block scheduler: they wait for nothing but the question."""
    rows = part.places(there)
    made.before[rows] = by[rows]


def _full_queue(made: Dependencies, part: Part, rows: Int64, sm_of_track: Int64, site: Int64) -> None:
    """Issues of MMAs that waited for room: the last MMA that ended on the SM by then made it."""
    of_groups = site[part.on[TrackKind.WARP_GROUP]]
    issues = np.flatnonzero(of_kind(part.launch, "mma")[of_groups])
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
