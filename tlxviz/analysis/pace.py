"""Which warp group of a CTA sets the pace: the one that waits least."""

from __future__ import annotations

from collections.abc import Mapping

from tlxviz.analysis.occupation import Occupation
from tlxviz.analysis.steady import SteadyState, steady_states
from tlxviz.trace.model import LaunchTrace, TrackKind
from tlxviz.trace.vocabulary import Work, work_of_events


def by_pace(
    launch: LaunchTrace, occupied: Occupation, cta: int, steady: Mapping[str, SteadyState | None] | None = None
) -> list[int]:
    """Tracks of the warp groups of a CTA, the one that sets the pace first.

    Those with a steady state stand first, by the share of it that they wait, since how long they fill or drain the
    pipeline says nothing of it; then the others, by the share of their time that they wait.

    Args:
        steady: The CTA's steady states, where they are known.
    """
    known = steady_states(launch, occupied, cta=cta, worst=0) if steady is None else steady
    work = work_of_events(launch)[occupied.row]

    def waiting(row: int) -> tuple[bool, float]:
        found = known.get(launch.tracks[row].name)
        if found is not None and found.intervals.mean > 0:
            return False, found.wait / found.intervals.mean
        part = occupied.of_track(row)
        waits = int(occupied.cycles[part][work[part] == Work.WAIT].sum())
        span = int(occupied.upper[row] - occupied.lower[row])
        return True, waits / span if span > 0 else 1.0

    groups = [row for row, track in enumerate(launch.tracks) if track.cta == cta and track.kind is TrackKind.WARP_GROUP]
    return sorted(groups, key=waiting)
