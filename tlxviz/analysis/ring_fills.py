"""Rings of slots, found in a trace: which barriers a buffer has, and when its slots are filled, read and released."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tlxviz.analysis.occupation import Int64
from tlxviz.trace.model import LaunchTrace, TrackKind

NEVER = -1
"""A cycle that never came, or that the trace does not tell."""

_RELEASES = ("arrive", "mma_commit")


@dataclass(frozen=True, slots=True, eq=False)
class Fills:
    """Columns, one row per fill of a slot, by slot and time. All but the first two are SM cycles.

    A fill is acquired, lands, is read and is released, in this order and before the next of its slot is acquired.
    """

    slot: Int64
    number: Int64
    """Phase of the full barrier that the fill completes: how often it had completed one before."""
    asked: Int64
    """When the producer reached its wait for the empty slot; `acquired` where it has none."""
    acquired: Int64
    """When that wait was over; when it began to issue the copy where it does not wait."""
    issued: Int64
    """When it reached the copy."""
    landed: Int64
    """When the data was in shared memory: the last copy of this fill."""
    wanted: Int64
    """When the first consumer reached its wait for the data; `NEVER` if none did."""
    read: Int64
    """When the first such wait was over; `NEVER` if none was."""
    released: Int64
    """When the arrival that completes the empty barrier's phase was over, which is the one that the next wait for the
    slot names. Of the last fill, the last arrival for the slot. `NEVER` if there is none."""

    def take(self, index: NDArray[np.intp] | NDArray[np.bool_]) -> Fills:
        return Fills(*(getattr(self, name)[index] for name in self.__slots__))


@dataclass(frozen=True, slots=True, eq=False)
class FilledRing:
    """Slots of one buffer that the same consumers read."""

    buffer: str
    full: str
    """The barriers that copies into it complete."""
    empty: str
    """The barriers that give its slots back."""
    slots: tuple[int, ...]
    """Slots of the barriers, those that were used: consumers that have a part of a buffer each have a ring each."""
    bytes: int
    """Of one fill."""
    producers: tuple[int, ...]
    """Tracks whose warp groups issue the copies."""
    consumers: tuple[int, ...]
    """Tracks whose warp groups wait for them."""
    fills: Fills


def filled_rings(launch: LaunchTrace, cta: int) -> list[FilledRing]:
    """The rings of a CTA that TMA fills, in the order in which the program's copies stand.

    All comes from the trace. A load names its buffer, and the slot and phase of the barrier that it completes. The
    waits that loads of a buffer release name the full barrier; where none was released by it (a barrier that counts
    several copies is released by the last), the `expect` before the copy does. The producer's last wait for the same
    slot, with no copy for another barrier in between, is for the empty barrier. A buffer that is filled without such
    waits is no ring, nor is one whose barriers have no names.
    """
    view = _View(launch, cta)
    loads = np.flatnonzero(
        view.on(TrackKind.TMA) & view.here & view.kind("tma_load") & (view.slot >= 0) & (view.phase >= 0)
    )
    waits = np.flatnonzero(view.on(TrackKind.WARP_GROUP) & view.here & view.kind("wait") & (view.by >= 0))
    full_of = _full_barriers(view, loads, waits)
    acquired = _acquiring_waits(view, loads, full_of)
    result: list[FilledRing] = []
    for buffer in np.unique(view.variable[loads]).tolist():
        full = int(full_of[buffer])
        if buffer < 0 or full < 0:
            continue
        chosen = view.variable[loads] == buffer
        empty = _commonest(view.variable[acquired[chosen & (acquired >= 0)]])
        if empty >= 0:
            own = np.where((acquired >= 0) & (view.variable[acquired] == empty), acquired, -1)
            result += _rings_of(view, loads[chosen], own[chosen], waits, (buffer, full, empty))
    first = {site.variable: index for index, site in reversed(list(enumerate(launch.sites))) if site.kind == "tma_load"}
    return sorted(result, key=lambda ring: (first[ring.buffer], ring.slots))


class _View:
    """Columns of the event table with the sites' facts beside them."""

    def __init__(self, launch: LaunchTrace, cta: int) -> None:
        events = launch.events
        self.track, site = events["track"].astype(np.int64), events["site"]
        self.begin, self.end = events["begin"], events["end"]
        self.slot, self.phase = events["slot"].astype(np.int64), events["phase"].astype(np.int64)
        self.by, self.bytes = events["released_by"], events["bytes"]
        self.names = sorted({row.variable for row in launch.sites if row.variable})
        number = {name: index for index, name in enumerate(self.names)}
        self._kinds = np.array([*(row.kind for row in launch.sites), ""])
        self._track_kinds = np.array([str(row.kind) for row in launch.tracks])
        # -1: an operation that names nothing.
        self.variable = np.array([*(number.get(row.variable, -1) for row in launch.sites), -1])[site]
        self._site = site
        self.here = np.array([row.cta == cta for row in launch.tracks], dtype=np.bool_)[self.track]

    def kind(self, *kinds: str) -> NDArray[np.bool_]:
        return np.isin(self._kinds, kinds)[self._site]

    def on(self, kind: TrackKind) -> NDArray[np.bool_]:
        return (self._track_kinds == str(kind))[self.track]

    def key(self, rows: NDArray[Any], *columns: Int64) -> Int64:
        """One number for each row's track or the like: the columns must be 0 or more."""
        result = np.zeros(len(rows), dtype=np.int64)
        for column in columns:
            result = result * (int(column.max(initial=0)) + 2) + column[rows]
        return result

    def latest(self, of: NDArray[np.intp], before: NDArray[Any], *columns: Int64) -> Int64:
        """For each row of `before`, the row of `of` with equal columns that began last and no later; -1 for none."""
        if not len(of):
            return np.full(len(before), -1, dtype=np.int64)
        begin: Int64 = self.begin - self.begin.min()
        span = int(begin.max()) + 1
        there = self.key(of, *columns) * span + begin[of]
        order = np.argsort(there, kind="stable")
        wanted = self.key(before, *columns)
        place = np.searchsorted(there[order], wanted * span + begin[before], side="right").astype(np.int64) - 1
        found = of[order[np.maximum(place, 0)]]
        return np.where((place >= 0) & (self.key(found, *columns) == wanted), found, -1).astype(np.int64)


