"""The rules that need no run, and what they are given."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

from tlxviz.check.brings import Bringing, bringings
from tlxviz.check.control import loops
from tlxviz.check.model import Finding, Place, Severity
from tlxviz.check.static.courses import Course, courses
from tlxviz.check.static.facts import LaunchFacts
from tlxviz.check.static.scalars import Scalars
from tlxviz.check.subjects import Subjects
from tlxviz.devices.model import Device
from tlxviz.ir.operation import Operation
from tlxviz.ir.program import BarrierArray, Program, Site


@dataclass(frozen=True)
class Kernel:
    """A kernel, and what is known of its launch."""

    program: Program
    device: Device
    facts: LaunchFacts

    @cached_property
    def subjects(self) -> Subjects:
        return Subjects(self.program)

    @cached_property
    def scalars(self) -> Scalars:
        """Numbers outside of loops."""
        return Scalars(self.program, self.facts)

    @cached_property
    def bringings(self) -> tuple[Bringing, ...]:
        return bringings(self.program)

    @cached_property
    def courses(self) -> tuple[Course, ...]:
        return courses(self.program, self.facts)

    @cached_property
    def renewed(self) -> frozenset[int]:
        """Arrays of mbarriers that are initialised in a loop, so that their phases begin anew."""
        made = [op for op in self.program.module.walk() if op.name == "ttng.init_barrier" and loops(op)]
        roots = [self.program.roots.get(op.groups["barrier"][0]) for op in made]
        return frozenset(root.index for root in roots if isinstance(root, BarrierArray))

    @property
    def clustered(self) -> bool:
        """Whether CTAs run in clusters of more than one."""
        x, y, z = self.program.cluster
        return x * y * z > 1

    def finding(
        self, rule: str, severity: Severity, message: str, places: Iterable[Place], why: Iterable[str], advice: str
    ) -> Finding:
        """A finding about this kernel."""
        return Finding(rule, severity, self.program.name, message, tuple(dict.fromkeys(places)), tuple(why), advice)

    def place(self, site: Site, doing: str = "", slot: int = -1) -> Place:
        """A site as part of a finding."""
        said = doing or self.subjects.doing(site.operation)
        return Place(said, site.agent.name, site.location, site.variable, slot, -1)

    def place_of(self, op: Operation, doing: str, variable: str) -> Place:
        """Any other operation as part of a finding."""
        return Place(doing, self.subjects.role_of(op), self.subjects.place(op), variable, -1, -1)

    def barrier(self, array: int, slot: int) -> str:
        """`full[1]`; `full` where the slot varies."""
        name = self.program.barriers[array].name
        return name if slot < 0 else f"{name}[{slot}]"


Rule = Callable[[Kernel], Iterable[Finding]]
RULES: list[Rule] = []
"""In the order in which their modules are imported."""


def rule(function: Rule) -> Rule:
    """Makes a function one of the rules."""
    RULES.append(function)
    return function
