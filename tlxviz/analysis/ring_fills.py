"""Rings of slots, found in a trace: which barriers a buffer has, and when its slots are filled, read and released."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tlxviz.analysis.event_table import EventTable
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
    """Slots of the barriers, those that were used. Where each consumer has a part of a buffer, each part is a ring."""
    bytes: int
    """Of one fill."""
    producers: tuple[int, ...]
    """Tracks whose warp groups issue the copies, in a cluster also those of other CTAs."""
    consumers: tuple[int, ...]
    """Tracks whose warp groups wait for them."""
    fills: Fills
    tensor: bool = False
    """Whether it is in tensor memory, where products and stores fill slots."""


def filled_rings(launch: LaunchTrace, cta: int) -> list[FilledRing]:
    """The rings of a CTA that TMA fills, in the order in which the program's copies stand.

    All comes from the trace. A load names its buffer, and the slot and phase of the barrier that it completes. The
    waits that loads of a buffer release name the full barrier; where none was released by it (a barrier that counts
    several copies is released by the last), the `expect` before the copy does. The producer's last wait for the same
    slot, with no copy for another barrier in between, is for the empty barrier. Where there is none, its last wait is,
    if each slot of the buffer has a slot of that barrier to itself: several buffers that are given back together have
    slots of one barrier, which then counts on. A buffer that is filled without such waits is no ring, nor is one whose
    barriers have no names.
    """
    events = EventTable(launch, cta)
    loads = np.flatnonzero(
        events.on(TrackKind.TMA) & events.here & events.kind("tma_load") & (events.slot >= 0) & (events.phase >= 0)
    )
    waits = np.flatnonzero(events.on(TrackKind.WARP_GROUP) & events.here & events.kind("wait") & (events.by >= 0))
    full_of = _full_barriers(events, loads, waits)
    acquired = _acquiring_waits(events, loads, full_of, same_slot=True)
    before = _acquiring_waits(events, loads, full_of, same_slot=False)
    result: list[FilledRing] = []
    for buffer in np.unique(events.variable[loads]).tolist():
        full = int(full_of[buffer])
        if buffer < 0 or full < 0:
            continue
        chosen = events.variable[loads] == buffer
        by = acquired
        empty = _commonest(events.variable[acquired[chosen & (acquired >= 0)]])
        if empty < 0:
            by = before
            empty = _barrier_beside(events, loads[chosen], before[chosen])
        if empty >= 0:
            own = np.where((by >= 0) & (events.variable[by] == empty), by, -1)
            result += _rings_of(events, loads[chosen], own[chosen], waits, (buffer, full, empty))
    first = {site.variable: index for index, site in reversed(list(enumerate(launch.sites))) if site.kind == "tma_load"}
    return sorted(result, key=lambda ring: (first[ring.buffer], ring.slots))


def _commonest(values: NDArray[Any]) -> int:
    """The value, from 0, that is there most often; -1 for none."""
    values = values[values >= 0]
    return int(np.argmax(np.bincount(values))) if len(values) else -1


def _full_barriers(events: EventTable, loads: NDArray[np.intp], waits: NDArray[np.intp]) -> Int64:
    """Number of the full barriers' name, by number of the buffer's name; -1 where not known."""
    result = np.full(len(events.names) + 1, -1, dtype=np.int64)
    is_load = np.zeros(len(events.track), dtype=np.bool_)
    is_load[loads] = True
    released = waits[is_load[events.by[waits]]]
    issuers = events.by[loads]
    known = issuers >= 0
    expects = np.flatnonzero(
        events.on(TrackKind.WARP_GROUP) & events.kind("expect") & (events.slot >= 0) & (events.phase >= 0)
    )
    announced = np.full(len(loads), -1, dtype=np.int64)
    announced[known] = events.latest(expects, issuers[known], events.track, events.slot, events.phase)
    for buffer in np.unique(events.variable[loads]).tolist():
        name = _commonest(events.variable[released[events.variable[events.by[released]] == buffer]])
        if name < 0:
            expected = announced[(events.variable[loads] == buffer) & (announced >= 0)]
            name = _commonest(events.variable[expected])
        result[buffer] = name
    result[-1] = -1
    return result


def _barrier_beside(events: EventTable, loads: NDArray[np.intp], before: Int64) -> int:
    """Number of the name of a barrier of which each slot of a buffer has one to itself; -1 for none.

    Args:
        loads: Those of the buffer.
        before: The wait before each, -1 for none.
    """
    has = before >= 0
    name = _commonest(events.variable[before[has]])
    mine = has & (events.variable[before] == name)
    pairs = np.unique(np.stack([events.slot[loads[mine]], events.slot[before[mine]]]), axis=1)
    alone = all(len(np.unique(each)) == pairs.shape[1] for each in pairs)
    # the wait for a single slot, or one that was over at once, may be for anything
    return name if pairs.shape[1] > 1 and alone and bool((events.by[before[mine]] >= 0).any()) else -1


def _acquiring_waits(events: EventTable, loads: NDArray[np.intp], full_of: Int64, *, same_slot: bool) -> Int64:
    """Row of the producer's last wait before each load if it is for what the load fills; -1 for none.

    Args:
        same_slot: Whether waits for other slots than the load's are left out.
    """
    result = np.full(len(loads), -1, dtype=np.int64)
    known = np.flatnonzero(events.by[loads] >= 0)
    issuers = events.by[loads[known]]
    of_warp_groups = events.on(TrackKind.WARP_GROUP)
    waits = np.flatnonzero(of_warp_groups & events.kind("wait") & (events.slot >= 0))
    found = events.latest(waits, issuers, events.track, *([events.slot] if same_slot else []))
    # The wait is for what is copied first after it.
    copies = np.flatnonzero(of_warp_groups & events.kind("tma_load"))
    order = np.lexsort((events.begin[copies], events.track[copies]))
    copies = copies[order]
    span = int(events.end.max(initial=0)) + 1
    place = events.track[copies] * span + events.begin[copies]
    ok = np.flatnonzero(found >= 0)
    if not len(ok):
        return result
    at = np.searchsorted(place, events.track[found[ok]] * span + events.begin[found[ok]], side="right")
    next_copy = copies[np.minimum(at, len(copies) - 1)]
    same = full_of[events.variable[next_copy]] == full_of[events.variable[issuers[ok]]]
    same |= events.variable[next_copy] == events.variable[issuers[ok]]
    if same_slot:
        same &= events.slot[next_copy] == events.slot[found[ok]]
    result[known[ok[same]]] = found[ok[same]]
    return result


def _rings_of(
    events: EventTable, loads: NDArray[np.intp], acquired: Int64, waits: NDArray[np.intp], names: tuple[int, int, int]
) -> list[FilledRing]:
    """The rings of one buffer: `acquired` has the producer's wait of each of its loads."""
    _, full, empty = names
    size = int(events.phase.max(initial=0)) + 1
    order = np.lexsort((events.begin[loads], events.slot[loads] * size + events.phase[loads]))
    loads, acquired = loads[order], acquired[order]
    # A fill can be several copies, which count on one phase of the barrier.
    keys, first = np.unique(events.slot[loads] * size + events.phase[loads], return_index=True)
    issuer = np.where(events.by[loads] >= 0, events.by[loads], loads)
    issued = np.minimum.reduceat(events.begin[issuer], first)
    landed = np.maximum.reduceat(events.end[loads], first)
    # Copies of a fill whose producer waits once have that wait in common.
    wait = np.maximum.reduceat(acquired, first)
    has = wait >= 0
    slot = keys // size

    waits, at = _reading_waits(events, waits[events.variable[waits] == full], keys, size)
    late = np.iinfo(np.int64).max
    wanted, read = np.full(len(keys), late), np.full(len(keys), late)
    np.minimum.at(wanted, at, events.begin[waits])
    np.minimum.at(read, at, events.end[waits])
    never = read == late

    again = np.concatenate((slot[1:] == slot[:-1], [False]))
    following = np.where(again, np.concatenate((wait[1:], [-1])), -1)
    by_next = np.where(following >= 0, events.by[following], -1)
    arrivals = np.flatnonzero(events.here & events.kind(*_RELEASES) & (events.variable == empty) & (events.slot >= 0))
    given_back = np.where(has, events.slot[wait], slot)
    last = _last_arrivals(events, arrivals, given_back, landed, following)
    released = np.where(by_next >= 0, events.end[by_next], last)

    taken = np.where(has, events.end[wait], issued)
    taken = np.minimum(taken, issued)
    asked = np.where(has, np.minimum(events.begin[wait], taken), taken)
    until = np.where(again, np.concatenate((taken[1:], [0])), late)
    released = np.where((released == NEVER) & again, until, released)
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
    return _split(events, fills, (loads, first), (waits, at), names)


