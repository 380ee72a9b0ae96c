"""Rules that need no run: a kernel's text and, where there is one, what its launch is called with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tlxviz.check.model import Finding, Severity
from tlxviz.check.static import (
    arrivals,
    budgets,
    descriptors,
    expected_bytes,
    implicit_waits,
    named,
    parity,
    remote,
    rereads,
    tensor_memory,
)
from tlxviz.check.static.facts import LaunchFacts
from tlxviz.check.static.registry import RULES, Kernel
from tlxviz.check.static.standing import ways_end
from tlxviz.devices.model import Device
from tlxviz.ir.program import Program

_MODULES = (
    arrivals,
    budgets,
    descriptors,
    expected_bytes,
    implicit_waits,
    named,
    parity,
    remote,
    rereads,
    tensor_memory,
)
"""That hold rules."""


def static_findings(
    program: Program, device: Device, facts: LaunchFacts | None = None, *, ways: bool = True
) -> list[Finding]:
    """What is wrong with a kernel, as far as that shows without a run.

    Args:
        program: The kernel.
        device: The GPU that it is for.
        facts: Its launch; without one, what depends on arguments is not known.
        ways: Whether to see also where its warp groups come if each goes as far as it can, which a run shows better.
    """
    kernel = Kernel(program, device, facts or LaunchFacts())
    found = [finding for rule in RULES for finding in rule(kernel)]
    if ways and not any(finding.severity is Severity.ERROR for finding in found):
        found += ways_end(kernel)
    return found


def added(findings: Sequence[Finding], others: Iterable[Finding]) -> list[Finding]:
    """`findings` of a run, and those of `others` that say nothing of the same."""
    said = {(each.rule, place) for each in findings for place in _spots(each)}
    return [*findings, *(each for each in others if not any((each.rule, place) in said for place in _spots(each)))]


def _spots(finding: Finding) -> list[tuple[str, int, str]]:
    return [(place.role, place.location.line, place.variable) for place in finding.places]
