"""Rings of slots between a producer and its consumers: how full they are, and how deep they have to be."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tlxviz.analysis.occupation import Int64, Occupation, longest_cta
from tlxviz.analysis.ring_fills import NEVER, FilledRing, Fills, filled_rings
from tlxviz.analysis.steady import SteadyState, steady_states
from tlxviz.analysis.tensor_rings import tensor_rings
from tlxviz.trace.model import LaunchTrace, TrackKind

_SPARE = 0.05
"""Fraction of a slot that may be missing without another one being called for."""


@dataclass(frozen=True, slots=True, eq=False)
class Occupancy:
    """Slots by state as step functions: the counts of row i hold from `time[i]` to `time[i + 1]`, 0 before the first.

    The other slots are free: released, or never used, and not yet acquired again.
    """

    time: Int64
    """SM cycles, ascending. After the last one nothing changes."""
    filling: Int64
    """Acquired by the producer, data not there yet."""
    unread: Int64
    """Filled, and no consumer has got past its wait for it."""
    reading: Int64
    """A consumer has, and it has not been released."""


@dataclass(frozen=True, slots=True, eq=False)
class Ring:
    """Slots of one buffer of one CTA that the same consumers read: in shared memory those that TMA fills."""

    cta: int
    buffer: str
    full: str
    """The barriers that copies into it complete, or by which consumers learn that a slot of tensor memory is filled."""
    empty: str
    """The barriers that give its slots back."""
    slots: tuple[int, ...]
    """Slots of these barriers, those used. Where each consumer has a part of a buffer, each part is a ring."""
    bytes: int
    """Of one slot."""
    producers: tuple[str, ...]
    """Warp groups that issue the copies, in a cluster also those of other CTAs."""
    consumers: tuple[str, ...]
    """Warp groups that wait for them."""
    fills: Fills
    occupancy: Occupancy
    begin: int
    """SM cycle from which the figures below are taken: the consumers' steady part, all of them in it."""
    end: int
    filling: float
    """Mean number of slots in each state of `Occupancy`."""
    unread: float
    reading: float
    nothing_unread: float
    """Share of the time in which no filled slot is left that nobody has begun to read: a consumer that comes waits."""
    empty_share: float
    """Share in which no slot holds data at all, read or not: the consumers starve."""
    full_share: float
    """Share in which no slot is free: the producer cannot go on."""
    fill_cycles: float | None
    """From when a slot is free, and its producer ready or a consumer waiting, until its data is there: the median. Like
    the next four, None if the window has too few fills."""
    hold_cycles: float | None
    """From when data is there, and a consumer is ready for it, to its release, without what consumers wait for other
    data meanwhile: the median."""
    pace_cycles: float | None
    """Of a consumer from one slot to the next, without its waits for data: the median, of the slowest consumer."""
    tensor_cycles: float | None
    """What the CTA's tensor core works in the time in which consumers go on by one slot: the mean."""
    needed: int | None
    """The least depth with which consumers would not wait: see `rings`. None in tensor memory."""
    memory: str = "shared"
    """`shared`, or `tensor`, where products and stores of warp groups fill slots."""
    stalled_share: float = 0.0
    """Share of the time in which every slot holds data and none is being filled: who fills them can do nothing here."""

    @property
    def depth(self) -> int:
        return len(self.slots)


def rings(
    launch: LaunchTrace,
    occupied: Occupation,
    *,
    cta: int | None = None,
    steady: Mapping[str, SteadyState | None] | None = None,
) -> tuple[Ring, ...]:
    """The rings of a CTA that TMA fills, and its slots of tensor memory, with their figures over the steady part.

    A slot goes round in the times that it takes to fill it and that it is held. Both have the hand-offs in them, since
    they begin when the one side has done its part and the other stands ready. Consumers that never wait for data hold
    it for hold_cycles / pace_cycles of their intervals, and an interval is no shorter than what the tensor core does in
    it. So they find a filled slot whenever they come if

        depth >= hold_cycles / pace_cycles + fill_cycles / max(pace_cycles, tensor_cycles)

    `needed` is the least such number, where 0.05 are forgiven, and not more than there are fills. Waits for data are
    left out of pace and hold time whichever ring they are for, since rings that are used side by side become deep
    enough together. What it cannot know: waits for warp groups that wait for data themselves pass for work, copies that
    queue for the TMA engine take less time where there are fewer, and where memory is the limit no depth is enough.

    Args:
        cta: Linear number; None for the traced CTA that took longest.
        steady: What `steady_states` gives for this CTA; None to have it worked out.
    """
    chosen = longest_cta(launch, occupied.lower, occupied.upper) if cta is None else cta
    if chosen is None:
        return ()
    if steady is None:
        steady = steady_states(launch, occupied, cta=chosen)
    own = _linked_to(launch, chosen)
    data_waits = _DataWaits(own)
    found = [*filled_rings(own, chosen), *tensor_rings(own, chosen)]
    return tuple(_figures(launch, occupied, data_waits, chosen, each, steady) for each in found)


