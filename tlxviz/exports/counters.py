"""Numbers that change over time: bytes that the TMA engine moves, slots of rings that hold data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tlxviz.analysis.ring_fills import NEVER, FilledRing, filled_rings
from tlxviz.analysis.tensor_rings import has_tensor_memory, tensor_rings
from tlxviz.exports.model import Cut
from tlxviz.trace.model import Events, LaunchTrace, Track, TrackKind

_Int64 = NDArray[np.int64]

_RING_KINDS = ("wait", "expect", "tma_load", "arrive", "mma_commit")
"""Kinds of the sites by whose events `filled_rings` finds rings."""
_TENSOR_KINDS = ("wait", "arrive", "mma", "mma_commit", "tmem_load", "tmem_store", "tmem_copy")
"""The same of `tensor_rings`."""
_TENSOR_RELEASES = ("mma", "tmem_copy")
"""Kinds whose completion gives slots of rings back where sums are in tensor memory."""

_TOGETHER = 32
"""As many CTAs at a time, so that numbers made of a track, slot, phase and cycle fit into 64 bits."""


@dataclass(frozen=True, slots=True, eq=False)
class Counter:
    """A step function of a CTA."""

    cta: int
    name: str
    unit: str
    """`bytes` or `slots`."""
    cycles: _Int64
    """Ascending; each is when the number becomes the value beside it. Before the first it is 0."""
    values: _Int64


def counters(cut: Cut) -> list[Counter]:
    """By CTA: bytes of copies under way, each ring that TMA fills, as the program's copies stand, and tensor memory."""
    return sorted([*_bytes_in_flight(cut), *_filled_slots(cut)], key=lambda each: each.cta)


def _bytes_in_flight(cut: Cut) -> list[Counter]:
    launch, events = cut.launch, cut.launch.events
    engines = [row for row, track in enumerate(launch.tracks) if track.kind == TrackKind.TMA]
    on = np.zeros(len(launch.tracks), dtype=np.bool_)
    on[engines] = True
    rows = np.flatnonzero(on[events["track"]] & (events["bytes"] > 0)) if engines else np.empty(0, dtype=np.intp)
    rows = rows[np.argsort(events["track"][rows], kind="stable")]
    first = np.searchsorted(events["track"][rows], engines)
    last = np.searchsorted(events["track"][rows], engines, side="right")
    found: list[Counter] = []
    for engine, low, high in zip(engines, first.tolist(), last.tolist(), strict=True):
        own = rows[low:high]
        if len(own):
            cycles, values = _steps(events["begin"][own], events["end"][own], events["bytes"][own])
            found.append(Counter(launch.tracks[engine].cta, "TMA bytes in flight", "bytes", cycles, values))
    return found


def _steps(begin: _Int64, end: _Int64, height: _Int64 | int = 1) -> tuple[_Int64, _Int64]:
    """Of what begins and ends, with its height: the cycles at which the sum changes, and the sum from then on."""
    heights = np.broadcast_to(np.asarray(height, dtype=np.int64), begin.shape)
    cycles = np.concatenate((begin, end))
    order = np.argsort(cycles, kind="stable")
    cycles = cycles[order]
    sums = np.cumsum(np.concatenate((heights, -heights))[order])
    last = np.append(cycles[1:] != cycles[:-1], True)
    cycles, sums = cycles[last], sums[last]
    changed = np.diff(sums, prepend=0) != 0
    return cycles[changed], sums[changed]


