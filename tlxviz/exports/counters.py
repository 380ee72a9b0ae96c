"""Numbers that change over time: bytes that the TMA engine moves, slots of rings that hold data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tlxviz.analysis.ring_fills import NEVER, filled_rings
from tlxviz.exports.model import Cut
from tlxviz.trace.model import COLUMNS, Events, LaunchTrace, TrackKind

_Int64 = NDArray[np.int64]

_RING_KINDS = ("wait", "expect", "tma_load", "arrive", "mma_commit")
"""Kinds of the sites by whose events `filled_rings` finds rings."""


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
    """By CTA: bytes of copies under way, then each ring that TMA fills, as the program's copies stand."""
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
    found: list[Counter] = []
    for cta, own in _by_cta(whole, sorted({cta for cta, _ in chosen})):
        for ring in filled_rings(own, cta):
            users = [own.tracks[row] for row in (*ring.producers, *ring.consumers)]
            if not any((user.cta, user.name) in chosen for user in users):
                continue
            fills = ring.fills
            late = int(max(cut.end, fills.landed.max(initial=0))) + 1
            cycles, values = _steps(fills.landed, np.where(fills.released == NEVER, late, fills.released))
            cycles, values = _within(cycles, values, cut)
            if len(cycles):
                low, high = min(ring.slots), max(ring.slots)
                which = f"[{low}]" if low == high else f"[{low}:{high + 1}]"
                found.append(Counter(cta, f"{ring.buffer}{which} filled", "slots", cycles, values))
    return found


def _within(cycles: _Int64, values: _Int64, cut: Cut) -> tuple[_Int64, _Int64]:
    """The steps from `cut.begin` on up to `cut.end`, with what holds at its begin."""
    low = int(np.searchsorted(cycles, cut.begin, side="right")) - 1
    high = int(np.searchsorted(cycles, cut.end, side="right"))
    low = max(low, 0)
    return np.maximum(cycles[low:high], cut.begin), values[low:high]


def _by_cta(launch: LaunchTrace, ctas: Sequence[int]) -> list[tuple[int, LaunchTrace]]:
    """For each CTA the launch with its events that rings are found by, and those of other CTAs that they name."""
    events = launch.events
    if not any(track.kind == TrackKind.TMA for track in launch.tracks):
        return []
    used = np.array([*(site.kind in _RING_KINDS for site in launch.sites), False], dtype=np.bool_)
    rows = np.flatnonzero(used[events["site"]])
    if not len(rows):
        return []
    numbers = {cta: place for place, cta in enumerate(dict.fromkeys(track.cta for track in launch.tracks))}
    # Small numbers are sorted fastest.
    of_track = np.array([numbers[track.cta] for track in launch.tracks], dtype=np.min_scalar_type(len(numbers)))
    cta = of_track[events["track"]]
    order = rows[np.argsort(cta[rows], kind="stable")]
    ordered = cta[order]
    by = events["released_by"]
    linked = rows[(by[rows] >= 0) & (cta[by[rows]] != cta[rows])]
    partners: dict[int, set[int]] = {}
    if len(linked):
        pairs: list[int] = np.unique(cta[linked].astype(np.int64) * len(numbers) + cta[by[linked]]).tolist()
        for pair in pairs:
            one, other = divmod(pair, len(numbers))
            partners.setdefault(one, set()).add(other)
    found: list[tuple[int, LaunchTrace]] = []
    # One for all CTAs, since each would clear it anew.
    places = np.full(len(events) + 1, -1, dtype=np.int64)
    for each in ctas:
        number = numbers[each]
        parts = [
            order[np.searchsorted(ordered, one) : np.searchsorted(ordered, one, side="right")]
            for one in (number, *sorted(partners.get(number, ())))
        ]
        own = parts[0] if len(parts) == 1 else np.sort(np.concatenate(parts))
        places[own] = np.arange(len(own))
        columns = {name: events[name][own] for name in COLUMNS}
        columns["released_by"] = places[columns["released_by"]]
        places[own] = -1
        found.append((each, replace(launch, events=Events(columns))))
    return found