def _linked_to(launch: LaunchTrace, cta: int) -> LaunchTrace:
    """The launch with the events of a CTA alone, and of CTAs whose events let it go on, as those of its cluster do."""
    track, by = launch.events["track"], launch.events["released_by"]
    of_track = np.array([row.cta for row in launch.tracks], dtype=np.int64)
    rows = np.flatnonzero((of_track == cta)[track])
    causes = by[rows]
    others = np.unique(of_track[np.unique(track[causes[causes >= 0]])])
    mine = np.isin(of_track, [cta, *others.tolist()])
    if mine.all():
        return launch
    rows = rows if len(others) <= 1 and (not len(others) or others[0] == cta) else np.flatnonzero(mine[track])
    return replace(launch, events=launch.events.take(rows))


def occupancy(fills: Fills) -> Occupancy:
    """Slots in each state over time."""
    late = np.iinfo(np.int64).max
    landed = fills.landed
    released = np.where(fills.released == NEVER, late, fills.released)
    # What was released without being read was unread until then.
    read = np.where(fills.read == NEVER, released, fills.read)
    edges = [fills.acquired, landed, read, released]
    time = np.unique(np.concatenate(edges))
    time = time[time < late]
    # Slots that have got as far as each edge.
    passed = [np.searchsorted(np.sort(edge), time, side="right") for edge in edges]
    counts = [before - after for before, after in pairwise(passed)]
    return Occupancy(time, *counts)


class _DataWaits:
    """How long warp groups have stood still for data that TMA was still to bring."""

    def __init__(self, launch: LaunchTrace) -> None:
        events = launch.events
        by = events["released_by"]
        group = np.array([row.kind == TrackKind.WARP_GROUP for row in launch.tracks], dtype=np.bool_)
        tma = np.array([row.kind == TrackKind.TMA for row in launch.tracks], dtype=np.bool_)
        wait = np.array([*(row.kind == "wait" for row in launch.sites), False], dtype=np.bool_)
        rows = np.flatnonzero(wait[events["site"]] & group[events["track"]] & (by >= 0))
        rows = rows[tma[events["track"][by[rows]]]]
        rows = rows[np.lexsort((events["begin"][rows], events["track"][rows]))]
        self._track = events["track"][rows]
        self._begin = events["begin"][rows]
        # A wait takes some cycles also where the data is there; those are no standing still.
        self._end = np.maximum(np.minimum(events["end"][rows], events["end"][by[rows]]), self._begin)

    def until(self, track: int, cycles: Int64) -> NDArray[np.float64]:
        """Cycles that the warp group stood still before each of these."""
        first, last = np.searchsorted(self._track, [track, track + 1])
        begin, end = self._begin[first:last], self._end[first:last]
        if not len(begin):
            return np.zeros(len(cycles))
        total = np.cumsum(end - begin)
        at = np.searchsorted(begin, cycles, side="right") - 1
        during = np.maximum(end[at] - cycles, 0)
        return np.where(at < 0, 0, total[at] - during).astype(np.float64)


