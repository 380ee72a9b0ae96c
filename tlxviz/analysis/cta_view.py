"""One CTA among those that its events depend on: what each event waited for, and the iterations of its loops."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tlxviz.analysis.account import Account
from tlxviz.analysis.dependencies import linked
from tlxviz.analysis.doers import doers
from tlxviz.analysis.iterations import Iterations, behind_last, loop_iterations
from tlxviz.analysis.links import Dependencies
from tlxviz.analysis.occupation import Occupation, longest_cta
from tlxviz.analysis.pace import by_pace
from tlxviz.analysis.steady import SteadyState, steady_states
from tlxviz.trace.model import LaunchTrace, TrackKind


@dataclass(frozen=True, slots=True, eq=False)
class CtaView:
    """Rows and tracks are those of `launch`, which holds the CTA and others that are linked with it."""

    cta: int
    launch: LaunchTrace
    """Events by track and begin, those of warp groups' tracks first."""
    occupied: Occupation
    made: Dependencies
    groups: tuple[int, ...]
    """Tracks of the CTA's warp groups, in the program's order."""
    loops: dict[int, Iterations]
    """Iterations of each of these that has some."""
    steady: dict[str, SteadyState | None]

    def span(self, track: int, number: int) -> tuple[int, int]:
        """First row of an iteration, and the one behind its last."""
        loop = self.loops[track]
        first, after = int(loop.first[number]), int(loop.after[number])
        if after < 0:  # the last of its pass: as far as its counters say
            after = behind_last(self.launch, self.occupied, track, first)
        return first, after

    def ends(self, track: int, number: int) -> int:
        """SM cycle at which an iteration ends: where the next begins, or else with its last event."""
        known = int(self.loops[track].end[number])
        return known if known >= 0 else int(self.made.end[self.span(track, number)[1] - 1])

    def iteration_of(self, row: int) -> int:
        """The iteration that an event of a warp group's track is in; -1 for none."""
        track = int(self.made.track[row])
        if track not in self.loops:
            return -1
        number = int(np.searchsorted(self.loops[track].first, row, side="right")) - 1
        return number if number >= 0 and row < self.span(track, number)[1] else -1

    def doer_track(self, row: int) -> int:
        """The track of the warp group behind an event; -1 for none."""
        return int(doers(self.launch, self.made, np.array([row], np.int64))[0])

    def doer(self, row: int) -> int:
        """The event of a warp group that is behind another: itself, or what issued it to an engine; -1 for none."""
        return row if self.made.on_group[row] else int(self.made.before[row])


def cta_view(account: Account, cta: int | None = None) -> CtaView | None:
    """What is known of a CTA; None where no warp group of it was traced.

    Args:
        cta: Linear number; None for the traced CTA that took longest.
    """
    tracks = account.launch.tracks
    chosen = longest_cta(account.launch, account.parts.lower, account.parts.upper) if cta is None else cta
    mine = [row for row, each in enumerate(tracks) if each.cta == chosen and each.kind is TrackKind.WARP_GROUP]
    if chosen is None or not mine:
        return None
    part = account.parts[account.parts.of_track[mine[0]]]
    launch, occupied = part.launch, part.occupied
    groups = [row for row, each in enumerate(launch.tracks) if each.cta == chosen and each.kind is TrackKind.WARP_GROUP]
    groups.sort(key=lambda row: (launch.tracks[row].agent, row))
    found = {row: loop_iterations(launch, occupied, row) for row in groups}
    return CtaView(
        cta=chosen,
        launch=launch,
        occupied=occupied,
        made=linked(part),
        groups=tuple(groups),
        loops={row: loop for row, loop in found.items() if len(loop)},
        steady=steady_states(launch, occupied, cta=chosen),
    )


def reference(view: CtaView) -> int | None:
    """The track of the warp group that sets the pace, of those that iterate; None where nobody does."""
    order = by_pace(view.launch, view.occupied, view.cta, view.steady)
    return next((row for row in order if row in view.loops), None)


def typical(view: CtaView, track: int, count: int = 1) -> int | None:
    """The first of `count` iterations of the steady state: as long as the median, and nearest to its middle.

    None where a warp group has no steady state. Where so many do not follow each other in it, one is looked for.
    """
    known, loop = view.steady.get(view.launch.tracks[track].name), view.loops.get(track)
    if known is None or loop is None:
        return None
    inside = np.flatnonzero((loop.begin >= known.begin) & (loop.end >= 0) & (loop.end <= known.end))
    last = np.minimum(inside + count - 1, len(loop) - 1)
    whole = inside[(loop.end[last] >= 0) & (loop.end[last] <= known.end)]
    inside = whole if len(whole) else inside
    last = np.minimum(inside + count - 1, len(loop) - 1)
    length = np.where(loop.end[last] >= 0, loop.end[last], loop.begin[last]) - loop.begin[inside]
    middle = np.abs(2 * loop.begin[inside] + length - known.begin - known.end)
    off = np.abs(length - np.median(length))
    return int(inside[np.lexsort((middle, off))[0]])
