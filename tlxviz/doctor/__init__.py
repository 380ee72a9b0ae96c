"""What tlxviz needs of this machine, checked one thing at a time."""

from __future__ import annotations

from collections.abc import Iterable

from tlxviz.doctor import compiler, environment, graphics, packages, terminal
from tlxviz.doctor.model import Finding, Machine, Status

__all__ = ["CHECKS", "Finding", "Machine", "Status", "can_run_kernels", "examine"]

CHECKS = (*packages.CHECKS, *compiler.CHECKS, *graphics.CHECKS, *environment.CHECKS, *terminal.CHECKS)
"""In the order of the report."""


def examine(machine: Machine) -> list[Finding]:
    """The findings of all checks."""
    return [check(machine) for check in CHECKS]


def can_run_kernels(findings: Iterable[Finding]) -> bool:
    """Whether nothing was found that keeps `tlxviz run` from running a kernel."""
    return all(finding.status is not Status.PROBLEM for finding in findings)