def _figures(
    launch: LaunchTrace,
    occupied: Occupation,
    data_waits: _DataWaits,
    cta: int,
    found: FilledRing,
    steady: Mapping[str, SteadyState | None],
) -> Ring:
    steps, fills = occupancy(found.fills), found.fills
    consumers = tuple(launch.tracks[row].name for row in found.consumers)
    begin, end = _window(fills, [steady.get(name) for name in consumers])
    depth = len(found.slots)
    edges = np.clip(np.append(steps.time, end), begin, end)
    lengths = np.diff(edges)
    # Before the first fill everything is free.
    idle = max(end - begin - int(lengths.sum()), 0)
    span = max(end - begin, 1)

    def mean(values: NDArray[np.generic]) -> float:
        return float((values * lengths).sum() / span)

    def share(holds: NDArray[np.bool_], at_first: bool) -> float:
        return mean(holds) + (idle / span if at_first else 0.0)

    held = steps.unread + steps.reading
    fill, hold, pace = _round(data_waits, found, begin, end)
    tensor = _tensor_cycles(launch, occupied, cta, _reads(fills, begin, end))
    needed = None
    if not found.tensor and fill is not None and hold is not None and tensor is not None and pace:
        slots = hold / pace + fill / max(pace, tensor)
        needed = min(max(math.ceil(slots - _SPARE), 1), len(fills.slot))
    return Ring(
        cta=cta,
        buffer=found.buffer,
        full=found.full,
        empty=found.empty,
        slots=found.slots,
        bytes=found.bytes,
        producers=tuple(dict.fromkeys(launch.tracks[row].name for row in found.producers)),
        consumers=consumers,
        fills=fills,
        occupancy=steps,
        begin=begin,
        end=end,
        filling=mean(steps.filling),
        unread=mean(steps.unread),
        reading=mean(steps.reading),
        nothing_unread=share(steps.unread == 0, True),
        empty_share=share(held == 0, True),
        full_share=share(steps.filling + held >= depth, False),
        fill_cycles=fill,
        hold_cycles=hold,
        pace_cycles=pace,
        tensor_cycles=tensor,
        needed=needed,
        memory="tensor" if found.tensor else "shared",
        stalled_share=share((steps.filling == 0) & (held >= depth), False),
    )


def _window(fills: Fills, steady: list[SteadyState | None]) -> tuple[int, int]:
    """SM cycles in which all consumers are in their steady part; the ring's whole life where there is none."""
    known = [state for state in steady if state is not None]
    if known:
        begin, end = max(state.begin for state in known), min(state.end for state in known)
        if begin < end:
            return begin, end
    return int(fills.acquired.min()), int(max(fills.landed.max(), fills.released.max()))


def _round(
    data_waits: _DataWaits, found: FilledRing, begin: int, end: int
) -> tuple[float | None, float | None, float | None]:
    """Fill, hold and pace of `Ring`, in SM cycles."""
    fills = found.fills
    again = np.concatenate(([False], fills.slot[1:] == fills.slot[:-1]))
    free = np.where(again, np.concatenate(([0], fills.released[:-1])), 0)
    complete = (fills.landed >= begin) & (fills.landed < end) & (fills.read != NEVER) & (fills.released != NEVER)
    if not complete.any():
        return None, None, None
    # A producer that is late counts from when it is missed.
    due = np.maximum(free, np.minimum(fills.asked, fills.wanted))
    fill = np.maximum(fills.landed - due, 0)[complete]
    ready = np.maximum(fills.landed, fills.wanted)[complete]
    released = fills.released[complete]
    away = [data_waits.until(track, released) - data_waits.until(track, ready) for track in found.consumers]
    hold = np.maximum(released - ready - np.mean(away, axis=0), 0)
    read = _reads(fills, begin, end)
    if len(read) < 2:
        return float(np.median(fill)), float(np.median(hold)), None
    paces = [np.median(np.diff(read - data_waits.until(track, read))) for track in found.consumers]
    return float(np.median(fill)), float(np.median(hold)), float(max(paces))


def _reads(fills: Fills, begin: int, end: int) -> Int64:
    return np.sort(fills.read[(fills.read >= begin) & (fills.read <= end)])


def _tensor_cycles(launch: LaunchTrace, occupied: Occupation, cta: int, read: Int64) -> float | None:
    if len(read) < 2:
        return None
    edges = read[[0, -1]].astype(np.float64)
    cycles = sum(
        float(occupied.coverage(row, edges)[0])
        for row, track in enumerate(launch.tracks)
        if track.cta == cta and track.kind == TrackKind.TENSOR_CORE
    )
    return cycles / (len(read) - 1)
