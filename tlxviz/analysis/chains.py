"""Chains of causes, of one event or of many at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tlxviz.analysis.dependencies import Activity, Dependencies

Int64 = NDArray[np.int64]

_MOST_STEPS = 100_000
"""Steps after which the rest of a wait's chain counts as unknown."""
_MOST_STILL = 64
"""Events after which a chain that stays in one cycle goes on along the track: with clocks that differ, two warp groups
can seem to release each other."""


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
    return list(_backwards(made, row, int(made.end[row]), until))


def chain_of_track(made: Dependencies, track: int, last: int, until: int = -1) -> list[Stretch]:
    """The same from the end of a track, whose last event is `last` (-1 for none)."""
    end = int(made.upper[track])
    begin = int(made.end[last]) if last >= 0 else int(made.lower[track])
    found = [Stretch(-1, track, Activity.ARITHMETIC, max(begin, until), end)] if end > max(begin, until) else []
    if last >= 0:
        found += _backwards(made, last, begin, until)
    return found


def _backwards(made: Dependencies, row: int, now: int, until: int) -> Iterator[Stretch]:
    """Python's own numbers: a chain is followed event by event."""
    still, before_now = 0, now + 1
    while row >= 0 and now > until:
        still = still + 1 if now == before_now else 0
        before_now = now
        track, activity = int(made.track[row]), Activity(int(made.activity[row]))
        cause, since = int(made.cause[row]), int(made.since[row])
        if cause >= 0 and since <= now and still < _MOST_STILL:
            if now > since:
                yield Stretch(row, track, activity, max(since, until), now)
            row, now = cause, min(since, int(made.end[cause]))
            continue
        start = min(now, int(made.begin[row]))
        if now > start:
            yield Stretch(row, track, activity, max(start, until), now)
        now = start
        if not made.on_group[row]:  # an engine goes on from what issued its work
            issuer = int(made.before[row])
            if issuer >= 0 and until < now and (ended := int(made.end[issuer])) < now:
                yield Stretch(row, track, activity, max(ended, until), now)
                now = ended
            row = issuer
            continue
        before = int(made.before[row])
        ended = int(made.end[before]) if before >= 0 else int(made.lower[track])
        if ended < now and now > until:
            yield Stretch(row, track, Activity.ARITHMETIC, max(ended, until), now)
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


def blame(made: Dependencies, rows: Int64) -> Blame:
    """Follows the chains of the events `rows` together, each back to its own begin.

    Cycles of one event add up to its duration, but for what lies before a copy or MMA that nobody is known to have
    issued. Where a chain leads to a warp group that began later than the event, the time before counts as arithmetic.
    """
    pieces: list[tuple[Int64, Int64, NDArray[np.int8], Int64, Int64]] = []
    place = np.flatnonzero(made.end[rows] > made.begin[rows])
    floor = made.begin[rows]
    row, now = rows[place], made.end[rows[place]]
    still = np.zeros(len(place), np.int64)

    def add(which: NDArray[np.bool_], activity: NDArray[np.int8] | int, since: Int64, until: Int64) -> None:
        low = np.maximum(since, floor[place])
        keep = which & (until > low)
        if keep.any():
            kind = np.broadcast_to(np.asarray(activity, np.int8), keep.shape)[keep]
            pieces.append((place[keep], row[keep], kind, low[keep], until[keep]))

    for _ in range(_MOST_STEPS):
        if not len(place):
            break
        cause, since = made.cause[row], made.since[row]
        jumps = (cause >= 0) & (since <= now) & (still < _MOST_STILL)
        start = np.where(jumps, since, np.minimum(now, made.begin[row]))
        add(np.ones(len(row), bool), made.activity[row], start, now)
        before = made.before[row]
        known = before >= 0
        ended = np.minimum(np.where(known, made.end[before], floor[place]), start)
        group = made.on_group[row]
        walks = ~jumps & (group | known)
        add(walks, np.where(group, np.int8(Activity.ARITHMETIC), made.activity[row]), ended, start)
        following = np.where(jumps, cause, before)
        then = np.where(jumps, np.minimum(since, made.end[cause]), np.where(walks, ended, start))
        still = np.where(then == now, still + 1, 0)
        alive = (following >= 0) & (then > floor[place])
        place, row, now, still = place[alive], following[alive], then[alive], still[alive]
    columns = (
        [np.concatenate(column) for column in zip(*pieces, strict=True)] if pieces else [np.empty(0, np.int64)] * 5
    )
    at, of, kind, low, high = columns
    return Blame(at, of, made.track[of], kind.astype(np.int8), low, high - low)
