"""`tlxviz check --replay ID -o FILE`: what a schedule does, as a trace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tlxviz.commands import streams
from tlxviz.commands.backend import Checker
from tlxviz.commands.base import operand
from tlxviz.commands.output import Output

if TYPE_CHECKING:
    from tlxviz.check.checker import Checked
    from tlxviz.ir.program import Program
    from tlxviz.sim.errors import SimulationError
    from tlxviz.sim.model import CaughtLaunch
    from tlxviz.trace.model import LaunchTrace


class Recorded:
    """A checker that keeps the traces of the launches that it checks.

    Args:
        checker: The checker.
        wanted: Whether traces are kept at all.
    """

    def __init__(self, checker: Checker, *, wanted: bool) -> None:
        self._checker = checker
        self._wanted = wanted
        self._traces: list[LaunchTrace] = []

    def check(self, launch: CaughtLaunch) -> Checked:
        checked = self._checker.check(launch)
        if self._wanted:
            self._traces.append(self._checker.trace(launch))
        return checked

    def ended(self, launch: CaughtLaunch, error: SimulationError) -> Checked:
        return self._checker.ended(launch, error)

    def read(self, program: Program) -> Checked:
        return self._checker.read(program)

    @property
    def programs(self) -> Sequence[Program]:
        return self._checker.programs

    def trace(self, launch: CaughtLaunch) -> LaunchTrace:
        return self._checker.trace(launch)

    def save(self, output: Output, *, quiet: bool) -> None:
        """Writes the traces into one file, if there are any."""
        if not self._traces:
            return
        from tlxviz.trace.model import Trace

        name = output.save(Trace(self._traces))
        if not quiet:
            streams.note(f"trace: {name} (tlxviz view {operand(name)}, tlxviz graph {operand(name)})")
