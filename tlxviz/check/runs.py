"""One run of a launch under a schedule, and what it shows."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace

from tlxviz.check.explain import findings_of
from tlxviz.check.hangs import finding_of_hang
from tlxviz.check.history import Seen
from tlxviz.check.model import Finding
from tlxviz.check.races import Races
from tlxviz.check.refusals import finding_of_refusal
from tlxviz.check.schedules import Pace, Schedule
from tlxviz.devices.model import Device
from tlxviz.ir.program import Program
from tlxviz.sim.dispatch import Outcome
from tlxviz.sim.errors import HangError, LaunchLimitError, SimulationError, UnsupportedOperation
from tlxviz.sim.kernels import Kernels
from tlxviz.sim.model import CaughtLaunch
from tlxviz.sim.watched import watch


@dataclass(frozen=True, slots=True)
class Ran:
    """What a run shows."""

    findings: tuple[Finding, ...]
    ended: Finding | None
    """What ended it early: a hang, or a refusal of the simulator."""
    ctas: int
    """CTAs that ended."""
    steps: int
    """Entries that event loops have had: what the run cost."""

    @property
    def all(self) -> list[Finding]:
        """The findings with that which ended it."""
        return [*self.findings, *([self.ended] if self.ended else [])]


def run_under(launch: CaughtLaunch, device: Device, kernels: Kernels, schedule: Schedule) -> Ran:
    """Runs a launch under a schedule; its outputs stay as they are.

    Raises:
        UnsupportedOperation: the simulator cannot run it.
    """
    program = kernels.program(launch)
    races = Races(Pace(schedule))
    ended: Finding | None = None
    outcome = Outcome([], [])
    try:
        watch(launch, device, kernels, races, clusters=schedule.clusters, outcome=outcome)
    except (UnsupportedOperation, LaunchLimitError):
        raise
    except SimulationError as error:
        ended = ending(error, program, races)
    finally:
        kernels.bind(())
    return Ran(tuple(together(findings_of(races, program))), ended, outcome.done, outcome.steps)


def ending(error: SimulationError, program: Program, races: Races) -> Finding:
    """The finding that an error of the simulator stands for, after what an observer saw before it.

    Raises:
        SimulationError: the error itself, where it is no fault of the kernel.
    """
    if isinstance(error, HangError):
        return finding_of_hang(error.report, program, Seen(races, program))
    found = finding_of_refusal(error, program)
    if found is None:
        raise error
    return found


def together(findings: Iterable[Finding]) -> list[Finding]:
    """One finding of those that say the same of the same lines, as where a loop is unrolled."""
    found: dict[Hashable, Finding] = {}
    for finding in findings:
        key = key_of(finding)
        first = found.get(key)
        found[key] = finding if first is None else replace(first, times=first.times + finding.times)
    return list(found.values())


def key_of(finding: Finding) -> Hashable:
    """The same for findings that say the same of the same lines."""
    places = [(place.role, place.location.file, place.location.line, place.variable) for place in finding.places]
    return finding.rule, finding.severity, *places
