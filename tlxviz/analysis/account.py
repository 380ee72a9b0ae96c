"""All that the analysis finds out about a launch, each part computed when it is first asked for."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from tlxviz.analysis.attribution import GroupAttribution, summed
from tlxviz.analysis.compiled import Compiled, compiled
from tlxviz.analysis.dependencies import dependencies
from tlxviz.analysis.flow import DataFlow, data_flow
from tlxviz.analysis.groups import WarpGroup, warp_groups
from tlxviz.analysis.links import Dependencies
from tlxviz.analysis.occupation import Int64, Occupation, occupation
from tlxviz.analysis.operands import Operands
from tlxviz.analysis.parts import Parts
from tlxviz.analysis.path import CriticalPath, path_along
from tlxviz.analysis.rings import Ring, rings
from tlxviz.analysis.roofline import Roofline, roofline
from tlxviz.analysis.site_totals import SiteTotals
from tlxviz.analysis.slack import BarrierSlack, barrier_slacks, slacks
from tlxviz.analysis.steady import SteadyState, steady_states
from tlxviz.analysis.strip import Strip, steady_strip
from tlxviz.analysis.sums import Sums
from tlxviz.analysis.utilisation import Coverage, Utilisation, coverage, utilisation
from tlxviz.ir import TtgirError, load_program, name_from_source
from tlxviz.ir.program import Program
from tlxviz.trace.model import LaunchTrace


class Account:
    """What a launch did and why. Units are those of the parts."""

    def __init__(self, launch: LaunchTrace) -> None:
        self.launch = launch

    @cached_property
    def groups(self) -> list[WarpGroup]:
        return warp_groups(self.launch)

    @cached_property
    def parts(self) -> Parts:
        return Parts(self.launch)

    @cached_property
    def lives(self) -> Int64:
        """SM cycles of each track."""
        return self.parts.upper - self.parts.lower

    @cached_property
    def sums(self) -> Sums:
        return Sums(self.launch, self.groups, self.parts)

    @property
    def totals(self) -> SiteTotals:
        return self.sums.totals

    @cached_property
    def attribution(self) -> tuple[GroupAttribution, ...]:
        return summed(self.sums.attributor, self.groups, self.lives)

    @cached_property
    def path(self) -> CriticalPath | None:
        return path_along(self.launch, self.parts.lower, self.parts.upper, self.sums.chain)

    @cached_property
    def slack(self) -> tuple[BarrierSlack, ...]:
        return barrier_slacks(self.launch, self.dependencies, slacks(self.launch, self.dependencies))

    @cached_property
    def occupied(self) -> Occupation:
        """Of the whole launch at once, as the next. What can be asked of its parts, is."""
        return occupation(self.launch)

    @cached_property
    def dependencies(self) -> Dependencies:
        return dependencies(self.launch, self.occupied)

    @cached_property
    def steady(self) -> Mapping[str, SteadyState | None]:
        part, cta = self.sums.longest, self.sums.longest_cta
        return steady_states(part.launch, part.occupied, cta=cta) if part is not None else {}

    @cached_property
    def rings(self) -> tuple[Ring, ...]:
        part, cta = self.sums.longest, self.sums.longest_cta
        return rings(part.by_end(), part.occupied, cta=cta, steady=self.steady) if part is not None else ()

    def strip(self, columns: int) -> Strip | None:
        """The steady state in so many columns."""
        part, cta = self.sums.longest, self.sums.longest_cta
        return steady_strip(part.launch, part.occupied, cta=cta, columns=columns) if part is not None else None

    @cached_property
    def roofline(self) -> Roofline | None:
        known = self.totals.counts[: len(self.launch.agents), :-1]
        return roofline(self.launch, known.sum(axis=0), self.program)

    @cached_property
    def program(self) -> Program | None:
        """Names are those of the trace. None where there is none, or it cannot be read: whoever needs it says so."""
        launch = self.launch
        try:
            found = load_program(launch.ttgir, f"TTGIR of {launch.kernel}") if launch.ttgir else None
        except TtgirError:
            return None
        if found is not None:
            name_from_source(found, launch.source, launch.source_file, launch.source_line)
        return found

    @cached_property
    def operands(self) -> Operands | None:
        return Operands(self.launch, self.program) if self.program is not None else None

    @cached_property
    def flow(self) -> DataFlow:
        return data_flow(self.launch, self.program)

    @cached_property
    def compiled(self) -> Compiled | None:
        return compiled(self.launch, self.program)

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
