"""Checks a launch: a run with an observer, and what ends it early."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tlxviz.check.explain import findings_of
from tlxviz.check.hangs import finding_of_hang
from tlxviz.check.model import Finding, Severity
from tlxviz.check.races import Races
from tlxviz.check.refusals import finding_of_refusal
from tlxviz.devices.model import Device
from tlxviz.ir.program import Program
from tlxviz.sim.errors import HangError, LaunchLimitError, SimulationError, UnsupportedOperation
from tlxviz.sim.kernels import Kernels
from tlxviz.sim.model import CaughtLaunch
from tlxviz.sim.watched import watch


@dataclass(frozen=True, slots=True)
class Checked:
    """What became of a launch."""

    kernel: str
    findings: tuple[Finding, ...]
    ctas: int
    """CTAs that ran."""
    schedules: int = 1
    """Orders of events that were tried."""
    ended: bool = False
    """Whether it hangs, or does what hardware leaves undefined, so that nothing is gained by running it again."""


class Checker:
    """Checks launches.

    Args:
        device: The GPU to simulate.
    """

    def __init__(self, device: Device) -> None:
        self._device = device
        self._kernels = Kernels(device)

    def check(self, launch: CaughtLaunch) -> Checked:
        """Looks for faults in one launch; its outputs stay as they are.

        Raises:
            UnsupportedOperation: the simulator cannot run it.
            LaunchLimitError: it asks for more than the device has.
        """
        program = self._kernels.program(launch)
        races = Races()
        ended: Finding | None = None
        ctas = 0
        try:
            ctas = watch(launch, self._device, self._kernels, races).done
        except (UnsupportedOperation, LaunchLimitError):
            raise
        except SimulationError as error:
            ended = _finding_of(error, program)
        finally:
            self._kernels.bind(())
        found = [*findings_of(races, program), *([ended] if ended else [])]
        if not _authored(launch, program):
            found = [_of_compiler(finding) for finding in found]
        return Checked(launch.kernel, tuple(_together(found)), ctas, ended=ended is not None)

    def read(self, program: Program) -> Checked:
        """What the text of a kernel alone shows: nothing runs."""
        return Checked(program.name, (), 0, schedules=0)

    def ended(self, launch: CaughtLaunch, error: SimulationError) -> Checked:
        """What an error shows by which a launch has ended that was executed and not checked."""
        finding = _finding_of(error, program := self._kernels.program(launch))
        if not _authored(launch, program):
            finding = _of_compiler(finding)
        return Checked(launch.kernel, (finding,), 0, ended=True)


def _finding_of(error: SimulationError, program: Program) -> Finding:
    """The finding that an error of the simulator stands for."""
    if isinstance(error, HangError):
        return finding_of_hang(str(error), error.report, program)
    return finding_of_refusal(error, program)


def _together(findings: Sequence[Finding]) -> Iterable[Finding]:
    """One finding of those that say the same of the same lines, as where a loop is unrolled."""
    found: dict[tuple[Any, ...], Finding] = {}
    for finding in findings:
        places = [(place.role, place.location.file, place.location.line, place.variable) for place in finding.places]
        key = finding.rule, finding.severity, *places
        first = found.get(key)
        found[key] = finding if first is None else replace(first, times=first.times + finding.times)
    return found.values()


def _authored(launch: CaughtLaunch, program: Program) -> bool:
    """Whether the kernel's barriers are its author's, and not made by the compiler: in TLX and in Gluon."""
    layouts: dict[str, Any] = launch.metadata.get("layouts") or {}
    return layouts.get("rest") == "author" or any(name.startswith("tlx.") for name in program.module.attributes)


def _of_compiler(finding: Finding) -> Finding:
    """The same as a warning: the author of the kernel can mend nothing."""
    if finding.severity is not Severity.ERROR:
        return finding
    why = (*finding.why, "the compiler made the barriers of this kernel, and not its author")
    advice = "Nothing in the kernel's source orders them: try another configuration, and tell who makes the compiler."
    return replace(finding, severity=Severity.WARNING, why=why, advice=advice)
