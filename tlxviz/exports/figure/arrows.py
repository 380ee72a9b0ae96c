"""The releases that a figure draws: those that ended the longest waits, as long as they stay apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tlxviz.exports.figure.lanes import Lane
from tlxviz.exports.figure.looks import Look
from tlxviz.exports.model import Cut

_MOST = 10
_LONG = 1 / 60
"""Share of what is shown from which on a wait is long enough for an arrow to be seen to end it."""
_APART = 1 / 40
"""Share of what is shown that two arrows are apart."""


@dataclass(frozen=True, slots=True)
class Arrow:
    source: int
    """Position of the lane of what released."""
    source_level: int
    begin: float
    """SM cycle at which that ended."""
    target: int
    """Position of the lane of the wait."""
    end: float
    """SM cycle at which it ended."""


def arrows(cut: Cut, shown: Sequence[Lane]) -> list[Arrow]:
    """From what released to the wait that it ended, the longest waits first."""
    events = cut.launch.events
    span = cut.end - cut.begin
    place: dict[int, tuple[int, int]] = {}
    waits: list[tuple[float, int, int]] = []
    for number, lane in enumerate(shown):
        boxes = lane.boxes
        place |= dict(zip(boxes.event.tolist(), ((number, each) for each in boxes.level.tolist()), strict=True))
        some = np.flatnonzero((boxes.look == Look.WAIT) & (boxes.event >= 0))
        waits += [(float(boxes.end[each] - boxes.begin[each]), int(boxes.event[each]), number) for each in some]
    found: list[Arrow] = []
    for length, event, number in sorted(waits, key=lambda each: (-each[0], each[1])):
        by, end = int(events["released_by"][event]), int(events["end"][event])
        if length < _LONG * span or len(found) == _MOST:
            break
        if by < 0 or by not in place or not cut.begin <= int(events["end"][by]) <= end < cut.end:
            continue
        source, level = place[by]
        begin = int(events["end"][by])
        if source != number and begin > int(events["begin"][event]) and _apart(end, found, span):
            found.append(Arrow(source, level, begin, number, end))
    return found


def _apart(end: int, found: Sequence[Arrow], span: int) -> bool:
    return all(abs(end - each.end) >= _APART * span for each in found)
