"""What the lanes did in a stretch of time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from tlxviz.tui.lane import Lane
from tlxviz.tui.looks import Look
from tlxviz.tui.window import Window


@dataclass(frozen=True, slots=True)
class LaneTotals:
    """One lane."""

    label: str
    cycles: Mapping[Look, int]
    """SM cycles of each kind of slice, most first; without `AWAY`."""
    alive: int
    """SM cycles of the stretch in which the lane's agent ran."""

    @property
    def waiting(self) -> float:
        """Share of `alive` that it waited; 0 if it never ran."""
        return self.cycles.get(Look.WAIT, 0) / self.alive if self.alive else 0.0


def totals(lanes: Iterable[Lane], span: Window) -> list[LaneTotals]:
    """Of each lane that shows what a track did, in their order; without the lanes in it, for slices that overlap."""
    edges = np.array([span.begin, span.end], np.int64)
    keys: set[str] = set()
    made: list[LaneTotals] = []
    for lane in lanes:
        if lane.track < 0 or lane.parent in keys:
            continue
        keys.add(lane.key)
        cycles = lane.slices.coverage(edges)[:, 0]
        begin, end = (min(max(each, span.begin), span.end) for each in lane.slices.life)
        order: list[int] = np.argsort(-cycles, kind="stable").tolist()
        kinds = {Look(each): int(cycles[each]) for each in order if cycles[each] and each != Look.AWAY}
        made.append(LaneTotals(lane.label, kinds, end - begin))
    return made
