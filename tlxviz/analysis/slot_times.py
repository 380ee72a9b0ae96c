"""What each slot that TMA fills, or of tensor memory, is at each time: being filled, full, being read, or free."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tlxviz.analysis.occupation import longest_cta, occupation
from tlxviz.analysis.ring_fills import NEVER, FilledRing, Fills, filled_rings
from tlxviz.analysis.stretch import Stretch, typical_stretch
from tlxviz.analysis.tensor_rings import tensor_rings
from tlxviz.trace.model import LaunchTrace

FREE, FILL, FULL, READ = "-", "f", "u", "r"
"""Letters of `SlotTimes.states`: nobody's, being filled, full and not read yet, being read until it is given back."""

COLUMNS = 96
"""Parts of the stretch, of which each has a state."""
SUMS = 8
"""Parts of the stretch for which bytes in use are told."""


@dataclass(frozen=True, slots=True)
class SlotTimes:
    cta: int
    begin: int
    """SM cycle."""
    end: int
    """SM cycle."""
    agent: str
    """Whose iterations these are; empty where none iterates."""
    iterations: int
    states: dict[str, dict[int, str]]
    """By the buffer's name in the trace, and slot: a letter for each of `COLUMNS` parts of the stretch, what the slot
    is in its middle."""
    in_use: tuple[int, ...]
    """Mean bytes of slots in shared memory that are not free, in each of `SUMS` parts."""


def slot_times(launch: LaunchTrace) -> SlotTimes | None:
    """Over a few iterations of the CTA that took longest, or over some tiles: until each accumulator has changed hands.

    Returns:
        None where nothing was traced, or no buffer has slots that TMA fills or that are in tensor memory.
    """
    occupied = occupation(launch)
    cta = longest_cta(launch, occupied.lower, occupied.upper)
    stretch = typical_stretch(launch, occupied, cta) if cta is not None else None
    if cta is None or stretch is None:
        return None
    found_rings = [*filled_rings(launch, cta), *tensor_rings(launch, cta)]
    stretch = _with_tiles(stretch, [ring for ring in found_rings if ring.tensor])
    edges = np.linspace(stretch.begin, stretch.end, COLUMNS + 1)
    times = (edges[1:] + edges[:-1]) / 2
    states: dict[str, dict[int, str]] = {}
    taken = np.zeros(COLUMNS)
    for ring in found_rings:
        for slot in ring.slots:
            found = _states(ring.fills, slot, times)
            if not ring.tensor:
                taken += np.array([each != FREE for each in found]) * ring.bytes
            states.setdefault(ring.buffer, {})[slot] = found
    if not states:
        return None
    sums = taken.reshape(SUMS, -1).mean(axis=1)
    return SlotTimes(
        cta,
        stretch.begin,
        stretch.end,
        stretch.agent,
        stretch.iterations,
        {name: dict(sorted(slots.items())) for name, slots in states.items()},
        tuple(round(each) for each in sums.tolist()),
    )


def _with_tiles(stretch: Stretch, rings: list[FilledRing]) -> Stretch:
    """The stretch, if each ring of tensor memory is read and filled anew in it; else a longer one.

    That is from one fill to the next of the same slot, and one slot further, of the ring that needs the longest; in
    the middle of its fills. It is no number of iterations.
    """
    longer: list[tuple[int, int]] = []
    for ring in rings:
        fills = ring.fills
        inside = (fills.read >= stretch.begin) & (fills.read < stretch.end)
        again = (fills.acquired >= stretch.begin) & (fills.acquired < stretch.end)
        if inside.any() and again.any():
            continue
        times = np.unique(fills.acquired)
        turns = min(len(ring.slots) + 1, len(times) - 1)
        if turns > 0:
            first = (len(times) - 1 - turns) // 2
            longer.append((int(times[first]), int(times[first + turns])))
        else:
            last = max(int(column.max()) for column in (fills.landed, fills.read, fills.released))
            longer.append((int(times[0]), last))
    if not longer:
        return stretch
    begin, end = max(longer, key=lambda each: each[1] - each[0])
    return Stretch(begin, end) if end > begin else stretch


def _states(fills: Fills, slot: int, times: NDArray[np.float64]) -> str:
    own = fills.take(fills.slot == slot)
    if not len(own.slot):
        return FREE * len(times)
    at = np.searchsorted(own.acquired, times, side="right") - 1
    last = np.maximum(at, 0)
    never = np.iinfo(np.int64).max
    landed, read, released = (
        np.where(column == NEVER, never, column)[last] for column in (own.landed, own.read, own.released)
    )
    found = np.select(
        [at < 0, times < landed, times >= released, times >= read], [FREE, FILL, FREE, READ], default=FULL
    )
    return "".join(found.tolist())
