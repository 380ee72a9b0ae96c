"""Lanes that no track has: barriers by slot, the slots of buffers, copies in flight."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tlxviz.analysis.ring_fills import NEVER, Fills, filled_rings
from tlxviz.analysis.tensor_rings import tensor_rings
from tlxviz.trace.model import LaunchTrace, TrackKind
from tlxviz.tui.looks import Look
from tlxviz.tui.slices import Int64, Slices

_CONTRIBUTES = frozenset({"arrive", "expect", "mma_commit"})


@dataclass(frozen=True, slots=True, eq=False)
class Flips:
    """Phases of one slot of an mbarrier that have been completed, in order."""

    name: str
    """`a_full[2]`."""
    number: Int64
    """Of each phase: how many had been completed before."""
    time: Int64
    """SM cycle at which it was."""


def flips(launch: LaunchTrace, rows: Int64) -> list[Flips]:
    """When phases of mbarriers were completed, by slot, in the order in which the program names them.

    The event that released a wait completed the phase that its own `phase` says. A product, or a copy to tensor memory,
    says none: it completed the next one after the last known that has the parity of the wait. Of phases that
    nobody waited for, the last that counted on it did: an arrival, or a copy (whose barrier is that of the waits which
    copies of its site released, else that of the `expect` before it). The last phase of a slot counts only if somebody
    waited for it.

    Args:
        rows: Events of one CTA, in the order of the table.
    """
    events, sites = launch.events, launch.sites
    site, slot, phase, by, end = (events[name][rows] for name in ("site", "slot", "phase", "released_by", "end"))
    kinds = [*(each.kind for each in sites), ""]
    on_group = np.array([each.kind is TrackKind.WARP_GROUP for each in launch.tracks] or [False])[events["track"][rows]]
    names = {name: number for number, name in enumerate(dict.fromkeys(_mbarriers(launch)))}
    of_site = np.array([*(names.get(each.variable, -1) for each in sites), -1], np.int64)
    waits = np.array([each == "wait" for each in kinds])[site] & on_group & (by >= 0) & (of_site[site] >= 0)
    causes = by[waits]
    ended = (of_site[site[waits]], slot[waits], events["phase"][causes], events["end"][causes])
    released = _numbered(ended, phase[waits], causes)
    loads = _barriers_of_loads(launch, site[waits], events["site"][causes], names)
    tma = np.array([each == "tma_load" for each in kinds])[site] & ~on_group
    barrier = np.where(tma, loads[site], of_site[site])
    counts = np.array([each in _CONTRIBUTES for each in kinds])[site] & on_group | tma
    counts &= (barrier >= 0) & (phase >= 0) & (slot >= 0)
    rest = (barrier[counts], slot[counts], phase[counts], end[counts])
    return _by_slot(list(names), released, rest)


def _mbarriers(launch: LaunchTrace) -> list[str]:
    waited = [each.variable for each in launch.sites if each.kind == "wait" and each.variable]
    listed = [each.name for each in launch.barriers]
    return [*listed, *waited] if waited else listed


def _barriers_of_loads(launch: LaunchTrace, waits: Int64, causes: Int64, names: dict[str, int]) -> Int64:
    """The number of the barrier that copies of each site complete; -1 for none, and once more for site -1."""
    found = np.full(len(launch.sites) + 1, -1, np.int64)
    expected: dict[int, str] = {}
    for number, each in enumerate(launch.sites):
        if each.kind == "expect":
            expected[each.agent] = each.variable
        elif each.kind == "tma_load":
            found[number] = names.get(expected.get(each.agent, ""), -1)
    pairs = np.unique(np.stack((causes, waits)), axis=1) if len(waits) else np.empty((2, 0), np.int64)
    for cause, wait in pairs.T.tolist():
        if cause >= 0 and launch.sites[cause].kind == "tma_load":
            found[cause] = names.get(launch.sites[wait].variable, -1)
    return found


Columns = tuple[Int64, Int64, Int64, Int64]
"""Barrier, slot, phase, and the cycle at which it may have been completed."""


def _numbered(released: Columns, parity: Int64, causes: Int64) -> Columns:
    """The same with a number for each phase.

    Args:
        parity: What each wait was for.
        causes: Rows of the events that ended the waits.
    """
    barrier, slot, phase, end = (each.astype(np.int64) for each in released)
    last: dict[tuple[int, int], tuple[int, int]] = {}
    if (phase >= 0).all():
        return barrier, slot, phase, end
    for place in np.lexsort((causes, end)).tolist():
        key = int(barrier[place]), int(slot[place])
        cause, number = last.get(key, (-1, -1))
        if phase[place] < 0 and causes[place] == cause:
            phase[place] = number
        elif phase[place] < 0:
            phase[place] = number + 1 + (number + 1 - int(parity[place])) % 2
        last[key] = int(causes[place]), int(phase[place])
    return barrier, slot, phase, end


def _by_slot(names: list[str], released: Columns, counted: Columns) -> list[Flips]:
    made: list[Flips] = []
    slots = {
        each[:2] for part in (released, counted) for each in set(zip(part[0].tolist(), part[1].tolist(), strict=True))
    }
    for barrier, slot in sorted(slots):
        (sure, sure_time), (likely, likely_time) = (
            (part[2][own], part[3][own])
            for part in (released, counted)
            for own in [np.flatnonzero((part[0] == barrier) & (part[1] == slot))]
        )
        size = int(max(sure.max(initial=-1), likely.max(initial=-1))) + 1
        time = np.full(size, -1, np.int64)
        np.maximum.at(time, likely, likely_time)
        time[-1:] = -1
        ended = np.full(size, -1, np.int64)
        np.maximum.at(ended, sure, sure_time)
        time = np.where(ended >= 0, ended, time)
        number = np.flatnonzero(time >= 0)
        # clocks of a measured trace can be off by some cycles
        made.append(Flips(f"{names[barrier]}[{slot}]", number, np.maximum.accumulate(time[number])))
    return made


def barrier_slices(found: Flips, life: tuple[int, int]) -> Slices:
    """A slice for each phase of a slot; the last goes on to the end of the CTA."""
    begin = np.concatenate(([life[0]], found.time))
    end = np.concatenate((found.time, [max(life[1], int(found.time.max(initial=0)))]))
    number = np.concatenate((found.number, [int(found.number.max(initial=-1)) + 1]))
    look = np.where(number % 2 == 0, Look.EVEN, Look.ODD).astype(np.int8)
    return Slices(np.minimum(begin, end), end, look, np.full(len(look), -1, np.int64), life=life)


def flip_slices(found: list[Flips], life: tuple[int, int]) -> Slices:
    """All phases that were completed, as slices that take no time."""
    time = np.sort(np.concatenate([each.time for each in found])) if found else np.empty(0, np.int64)
    return Slices(time, time, np.full(len(time), Look.ODD, np.int8), np.full(len(time), -1, np.int64), life=life)


def buffer_slots(launch: LaunchTrace, rows: Int64, cta: int, life: tuple[int, int]) -> list[tuple[str, Slices]]:
    """The slots of buffers that TMA fills, and of tensor memory, with what each was at each time.

    Args:
        rows: Events of the CTA, and of others whose copies and arrivals reach it, in the order of the table.
    """
    part = replace(launch, events=launch.events.take(rows))
    made: list[tuple[str, Slices]] = []
    for ring in [*filled_rings(part, cta), *tensor_rings(part, cta)]:
        made += [(f"{ring.buffer}[{slot}]", slot_slices(ring.fills, slot, life)) for slot in ring.slots]
    return made


def slot_slices(fills: Fills, slot: int, life: tuple[int, int]) -> Slices:
    """Filling from when its producer has it, full when data is there, read from the first consumer to the release."""
    own = fills.take(fills.slot == slot)
    late = max(life[1], int(own.landed.max(initial=0)))
    released = np.where(own.released == NEVER, late, own.released)
    read = np.where(own.read == NEVER, released, own.read)
    begin = np.stack((own.acquired, own.landed, read), axis=1).ravel()
    end = np.stack((own.landed, read, released), axis=1).ravel()
    look = np.tile(np.array([Look.FILL, Look.FULL, Look.READ], np.int8), len(own.slot))
    some = end > begin
    event = np.full(int(some.sum()), -1, np.int64)
    return Slices(begin[some], end[some], look[some], event, Look.FREE, life)


def size_text(count: int) -> str:
    """`320K`: bytes in at most four places."""
    for unit, size in (("G", 2**30), ("M", 2**20), ("K", 2**10)):
        if count >= size:
            return f"{count / size:.3g}{unit}"
    return str(count)


def related(launch: LaunchTrace, rows: Int64, of_cta: Callable[[int], Int64], ctas: NDArray[np.int64]) -> Int64:
    """The events of a CTA, and those of CTAs whose events let it go on, as those of its cluster do.

    Args:
        ctas: The CTA of each track.
    """
    by = launch.events["released_by"][rows]
    others = np.unique(ctas[np.unique(launch.events["track"][by[by >= 0]])]) if len(ctas) else ctas
    return np.unique(np.concatenate([rows, *(of_cta(each) for each in others.tolist())]))
