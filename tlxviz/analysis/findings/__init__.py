"""Findings: what costs a kernel time, with evidence and advice. A module per subject, a function per rule."""

from __future__ import annotations

from tlxviz.analysis.account import Account
from tlxviz.analysis.findings import (
    balance,
    barriers,
    compiler,
    copies,
    grid,
    iterations,
    overhead,
    products,
    tensor_memory,
)
from tlxviz.analysis.findings.finding import RULES, Finding, Severity

__all__ = ["RULES", "Finding", "Severity", "findings"]
_MODULES = (balance, barriers, compiler, copies, grid, iterations, overhead, products, tensor_memory)
"""Importing them fills the registry."""
_ORDER = list(Severity)


def findings(account: Account) -> tuple[Finding, ...]:
    """All findings of a launch that ended: problems first, within a severity those that cost most."""
    if not account.ended:
        return ()
    found = [each for rule in RULES.values() for each in rule(account)]
    return tuple(sorted(found, key=lambda each: (_ORDER.index(each.severity), -each.cost)))
