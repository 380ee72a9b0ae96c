"""Chains of causes, of one event or of many at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tlxviz.analysis.links import Activity, Dependencies

Int64 = NDArray[np.int64]

_MOST_STEPS = 100_000
"""Steps after which the rest of a wait's chain counts as unknown."""
_MOST_STILL = 64
"""Events after which a chain that stays in one cycle goes on along the track: with clocks that differ, two warp groups
can seem to release each other."""
_ACTIVITIES = tuple(Activity)
_ARITHMETIC = np.int8(Activity.ARITHMETIC)


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of a chain."""

    row: int
    """The event, or the one that follows where the warp group computes; -1 behind the last event of a track."""
    track: int
    activity: Activity
    begin: int
    """SM cycle."""
    end: int
    """SM cycle."""


def chain(made: Dependencies, row: int, until: int = -1) -> list[Stretch]:
    """The causes of an event, from its end back to the beginning of a track, or to the cycle `until`; latest first.

    The stretches adjoin each other.
    """
    return list(stretches(made, row, until))


def stretches(made: Dependencies, row: int, until: int = -1) -> Iterator[Stretch]:
    """The same one by one, for whoever does not need all of a long chain."""
    return _backwards(made, row, int(made.end[row]), until)


def chain_of_track(
    made: Dependencies, track: int, last: int, named: Callable[[int, int, Activity, int, int], Stretch] = Stretch
) -> list[Stretch]:
    """The same from the end of a track, whose last event is `last` (-1 for none), to the beginning of one.

    Args:
        named: Makes a stretch; for rows and tracks that have other numbers where it is to be used.
    """
    end = int(made.upper[track])
    begin = int(made.end[last]) if last >= 0 else int(made.lower[track])
    found = [named(-1, track, Activity.ARITHMETIC, begin, end)] if end > begin else []
    if last >= 0:
        found += _backwards(made, last, begin, -1, named)
    return found


def _backwards(
    made: Dependencies,
    row: int,
    now: int,
    until: int,
    named: Callable[[int, int, Activity, int, int], Stretch] = Stretch,
) -> Iterator[Stretch]:
    # a chain is followed event by event, for which memory views are faster than arrays
    tracks, activities, on_group = made.track.data, made.activity.data, made.on_group.data
    begins, ends, befores = made.begin.data, made.end.data, made.before.data
    causes, sinces = made.cause.data, made.since.data
    still, before_now = 0, now + 1
    while row >= 0 and now > until:
        still = still + 1 if now == before_now else 0
        before_now = now
        track, activity = tracks[row], _ACTIVITIES[activities[row]]
        cause, since = causes[row], sinces[row]
        if cause >= 0 and since <= now and still < _MOST_STILL:
            if now > since:
                yield named(row, track, activity, max(since, until), now)
            row, now = cause, min(since, ends[cause])
            continue
        start = min(now, begins[row])
        if now > start:
            yield named(row, track, activity, max(start, until), now)
        now = start
        if not on_group[row]:  # an engine goes on from what issued its work
            issuer = befores[row]
            if issuer >= 0 and until < now and (ended := ends[issuer]) < now:
                yield named(row, track, activity, max(ended, until), now)
                now = ended
            row = issuer
            continue
        before = befores[row]
        ended = ends[before] if before >= 0 else int(made.lower[track])
        if ended < now and now > until:
            yield named(row, track, Activity.ARITHMETIC, max(ended, until), now)
            now = ended
        row = before


@dataclass(frozen=True, slots=True)
class Blame:
    """What many events stood still for: stretches of their chains, each within the event's own time."""

    place: Int64
    """Which of the events, by position."""
    row: Int64
    """The event that a stretch is of; of arithmetic, the one that follows."""
    track: Int64
    activity: NDArray[np.int8]
    begin: Int64
    """SM cycle."""
    cycles: Int64
    own: int
    """So many of them, the first, are what the events did by themselves."""


def blame(made: Dependencies, rows: Int64) -> Blame:
    """Follows the chains of the events `rows` together, each back to its own begin.

    Cycles of one event add up to its duration, but for what lies before a copy or MMA that nobody is known to have
    issued. Where a chain leads to a warp group that began later than the event, the time before counts as arithmetic.
    """
    pieces = [(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int8), *[np.empty(0, np.int64)] * 2)]

    def add(which: Int64, of: Int64, kind: NDArray[np.int8], low: Int64, high: Int64) -> None:
        keep = high > low
        if keep.all():
            pieces.append((which, of, kind, low, high))
        else:
            keep = np.flatnonzero(keep)
            pieces.append((which[keep], of[keep], kind[keep], low[keep], high[keep]))

    # what an event did by itself, from `since` on; unless it has a cause, that is all of it
    floor, now, row = made.begin[rows], made.end[rows], rows
    cause, since = made.cause[rows], made.since[rows]
    place = np.arange(len(rows))
    add(place, row, made.activity[rows], np.maximum(since, floor), now)
    own = len(pieces[-1][0])
    then = np.minimum(since, made.end[cause])
    left = np.flatnonzero((cause >= 0) & (then > floor))
    still = (then[left] == now[left]).astype(np.int64)
    place, row, now, floor = left, cause[left], then[left], floor[left]
    for _ in range(_MOST_STEPS):
        if not len(place):
            break
        cause, since = made.cause[row], made.since[row]
        jumps = (cause >= 0) & (since <= now) & (still < _MOST_STILL)
        start = np.where(jumps, since, np.minimum(now, made.begin[row]))
        activity = made.activity[row]
        add(place, row, activity, np.maximum(start, floor), now)
        following, then = cause, np.minimum(since, made.end[cause])
        walks = np.flatnonzero(~jumps)
        if len(walks):
            of, base, until = row[walks], floor[walks], start[walks]
            before, group = made.before[of], made.on_group[of]
            known = before >= 0
            ended = np.minimum(np.where(known, made.end[before], base), until)
            # an engine goes on from what issued its work, if anybody is known to have
            ended = np.where(group | known, ended, until)
            add(place[walks], of, np.where(group, _ARITHMETIC, activity[walks]), np.maximum(ended, base), until)
            following[walks], then[walks] = before, ended
        still = (still + 1) * (then == now)
        alive = np.flatnonzero((following >= 0) & (then > floor))
        place, row, now, still, floor = place[alive], following[alive], then[alive], still[alive], floor[alive]
    at, of, kind, low, high = (np.concatenate(column) for column in zip(*pieces, strict=True))
    return Blame(at, of, made.track[of], kind, low, high - low, own)