def _commonest(values: NDArray[Any]) -> int:
    """The value, from 0, that is there most often; -1 for none."""
    values = values[values >= 0]
    return int(np.argmax(np.bincount(values))) if len(values) else -1


def _full_barriers(view: _View, loads: NDArray[np.intp], waits: NDArray[np.intp]) -> Int64:
    """Number of the full barriers' name, by number of the buffer's name; -1 where not known."""
    result = np.full(len(view.names) + 1, -1, dtype=np.int64)
    is_load = np.zeros(len(view.track), dtype=np.bool_)
    is_load[loads] = True
    released = waits[is_load[view.by[waits]]]
    issuers = view.by[loads]
    known = issuers >= 0
    expects = np.flatnonzero(view.on(TrackKind.WARP_GROUP) & view.kind("expect") & (view.slot >= 0) & (view.phase >= 0))
    announced = np.full(len(loads), -1, dtype=np.int64)
    announced[known] = view.latest(expects, issuers[known], view.track, view.slot, view.phase)
    for buffer in np.unique(view.variable[loads]).tolist():
        name = _commonest(view.variable[released[view.variable[view.by[released]] == buffer]])
        if name < 0:
            expected = announced[(view.variable[loads] == buffer) & (announced >= 0)]
            name = _commonest(view.variable[expected])
        result[buffer] = name
    result[-1] = -1
    return result


def _acquiring_waits(view: _View, loads: NDArray[np.intp], full_of: Int64) -> Int64:
    """Row of the producer's wait for the slot that each load fills; -1 for none."""
    result = np.full(len(loads), -1, dtype=np.int64)
    known = np.flatnonzero(view.by[loads] >= 0)
    issuers = view.by[loads[known]]
    of_warp_groups = view.on(TrackKind.WARP_GROUP)
    waits = np.flatnonzero(of_warp_groups & view.kind("wait") & (view.slot >= 0))
    found = view.latest(waits, issuers, view.track, view.slot)
    # The wait is for what is copied first after it.
    copies = np.flatnonzero(of_warp_groups & view.kind("tma_load"))
    order = np.lexsort((view.begin[copies], view.track[copies]))
    copies = copies[order]
    span = int(view.end.max(initial=0)) + 1
    place = view.track[copies] * span + view.begin[copies]
    ok = np.flatnonzero(found >= 0)
    if not len(ok):
        return result
    at = np.searchsorted(place, view.track[found[ok]] * span + view.begin[found[ok]], side="right")
    next_copy = copies[np.minimum(at, len(copies) - 1)]
    same = full_of[view.variable[next_copy]] == full_of[view.variable[issuers[ok]]]
    same |= view.variable[next_copy] == view.variable[issuers[ok]]
    same &= view.slot[next_copy] == view.slot[found[ok]]
    result[known[ok[same]]] = found[ok[same]]
    return result