def _filled_slots(cut: Cut) -> list[Counter]:
    """Rings that a chosen warp group fills or reads, from the whole launch, so that what is left out counts too."""
    whole = cut.launch if cut.whole is None else cut.whole
    chosen = {(track.cta, track.name) for track in cut.launch.tracks if track.kind == TrackKind.WARP_GROUP}
    ctas = sorted({cta for cta, _ in chosen})
    found: list[Counter] = []
    for first in range(0, len(ctas), size := max(_TOGETHER, len(ctas) // 16 + 1)):
        some = ctas[first : first + size]
        for cta, slots, ring, users in [*_rings(whole, some), *_tensor_rings(whole, some)]:
            if not any((user.cta, user.name) in chosen for user in users):
                continue
            fills = ring.fills
            late = int(max(cut.end, fills.landed.max(initial=0))) + 1
            cycles, values = _steps(fills.landed, np.where(fills.released == NEVER, late, fills.released))
            cycles, values = _within(cycles, values, cut)
            if len(cycles):
                low, high = min(slots), max(slots)
                which = f"[{low}]" if low == high else f"[{low}:{high + 1}]"
                found.append(Counter(cta, f"{ring.buffer}{which} filled", "slots", cycles, values))
    return found


def _within(cycles: _Int64, values: _Int64, cut: Cut) -> tuple[_Int64, _Int64]:
    """The steps from `cut.begin` on up to `cut.end`, with what holds at its begin."""
    low = int(np.searchsorted(cycles, cut.begin, side="right")) - 1
    high = int(np.searchsorted(cycles, cut.end, side="right"))
    low = max(low, 0)
    return np.maximum(cycles[low:high], cut.begin), values[low:high]


def _tensor_rings(launch: LaunchTrace, ctas: Sequence[int]) -> Iterator[tuple[int, list[int], FilledRing, list[Track]]]:
    """The same for slots of tensor memory."""
    if not has_tensor_memory(launch):
        return
    used = np.array([*(site.kind in _TENSOR_KINDS for site in launch.sites), False], dtype=np.bool_)
    few = replace(launch, events=launch.events.select(used[launch.events["site"]]))
    for cta in ctas:
        for ring in tensor_rings(few, cta):
            users = [launch.tracks[row] for row in (*ring.producers, *ring.consumers)]
            yield cta, list(ring.slots), ring, users


def _rings(launch: LaunchTrace, ctas: Sequence[int]) -> Iterator[tuple[int, list[int], FilledRing, list[Track]]]:
    """The rings of these CTAs, each with its CTA, its slots and the tracks of who fills and reads it.

    All CTAs are taken for one, in which each has slots of its own: one question is asked faster than many.
    """
    events, tracks = launch.events, launch.tracks
    if not len(events) or not any(track.kind == TrackKind.TMA for track in tracks):
        return
    kinds = (*_RING_KINDS, *_TENSOR_RELEASES) if has_tensor_memory(launch) else _RING_KINDS
    used = np.array([*(site.kind in kinds for site in launch.sites), False], dtype=np.bool_)[events["site"]]
    here = np.isin([track.cta for track in tracks], ctas)
    # In a cluster those too whose events are named, as of who issued a copy for all.
    by = events["released_by"]
    named = by[here[events["track"]] & used & (by >= 0)]
    together = {*ctas, *(tracks[track].cta for track in np.flatnonzero(np.bincount(events["track"][named])).tolist())}
    order = {cta: place for place, cta in enumerate([*ctas, *sorted(together - set(ctas))])}
    place_of_track = np.array([order.get(track.cta, -1) for track in tracks], dtype=np.int32)
    place = place_of_track[events["track"]]
    own = events.select(used & (place >= 0))
    if not len(own):
        return
    each = int(own["slot"].max()) + 1
    slot = np.where(own["slot"] >= 0, own["slot"] + place_of_track[own["track"]] * each, own["slot"])
    # Nobody asks for rings of the others.
    joined = [replace(track, cta=0 if track.cta in ctas else 1) for track in tracks]
    for ring in filled_rings(replace(launch, tracks=joined, events=Events({**own.columns, "slot": slot})), 0):
        users = [tracks[row] for row in (*ring.producers, *ring.consumers)]
        yield ctas[ring.slots[0] // each], [slot % each for slot in ring.slots], ring, users
