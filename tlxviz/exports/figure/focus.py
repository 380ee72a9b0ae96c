"""What a figure shows of a launch where nobody says: a CTA, and some iterations of its steady state."""

from __future__ import annotations

from dataclasses import replace

from tlxviz.analysis.occupation import Occupation, occupation
from tlxviz.analysis.stretch import typical_stretch
from tlxviz.exports.selection import Selection
from tlxviz.trace.model import LaunchTrace, TrackKind


def focus(launch: LaunchTrace, selection: Selection) -> Selection:
    """The selection with a CTA and a stretch of time, if it has none.

    The CTA is that whose warp groups are there for most of the chosen stretch, the longest one of equals.
    """
    if selection.ctas is not None and selection.cycles != (None, None):
        return selection
    occupied = occupation(launch)
    if selection.ctas is None:
        cta = _longest(launch, occupied, None, selection.cycles)
        if cta is None:
            return selection
        selection = replace(selection, ctas=(cta,))
    else:
        cta = _longest(launch, occupied, selection.ctas, selection.cycles)
    if selection.cycles == (None, None) and cta is not None:
        found = typical_stretch(launch, occupied, cta)
        if found is not None:
            selection = replace(selection, cycles=(found.begin, found.end))
    return selection


def _longest(
    launch: LaunchTrace, occupied: Occupation, ctas: tuple[int, ...] | None, cycles: tuple[int | None, int | None]
) -> int | None:
    found: list[tuple[int, int, int]] = []
    for row, track in enumerate(launch.tracks):
        if track.kind is TrackKind.WARP_GROUP and (ctas is None or track.cta in ctas):
            begin, end = int(occupied.lower[row]), int(occupied.upper[row])
            first = begin if cycles[0] is None else max(begin, cycles[0])
            last = end if cycles[1] is None else min(end, cycles[1])
            found.append((-max(last - first, 0), begin - end, track.cta))
    return min(found)[2] if found else None
