"""All that the analysis finds out about a launch, each part computed when it is first asked for."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from tlxviz.analysis.attribution import GroupAttribution, attribution
from tlxviz.analysis.compiled import Compiled, compiled
from tlxviz.analysis.dependencies import Dependencies, dependencies
from tlxviz.analysis.groups import WarpGroup, warp_groups
from tlxviz.analysis.occupation import Occupation, occupation
from tlxviz.analysis.path import CriticalPath, critical_path
from tlxviz.analysis.rings import Ring, rings
from tlxviz.analysis.roofline import Roofline, roofline
from tlxviz.analysis.site_totals import SiteTotals, site_totals
from tlxviz.analysis.slack import BarrierSlack, barrier_slacks, slacks
from tlxviz.analysis.steady import SteadyState, steady_states
from tlxviz.analysis.utilisation import Coverage, Utilisation, coverage, utilisation
from tlxviz.trace.model import LaunchTrace


class Account:
    """What a launch did and why. Units are those of the parts."""

    def __init__(self, launch: LaunchTrace) -> None:
        self.launch = launch

    @cached_property
    def groups(self) -> list[WarpGroup]:
        return warp_groups(self.launch)

    @cached_property
    def occupied(self) -> Occupation:
        return occupation(self.launch)

    @cached_property
    def totals(self) -> SiteTotals:
        return site_totals(self.launch, self.groups, self.occupied)

    @cached_property
    def dependencies(self) -> Dependencies:
        return dependencies(self.launch, self.occupied)

    @cached_property
    def attribution(self) -> tuple[GroupAttribution, ...]:
        return attribution(self.launch, self.groups, self.occupied, self.dependencies)

    @cached_property
    def path(self) -> CriticalPath | None:
        return critical_path(self.launch, self.occupied, self.dependencies)

    @cached_property
    def slack(self) -> tuple[BarrierSlack, ...]:
        return barrier_slacks(self.launch, self.dependencies, slacks(self.launch, self.dependencies))

    @cached_property
    def steady(self) -> Mapping[str, SteadyState | None]:
        return steady_states(self.launch, self.occupied)

    @cached_property
    def rings(self) -> tuple[Ring, ...]:
        return rings(self.launch, self.occupied, steady=self.steady)

    @cached_property
    def roofline(self) -> Roofline | None:
        return roofline(self.launch)

    @cached_property
    def compiled(self) -> Compiled | None:
        return compiled(self.launch)

    @cached_property
    def utilisation(self) -> Utilisation:
        return utilisation(self.launch)

    @cached_property
    def coverage(self) -> Coverage:
        return coverage(self.launch)

    @property
    def ended(self) -> bool:
        """Whether the launch ended and was recorded to its end: else shares say little."""
        return self.launch.complete and self.launch.hang is None and self.launch.cycles > 0

    def multiplying(self) -> list[GroupAttribution]:
        """Warp groups that issue products."""
        names = {
            self.launch.agents[site.agent].name
            for site in self.launch.sites
            if site.kind == "mma" and 0 <= site.agent < len(self.launch.agents)
        }
        return [each for each in self.attribution if each.name in names and each.cycles]