def _reading_waits(
    events: EventTable, waits: NDArray[np.intp], keys: Int64, size: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Those of the waits that a fill ends, and the position of that fill in `keys`.

    What ends a wait counts on a phase of the barrier, and its number is that of the fill.
    """
    by = events.by[waits]
    counts = (events.slot[by] == events.slot[waits]) & (events.slot[by] >= 0) & (events.phase[by] >= 0)
    waits, by = waits[counts], by[counts]
    wanted = events.slot[by] * size + events.phase[by]
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    match = keys[at] == wanted
    return waits[match], at[match]


def _last_arrivals(
    events: EventTable, arrivals: NDArray[np.intp], slot: Int64, landed: Int64, following: Int64
) -> Int64:
    """End of the last arrival for each fill's slot after it landed, and before the following fill's wait was over.

    Args:
        slot: Of the empty barrier.
    """
    if not len(arrivals):
        return np.full(len(slot), NEVER, dtype=np.int64)
    span = int(events.end.max()) + 2
    place = np.sort(events.slot[arrivals] * span + events.end[arrivals])
    limit = np.where(following >= 0, events.end[following], span - 1)
    at = np.searchsorted(place, slot * span + limit, side="right") - 1
    found = place[np.maximum(at, 0)] - slot * span
    return np.where((at >= 0) & (found >= landed), found, NEVER)


def _split(
    events: EventTable,
    fills: Fills,
    copies: tuple[NDArray[np.intp], NDArray[np.intp]],
    reads: tuple[NDArray[np.intp], NDArray[np.intp]],
    names: tuple[int, int, int],
) -> list[FilledRing]:
    """One ring for each set of consumers; slots that nobody reads are none."""
    loads, first = copies
    waits, at = reads
    readers: dict[int, set[int]] = {}
    tracks = int(events.track.max(initial=0)) + 1
    pairs: list[int] = np.unique(fills.slot[at] * tracks + events.track[waits]).tolist()
    for pair in pairs:
        slot, track = divmod(pair, tracks)
        readers.setdefault(slot, set()).add(track)
    rings: dict[tuple[int, ...], list[int]] = {}
    for slot, whose in readers.items():
        rings.setdefault(tuple(sorted(whose)), []).append(slot)
    issuers = events.by[loads[first]]
    size = np.add.reduceat(events.bytes[loads], first)
    buffer, full, empty = (events.names[name] for name in names)
    result: list[FilledRing] = []
    for consumers, slots in rings.items():
        ours = np.isin(fills.slot, slots)
        producers = np.unique(events.track[issuers[ours & (issuers >= 0)]]).tolist()
        result.append(
            FilledRing(
                buffer, full, empty, tuple(slots), int(size[ours].max()), tuple(producers), consumers, fills.take(ours)
            )
        )
    return result
