"""Checks the launches of a program as it makes them, each distinct one once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, TypeVar

from tlxviz._errors import ExitCode
from tlxviz.check.checker import Checked
from tlxviz.check.report import CheckReport, LaunchReport, Unchecked, gather
from tlxviz.check.source import Source
from tlxviz.check.suppress import suppress
from tlxviz.sim.errors import LaunchLimitError, SimulationError, UnsupportedOperation
from tlxviz.sim.model import CaughtLaunch

Caught = TypeVar("Caught", bound=CaughtLaunch)
Result = TypeVar("Result")


class LaunchChecker(Protocol):
    """Looks for faults in launches."""

    def check(self, launch: CaughtLaunch) -> Checked:
        """Raises UnsupportedOperation where it cannot."""
        ...

    def ended(self, launch: CaughtLaunch, error: SimulationError) -> Checked:
        """What an error that has ended a launch shows."""
        ...


class Stopped(SimulationError):
    """A launch is given up, because it hangs or does what hardware leaves undefined.

    Args:
        report: What was found.
    """

    exit_code = ExitCode.FINDINGS

    def __init__(self, report: LaunchReport) -> None:
        rules = ", ".join(dict.fromkeys(finding.rule for finding in report.findings))
        super().__init__(f"kernel {report.kernel} does not get to its end ({rules})")
        self.report = report


@dataclass(frozen=True, slots=True)
class _Outcome:
    report: LaunchReport
    ended: bool


class Session(Generic[Caught, Result]):
    """Checks launches, and then has them executed.

    Args:
        checker: Checks one.
        execute: Executes one.
        wanted: Says which launches are checked, by kernel and number of the launch of that kernel, from 0.
        hear: Is told what was found in each launch, also where an equal one was checked before.
    """

    def __init__(
        self,
        checker: LaunchChecker,
        execute: Callable[[Caught], Result],
        *,
        wanted: Callable[[str, int], bool] = lambda kernel, number: True,
        hear: Callable[[LaunchReport], object] = lambda report: None,
    ) -> None:
        self._checker = checker
        self._execute = execute
        self._wanted = wanted
        self._hear = hear
        self._seen: dict[tuple[Any, ...], _Outcome] = {}
        self._launched: dict[str, int] = {}
        self._unchecked: list[Unchecked] = []

    @property
    def checked(self) -> bool:
        """Whether there was a launch to check."""
        return bool(self._seen or self._unchecked)

    def report(self, device: str, more: Sequence[LaunchReport] = ()) -> CheckReport:
        """What has been found so far on a device of that name, and `more`."""
        return gather(device, [*(outcome.report for outcome in self._seen.values()), *more], self._unchecked)

    def execute(self, launch: Caught) -> Result:
        """Check a launch, unless an equal one was, and execute it.

        Raises:
            Stopped: it hangs or does what hardware leaves undefined; where the check shows it, it was not executed.
            SimulationError: as `execute` raises it.
        """
        __tracebackhide__ = True  # pytest leaves out such frames
        if not launch.counted:
            return self._execute(launch)
        number = self._launched.get(launch.kernel, 0)
        self._launched[launch.kernel] = number + 1
        if not self._wanted(launch.kernel, number):
            return self._execute(launch)
        key = _key(launch)
        outcome = self._seen.get(key)
        if outcome is None:
            try:
                outcome = self._note(key, launch, number, self._checker.check(launch))
            except UnsupportedOperation as error:
                self._unchecked.append(Unchecked(launch.kernel, str(error)))
                return self._execute(launch)
        self._hear(outcome.report)
        if outcome.ended:
            raise Stopped(outcome.report)
        try:
            return self._execute(launch)
        except (UnsupportedOperation, LaunchLimitError):
            raise
        except SimulationError as error:
            outcome = self._note(key, launch, number, self._checker.ended(launch, error), outcome.report)
            self._hear(outcome.report)
            raise Stopped(outcome.report) from error

    def _note(
        self,
        key: tuple[Any, ...],
        launch: Caught,
        number: int,
        checked: Checked,
        before: LaunchReport | None = None,
    ) -> _Outcome:
        source = Source(launch.source, launch.source_file, launch.source_line)
        findings = suppress([replace(each, launch=number) for each in checked.findings], launch.kernel, source)
        report = LaunchReport(launch.kernel, source, findings, 1, checked.ctas, checked.schedules)
        if before is not None:
            known = set(map(_same, before.findings))
            more = [each for each in findings if _same(each) not in known]
            report = replace(before, findings=(*before.findings, *more))
        self._seen[key] = _Outcome(report, checked.ended)
        return self._seen[key]


def _same(finding: Any) -> tuple[Any, ...]:
    return finding.rule, finding.places


def _key(launch: CaughtLaunch) -> tuple[Any, ...]:
    """What tells launches apart: the kernel, the grid, scalars, and the shapes that descriptors are made for."""
    return launch.kernel, launch.ttgir, launch.grid, tuple(_told(value) for _, value in launch.parameters)


def _told(value: Any) -> Any:
    if isinstance(value, (bool, int, float, str)):
        return type(value), value  # True is not 1
    shape, strides, block = (getattr(value, name, None) for name in ("shape", "strides", "block"))
    return (tuple(shape), strides, tuple(block)) if block is not None and shape is not None else None
