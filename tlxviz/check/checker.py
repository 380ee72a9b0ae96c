"""Checks a launch: runs under several schedules, and what their results have in common."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count, islice

from tlxviz.check.agreement import comparable, disagreement
from tlxviz.check.authors import attributed, authored
from tlxviz.check.exploration import explored
from tlxviz.check.model import Finding, Severity
from tlxviz.check.races import Races
from tlxviz.check.runs import Ran, ending, run_under
from tlxviz.check.schedules import Pace, Schedule, adversarial
from tlxviz.check.static import added, static_findings
from tlxviz.check.static.facts import facts_of
from tlxviz.devices.model import Device
from tlxviz.ir.program import Program
from tlxviz.sim.errors import SimulationError
from tlxviz.sim.kernels import Kernels
from tlxviz.sim.model import CaughtLaunch
from tlxviz.sim.watched import all_matter, some_clusters, trace_paced
from tlxviz.trace.model import LaunchTrace

SCHEDULES = 20
"""That a launch runs under, unless somebody says otherwise."""
STEPS = 40_000
"""Of event loops, after which a launch runs under no other schedule unless somebody gives seconds: a few seconds."""
_FEW = 64
"""CTAs that may all run with values, several times."""
_TURNS = 4
"""Clusters that take turns under schedules other than the usual one."""


@dataclass(frozen=True, slots=True)
class Checked:
    """What became of a launch."""

    kernel: str
    findings: tuple[Finding, ...]
    ctas: int
    """CTAs that ran."""
    schedules: int = 1
    """Schedules that they ran under."""
    ended: bool = False
    """Whether it hangs, or does what hardware leaves undefined, so that nothing is gained by running it again."""


class Checker:
    """Checks launches.

    Args:
        device: The GPU to simulate.
        schedules: How many schedules to run each launch under, the usual one among them.
        replay: The only schedule to run under instead.
        seconds: After which no other schedule of a launch is begun.
    """

    def __init__(
        self,
        device: Device,
        *,
        schedules: int = SCHEDULES,
        replay: Schedule | None = None,
        seconds: float = math.inf,
    ) -> None:
        self._device = device
        self._schedules = schedules
        self._replay = replay
        self._seconds = seconds
        self._kernels = Kernels(device)

    def check(self, launch: CaughtLaunch) -> Checked:
        """Looks for faults in one launch; its outputs stay as they are.

        Raises:
            UnsupportedOperation: the simulator cannot run it.
            LaunchLimitError: it asks for more than the device has.
        """
        program = self._kernels.program(launch)
        clusters = _rotated(launch, program)

        def run(schedule: Schedule) -> Ran:
            return run_under(launch, self._device, self._kernels, schedule)

        deadline, steps = time.monotonic() + self._seconds, STEPS if self._seconds == math.inf else math.inf
        result = explored(run, self._chosen(program, clusters), deadline, steps)
        found = list(result.findings)
        if self._replay is not None:
            found = [replace(finding, schedule=str(self._replay)) for finding in found]
        cheap = bool(clusters) or result.ctas <= _FEW
        clean = not any(finding.severity is Severity.ERROR for finding in found)
        if clean and cheap and self._replay is None and self._schedules > 1 and comparable(launch, program):
            differs = disagreement(launch, self._device, self._kernels, clusters[:1])
            found += [differs] if differs else []
        if self._replay is None:
            clean = not any(finding.severity is Severity.ERROR for finding in found)
            found = added(found, static_findings(program, self._device, facts_of(launch), ways=clean))
        return self._checked(launch, program, found, result.ctas, result.schedules, ended=result.ended)

    @property
    def programs(self) -> Sequence[Program]:
        """The kernels that it has seen."""
        return self._kernels.programs

    def trace(self, launch: CaughtLaunch) -> LaunchTrace:
        """What the first CTAs of a launch do under the schedule to run under instead, or under the usual one."""
        schedule = self._replay or Schedule()
        clusters = schedule.clusters or _rotated(launch, self._kernels.program(launch))[:1]
        try:
            return trace_paced(launch, self._device, self._kernels, Pace(schedule), clusters=clusters)
        finally:
            self._kernels.bind(())

    def read(self, program: Program) -> Checked:
        """What the text of a kernel alone shows: nothing runs."""
        by_author = authored(program, {})
        found = static_findings(program, self._device)
        return Checked(program.name, tuple(attributed(each, by_author=by_author) for each in found), 0, schedules=0)

    def ended(self, launch: CaughtLaunch, error: SimulationError) -> Checked:
        """What an error shows by which a launch has ended that was executed and not checked.

        Raises:
            SimulationError: the error itself, where it is no fault of the kernel.
        """
        program = self._kernels.program(launch)
        return self._checked(launch, program, [ending(error, program, Races())], 0, 0, ended=True)

    @staticmethod
    def _checked(
        launch: CaughtLaunch, program: Program, findings: Sequence[Finding], ctas: int, schedules: int, *, ended: bool
    ) -> Checked:
        by_author = authored(program, launch.metadata)
        found = tuple(attributed(finding, by_author=by_author) for finding in findings)
        return Checked(launch.kernel, found, ctas, schedules, ended)

    def _chosen(self, program: Program, clusters: Sequence[int]) -> Iterator[Schedule]:
        """The schedules to run under. All but the first run one cluster each, if those have nothing to do with each
        other."""
        if self._replay is not None:
            yield self._replay
            return
        turns = count(1)
        for schedule in islice(adversarial(program), self._schedules):
            alone = schedule.delays and clusters
            yield replace(schedule, clusters=(clusters[next(turns) % len(clusters)],)) if alone else schedule


def _rotated(launch: CaughtLaunch, program: Program) -> tuple[int, ...]:
    """Numbers of the clusters that take turns; none where all have to run."""
    if all_matter(program):
        return ()
    return tuple(some_clusters(math.prod(launch.grid) // math.prod(program.cluster), _TURNS))
