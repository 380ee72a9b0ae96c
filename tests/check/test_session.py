"""The launches of a program: each distinct one is checked once, before it is executed."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from tlxviz.check.checker import Checked
from tlxviz.check.model import Finding, Place, Severity
from tlxviz.check.session import Session, Stopped
from tlxviz.ir.location import Location
from tlxviz.sim.errors import HangError, LaunchLimitError, SimulationError, UnsupportedOperation


def launch(kernel: str = "k", **changes: Any) -> Any:
    made: dict[str, Any] = {
        "kernel": kernel,
        "grid": (2, 1, 1),
        "parameters": [("n", 4)],
        "ttgir": "module {}",
        "source": "def k(n):\n    load(n)\n",
        "source_file": "/k/k.py",
        "source_line": 3,
        "counted": True,
    }
    return SimpleNamespace(**(made | changes))


def finding(rule: str = "parity") -> Finding:
    place = Place("reads", "mma", Location("/k/k.py", 4, 5), "a", 0, 0)
    return Finding(rule, Severity.ERROR, "k", "wrong", (place,))


@dataclass
class FakeChecker:
    """Finds in each launch what it is told to, or raises it."""

    finds: Finding | SimulationError | None = None
    ends: bool = False
    checked: list[Any] = field(default_factory=list)

    def check(self, launch: Any) -> Checked:
        self.checked.append(launch)
        if isinstance(self.finds, SimulationError):
            raise self.finds
        return Checked(launch.kernel, (self.finds,) if self.finds else (), 2, 1, self.ends)

    def ended(self, launch: Any, error: SimulationError) -> Checked:
        return Checked(launch.kernel, (finding("circular-wait"),), 0, ended=True)


def test_equal_launches_are_checked_once_and_all_are_executed():
    checker = FakeChecker(finding())
    executed: list[Any] = []
    heard: list[str] = []
    session = Session(checker, executed.append, hear=lambda report: heard.append(report.findings[0].rule))
    for _ in range(3):
        session.execute(launch())
    assert (len(checker.checked), len(executed), heard) == (1, 3, ["parity"] * 3)
    [kernel] = session.report("GPU").kernels
    assert (kernel.launches, kernel.ctas, [each.times for each in kernel.findings]) == (1, 2, [1])


@pytest.mark.parametrize(
    "changes",
    [
        {"grid": (3, 1, 1)},
        {"parameters": [("n", 5)]},
        {"parameters": [("n", 4.0)]},
        {"ttgir": "module { }"},
        {"kernel": "other"},
    ],
)
def test_what_makes_launches_differ(changes: dict[str, Any]):
    checker = FakeChecker()
    session = Session(checker, lambda launch: None)
    session.execute(launch())
    session.execute(launch(**changes))
    assert len(checker.checked) == 2


def test_descriptors_differ_by_their_shapes():
    checker = FakeChecker()
    session = Session(checker, lambda launch: None)
    for shape in ((8, 8), (8, 8), (16, 8)):
        session.execute(launch(parameters=[("d", SimpleNamespace(shape=shape, strides=(8, 1), block=(8, 8)))]))
    assert len(checker.checked) == 2


def test_the_number_of_the_launch_is_that_of_its_kernel():
    session = Session(FakeChecker(finding()), lambda launch: None, wanted=lambda kernel, number: number == 2)
    for number in range(4):
        session.execute(launch("other"))
        session.execute(launch(parameters=[("n", number)]))
    _, kernel = session.report("GPU").kernels
    assert [each.launch for each in kernel.findings] == [2]


def test_trials_of_a_tuner_are_executed_alone():
    checker = FakeChecker()
    session = Session(checker, lambda launch: "done")
    assert session.execute(launch(counted=False)) == "done"
    assert not checker.checked
    assert not session.checked


def test_a_launch_that_hangs_in_its_check_is_not_executed():
    executed: list[Any] = []
    checker = FakeChecker(finding("circular-wait"), ends=True)
    session = Session(checker, executed.append)
    for _ in range(2):
        with pytest.raises(Stopped, match=r"kernel k does not get to its end \(circular-wait\)"):
            session.execute(launch())
    assert (len(checker.checked), executed) == (1, [])


def test_a_launch_that_hangs_when_it_is_executed_is_a_finding():
    def execute(launch: Any) -> None:
        raise HangError("it hangs", {})

    heard: list[list[str]] = []
    session = Session(FakeChecker(finding()), execute, hear=lambda r: heard.append([f.rule for f in r.findings]))
    for _ in range(2):
        with pytest.raises(Stopped):
            session.execute(launch())
    assert heard == [["parity"], ["parity", "circular-wait"], ["parity", "circular-wait"]]
    [kernel] = session.report("GPU").kernels
    assert [each.rule for each in kernel.findings] == ["parity", "circular-wait"]
    assert kernel.launches == 1


def test_what_cannot_be_checked_is_executed_and_said():
    executed: list[Any] = []
    session = Session(FakeChecker(UnsupportedOperation("no semantics for x")), executed.append)
    session.execute(launch())
    assert len(executed) == 1
    assert session.checked
    report = session.report("GPU")
    assert [(each.kernel, each.reason) for each in report.unchecked] == [("k", "no semantics for x")]
    assert report.kernels == ()


@pytest.mark.parametrize("error", [UnsupportedOperation("x"), LaunchLimitError("x")])
def test_what_is_no_fault_of_the_kernel_is_passed_on(error: SimulationError):
    def execute(launch: Any) -> None:
        raise error

    with pytest.raises(type(error)):
        Session(FakeChecker(), execute).execute(launch())


def test_comments_are_read():
    source = "def k(n):\n    load(n)  # tlxviz: ignore[parity] the host waits\n"
    session = Session(FakeChecker(finding()), lambda launch: None)
    session.execute(launch(source=source))
    assert [each.suppressed for each in session.report("GPU").findings] == ["the host waits"]
