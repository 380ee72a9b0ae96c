"""The stretch of time in which some iterations of a loop run."""

from __future__ import annotations

from dataclasses import replace

from tlxviz._errors import UsageError
from tlxviz.analysis.occupation import longest_cta, occupation
from tlxviz.analysis.stretch import Stretch, stretch_of_iterations
from tlxviz.exports.selection import Selection
from tlxviz.trace.model import LaunchTrace


def of_iterations(launch: LaunchTrace, number: int, selection: Selection, first: int, after: int) -> Selection:
    """The selection with the stretch of iterations `first` to `after - 1` of the innermost loop.

    They are those of the warp group that waits least, in the first of the chosen CTAs, or else in the one that took
    longest. Raises UsageError where launch `number` has none of them.
    """
    occupied = occupation(launch)
    traced = {track.cta for track in launch.tracks}
    chosen = [each for each in selection.ctas or () if each in traced]
    cta = chosen[0] if chosen else longest_cta(launch, occupied.lower, occupied.upper)
    found = stretch_of_iterations(launch, occupied, cta, first, after) if cta is not None else None
    if found is None:
        raise UsageError(f"launch {number} ({launch.kernel}) has no loop whose iterations were recorded.")
    if not isinstance(found, Stretch):
        low, high = found
        raise UsageError(
            f"launch {number} ({launch.kernel}) has no iterations {first}:{after} in CTA {cta}: "
            f"it has {low}:{high + 1}."
        )
    return replace(selection, cycles=(found.begin, found.end))
