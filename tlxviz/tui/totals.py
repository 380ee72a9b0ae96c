"""What the lanes did in a stretch of time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from tlxviz.trace.model import LaunchTrace
from tlxviz.tui.lane import Lane
from tlxviz.tui.looks import Look
from tlxviz.tui.window import Window
from tlxviz.tui.words import site_name


@dataclass(frozen=True, slots=True)
class LaneTotals:
    """One lane."""

    label: str
    lane: Lane
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
        made.append(LaneTotals(lane.label, lane, kinds, end - begin))
    return made


def stalls(launch: LaunchTrace, lane: Lane, span: Window) -> list[tuple[str, int]]:
    """What a lane's agent waited for in a stretch of time, and SM cycles of each, most first: `wait a_full`."""
    part = lane.slices.within(span.begin, span.end)
    slices = lane.slices
    waits = (slices.look[part] == Look.WAIT) & (slices.event[part] >= 0)
    begin, end = slices.begin[part][waits], slices.end[part][waits]
    inside = np.minimum(end, span.end) - np.maximum(begin, span.begin)
    sites = launch.events["site"][slices.event[part][waits]]
    made: dict[str, int] = {}
    for site in np.unique(sites).tolist():
        name = site_name(launch, lane.track, int(site))
        made[name] = made.get(name, 0) + int(inside[sites == site].sum())
    return sorted(((name, cycles) for name, cycles in made.items() if cycles), key=lambda each: -each[1])
