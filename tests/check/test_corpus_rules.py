"""Every planted fault is found where it is, by its rule; what is right has no error, and the warnings named here."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tlxviz._triton import toolchain
from tlxviz.check.checker import Checker
from tlxviz.check.model import Finding, Severity
from tlxviz.check.rules import RULES

pytest.importorskip("triton.language.extra.tlx")
if toolchain().distribution != "fbtriton":
    pytest.skip("the kernels are for the TLX of fbtriton", allow_module_level=True)

from corpus_launches import CORRECT, FAULTS, device_of, launches, loaded

SCHEDULES = 3

MILDER = {
    # the compiler adds the fence on the other side, where PTX takes it as well
    "fence_mma": Severity.NOTE,
    "fence_store": Severity.NOTE,
    # an ordinary read before a refill, which hardware may well order
    "war_proxy": Severity.WARNING,
    # the compiler waits for the product at once
    "wgmma_release": Severity.WARNING,
    # in this schedule nothing is under way when it happens
    "reinitialised": Severity.WARNING,
    # reading a slot twice can be meant
    "stale_slot": Severity.WARNING,
    # outside of a tensor there are zeros, which can be meant
    "swapped_offsets": Severity.WARNING,
    # the compiler grants no request at all
    "register_budget": Severity.WARNING,
    # whether the compiler uses the number depends on layouts
    "reserved_id": Severity.WARNING,
}
"""Severities of faults that are no errors, by script."""

WARNINGS: dict[str, list[str]] = {
    # barriers that the compiler makes inside of a task for products of pairs: nobody waits until the other CTA has them
    "pair_accumulator": ["barrier-lifetime"],
    "pair_bytes": ["barrier-lifetime"],
    "pair_of_ctas": ["barrier-lifetime"],
}
"""Rules of the warnings about fixed twins and correct kernels, by script; others have none."""


def findings(script: Path, *arguments: str, schedules: int = 1) -> list[Finding]:
    """What is found in the launches of a script."""
    checker = Checker(device_of(script), schedules=schedules)
    found: list[Finding] = []
    launches(script, *arguments, tell=lambda launch: found.extend(checker.check(launch).findings))
    return found


def shown(findings: Sequence[Finding]) -> str:
    """The findings, for whoever reads why a test failed."""
    lines: list[str] = []
    for finding in findings:
        lines.append(f"{finding.severity} [{finding.rule}] {finding.message}")
        lines += [f"    {each.role} {each.location.line} {each.variable}: {each.doing}" for each in finding.places]
    return "\n".join(lines) or "nothing"


@pytest.mark.parametrize("script", FAULTS, ids=lambda script: script.stem)
def test_a_fault_is_found_by_its_rule_at_its_role_and_variable_and_line(script: Path):
    case = loaded(script).CASE
    found = findings(script)
    severity = MILDER.get(script.stem, Severity.ERROR)
    fitting = [each for each in found if (each.rule, each.severity) == (case.rule, severity)]
    places = [place for finding in fitting for place in finding.places]
    lines = [number for number, line in enumerate(script.read_text().splitlines(), 1) if "# FAULT" in line]
    at = [each.location.line for each in places if (each.role, each.variable) == (case.role, case.name)]
    assert set(at) & set(lines), shown(found)


@pytest.mark.parametrize("script", FAULTS, ids=lambda script: script.stem)
def test_the_fixed_twin_has_no_error(script: Path):
    check_right(script, findings(script, "--fixed", schedules=SCHEDULES))


@pytest.mark.parametrize("script", CORRECT, ids=lambda script: script.stem)
def test_a_correct_kernel_has_no_error(script: Path):
    check_right(script, findings(script, schedules=SCHEDULES))


def check_right(script: Path, found: Sequence[Finding]) -> None:
    """No error, and the warnings of the table."""
    rules = {severity: [each.rule for each in found if each.severity is severity] for severity in Severity}
    assert not rules[Severity.ERROR], shown(found)
    assert rules[Severity.WARNING] == WARNINGS.get(script.stem, []), shown(found)
    assert set(rules[Severity.NOTE]) <= RULES.keys()