def _rings_of(
    view: _View, loads: NDArray[np.intp], acquired: Int64, waits: NDArray[np.intp], names: tuple[int, int, int]
) -> list[FilledRing]:
    """The rings of one buffer: `acquired` has the producer's wait of each of its loads."""
    _, full, empty = names
    size = int(view.phase.max(initial=0)) + 1
    order = np.lexsort((view.begin[loads], view.slot[loads] * size + view.phase[loads]))
    loads, acquired = loads[order], acquired[order]
    # A fill can be several copies, which count on one phase of the barrier.
    keys, first = np.unique(view.slot[loads] * size + view.phase[loads], return_index=True)
    issuer = np.where(view.by[loads] >= 0, view.by[loads], loads)
    issued = np.minimum.reduceat(view.begin[issuer], first)
    landed = np.maximum.reduceat(view.end[loads], first)
    # Copies of a fill whose producer waits once have that wait in common.
    wait = np.maximum.reduceat(acquired, first)
    has = wait >= 0
    slot = keys // size

    waits = waits[(view.variable[waits] == full) & (view.slot[view.by[waits]] >= 0) & (view.phase[view.by[waits]] >= 0)]
    by = view.by[waits]
    wanted_key = view.slot[by] * size + view.phase[by]
    at = np.minimum(np.searchsorted(keys, wanted_key), len(keys) - 1)
    match = (keys[at] == wanted_key) & (view.slot[waits] == view.slot[by])
    waits, at = waits[match], at[match]
    late = np.iinfo(np.int64).max
    wanted, read = np.full(len(keys), late), np.full(len(keys), late)
    np.minimum.at(wanted, at, view.begin[waits])
    np.minimum.at(read, at, view.end[waits])
    never = read == late

    again = np.concatenate((slot[1:] == slot[:-1], [False]))
    following = np.where(again, np.concatenate((wait[1:], [-1])), -1)
    by_next = np.where(following >= 0, view.by[following], -1)
    arrivals = np.flatnonzero(view.here & view.kind(*_RELEASES) & (view.variable == empty) & (view.slot >= 0))
    released = np.where(by_next >= 0, view.end[by_next], _last_arrivals(view, arrivals, slot, landed, following))

    taken = np.where(has, view.end[wait], issued)
    taken = np.minimum(taken, issued)
    asked = np.where(has, np.minimum(view.begin[wait], taken), taken)
    until = np.where(again, np.concatenate((taken[1:], [0])), late)
    released = np.where((released == NEVER) & again, until, released)
    read = np.where(never, late, read)
    gone = released == NEVER
    released = np.where(gone, late, released)
    # Clocks of a measured trace can be off by some cycles; a slot has one state at a time.
    landed = np.minimum(landed, until)
    read = np.minimum(np.maximum(read, landed), until)
    released = np.minimum(np.maximum(released, np.where(never, landed, read)), until)
    fills = Fills(
        slot,
        keys % size,
        asked,
        taken,
        issued,
        landed,
        np.where(never, NEVER, wanted),
        np.where(never, NEVER, read),
        np.where(gone, NEVER, released),
    )
    return _split(view, fills, (loads, first), (waits, at), names)


def _last_arrivals(view: _View, arrivals: NDArray[np.intp], slot: Int64, landed: Int64, following: Int64) -> Int64:
    """End of the last arrival for each fill's slot after it landed, and before the following fill's wait was over."""
    if not len(arrivals):
        return np.full(len(slot), NEVER, dtype=np.int64)
    span = int(view.end.max()) + 2
    place = np.sort(view.slot[arrivals] * span + view.end[arrivals])
    limit = np.where(following >= 0, view.end[following], span - 1)
    at = np.searchsorted(place, slot * span + limit, side="right") - 1
    found = place[np.maximum(at, 0)] - slot * span
    return np.where((at >= 0) & (found >= landed), found, NEVER)


def _split(
    view: _View,
    fills: Fills,
    copies: tuple[NDArray[np.intp], NDArray[np.intp]],
    reads: tuple[NDArray[np.intp], NDArray[np.intp]],
    names: tuple[int, int, int],
) -> list[FilledRing]:
    """One ring for each set of consumers; slots that nobody reads are none."""
    loads, first = copies
    waits, at = reads
    readers: dict[int, set[int]] = {}
    for slot, track in np.unique(np.stack([fills.slot[at], view.track[waits]], axis=1), axis=0).tolist():
        readers.setdefault(slot, set()).add(track)
    rings: dict[tuple[int, ...], list[int]] = {}
    for slot, tracks in readers.items():
        rings.setdefault(tuple(sorted(tracks)), []).append(slot)
    issuers = view.by[loads[first]]
    size = np.add.reduceat(view.bytes[loads], first)
    buffer, full, empty = (view.names[name] for name in names)
    result: list[FilledRing] = []
    for consumers, slots in rings.items():
        ours = np.isin(fills.slot, slots)
        producers = np.unique(view.track[issuers[ours & (issuers >= 0)]]).tolist()
        result.append(
            FilledRing(
                buffer, full, empty, tuple(slots), int(size[ours].max()), tuple(producers), consumers, fills.take(ours)
            )
        )
    return result
