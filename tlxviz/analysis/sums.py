"""What is added up over the parts of a launch, in one pass."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tlxviz.analysis.attributor import Attributor
from tlxviz.analysis.chains import Stretch
from tlxviz.analysis.dependencies import linked
from tlxviz.analysis.groups import WarpGroup, group_of_track
from tlxviz.analysis.links import Dependencies
from tlxviz.analysis.occupation import longest_cta
from tlxviz.analysis.parts import Part, Parts
from tlxviz.analysis.path import chain_in_part
from tlxviz.analysis.site_totals import SiteTotals, site_totals
from tlxviz.analysis.waits import Releases
from tlxviz.trace.model import LaunchTrace, TrackKind
from tlxviz.trace.vocabulary import Work

Int64 = NDArray[np.int64]


class Sums:
    """Totals over all parts, and the parts that single CTAs are looked at in."""

    def __init__(self, launch: LaunchTrace, groups: list[WarpGroup], parts: Parts) -> None:
        self._launch, self._parts = launch, parts
        self.totals = SiteTotals.nothing(len(groups), len(launch.sites))
        self.releases = Releases(launch, len(groups))
        self.attributor = Attributor(launch, len(groups))
        self.longest_cta = longest_cta(launch, parts.lower, parts.upper)
        self.longest: Part | None = None
        """The part that this CTA is in."""
        self._kept: dict[int, tuple[Part, Dependencies]] = {}
        group = group_of_track(launch, groups)
        longest, last = self._part_of_longest(), self._parts_at_the_end()
        for number in range(len(parts)):
            part = parts[number]
            made = linked(part)
            self._add(part, made, group[part.tracks])
            if number in last:
                self._kept[number] = part, made
            if number == longest:
                self.longest = part
        self.attributor.add_issues(self.totals)

    def _add(self, part: Part, made: Dependencies, group: Int64) -> None:
        self.totals = self.totals.plus(site_totals(part, group, len(self.totals.cycles)))
        waits = np.flatnonzero(made.work[part.on[TrackKind.WARP_GROUP]] == Work.WAIT)
        self.releases.add(part, group, waits)
        self.attributor.add(part, made, group)

    def chain(self, track: int) -> list[Stretch]:
        """The chain of causes that leads to the end of a track."""
        number = self._parts.of_track[track]
        if number not in self._kept:
            part = self._parts[number]
            self._kept[number] = part, linked(part)
        return chain_in_part(*self._kept[number], track)

    def _part_of_longest(self) -> int:
        ctas = [each.cta for each in self._launch.tracks]
        return self._parts.of_track[ctas.index(self.longest_cta)] if self.longest_cta is not None else -1

    def _parts_at_the_end(self) -> set[int]:
        """Those of the SM on which the launch ends, which the critical path leads through."""
        tracks, upper = self._launch.tracks, self._parts.upper.tolist()
        ends = [(upper[row], each.sm) for row, each in enumerate(tracks) if each.kind == TrackKind.WARP_GROUP]
        sm = max(ends)[1] if ends else -1
        return {self._parts.of_track[row] for row, each in enumerate(tracks) if ends and each.sm == sm}
