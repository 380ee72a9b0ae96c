"""Every planted fault is found where it is, by its rule; what is right has no error, and the warnings named here."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tlxviz._triton import toolchain
from tlxviz.check.checker import Checker
from tlxviz.check.model import Finding, Severity
from tlxviz.check.rules import RULES
from tlxviz.devices.file import load_device
from tlxviz.launch.model import Launch
from tlxviz.launch.script import run_script

pytest.importorskip("triton.language.extra.tlx")
if toolchain().distribution != "fbtriton":
    pytest.skip("the kernels are for the TLX of fbtriton", allow_module_level=True)

CORPUS = Path(__file__).parents[1] / "faults"
sys.path.append(str(CORPUS))  # the scripts import `case`

from case import Case, fault_lines  # noqa: E402

FAULTS = sorted(path for path in CORPUS.glob("*.py") if path.stem != "case" and not path.stem.startswith("test_"))
CORRECT = sorted((CORPUS / "correct").glob("*.py"))
SCHEDULES = 3

WARNINGS: dict[str, list[str]] = {
    # barriers that the compiler makes inside of a task for products of pairs: nobody waits until the other CTA has them
    "pair_accumulator": ["barrier-lifetime"],
    "pair_bytes": ["barrier-lifetime"],
    "pair_of_ctas": ["barrier-lifetime"],
}
"""Rules of the warnings about fixed twins and correct kernels, by script; others have none."""


@dataclass(frozen=True)
class Executed:
    """What a launch is said to come to that was checked and not executed."""

    cycles: int = 0
    sms: int = 1
    written: Sequence[Any] | None = None


def loaded(script: Path) -> ModuleType:
    """A script as a module, which runs nothing."""
    spec = importlib.util.spec_from_file_location(f"checked_{script.stem}", script)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def findings(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Finding]]:
    """What is found in the launches of a script, which are checked and not executed: its own results are wrong."""

    def check(script: Path, *arguments: str, schedules: int = 1) -> list[Finding]:
        import torch

        monkeypatch.setattr(torch.testing, "assert_close", lambda *args, **options: None)
        module = loaded(script)
        device = load_device(getattr(module, "TLXVIZ_DEVICE", "sim:h100").removeprefix("sim:"))
        checker = Checker(device, schedules=schedules)
        found: list[Finding] = []

        def execute(launch: Launch) -> Executed:
            found.extend(checker.check(launch).findings)
            return Executed()

        run_script(script, arguments, device, execute)
        return found

    return check


def shown(findings: Sequence[Finding]) -> str:
    """The findings, for whoever reads why a test failed."""
    lines: list[str] = []
    for finding in findings:
        lines.append(f"{finding.severity} [{finding.rule}] {finding.message}")
        lines += [f"    {each.role} {each.location.line} {each.variable}: {each.doing}" for each in finding.places]
    return "\n".join(lines) or "nothing"


@pytest.mark.parametrize("script", FAULTS, ids=lambda script: script.stem)
def test_a_fault_is_found_by_its_rule_at_its_role_and_variable_and_line(
    script: Path, findings: Callable[..., list[Finding]]
):
    case: Case = loaded(script).CASE
    found = findings(script)
    places = [place for finding in found if finding.rule == case.rule for place in finding.places]
    lines = fault_lines(script)
    fitting = [each for each in places if each.role == case.role and each.variable == case.name]
    assert any(each.location.line in lines for each in fitting), shown(found)


@pytest.mark.parametrize("script", FAULTS, ids=lambda script: script.stem)
def test_the_fixed_twin_has_no_error(script: Path, findings: Callable[..., list[Finding]]):
    check_right(script, findings(script, "--fixed", schedules=SCHEDULES))


@pytest.mark.parametrize("script", CORRECT, ids=lambda script: script.stem)
def test_a_correct_kernel_has_no_error(script: Path, findings: Callable[..., list[Finding]]):
    check_right(script, findings(script, schedules=SCHEDULES))


def check_right(script: Path, found: Sequence[Finding]) -> None:
    """No error, and the warnings of the table."""
    rules = {severity: [each.rule for each in found if each.severity is severity] for severity in Severity}
    assert not rules[Severity.ERROR], shown(found)
    assert rules[Severity.WARNING] == WARNINGS.get(script.stem, []), shown(found)
    assert set(rules[Severity.NOTE]) <= RULES.keys()
