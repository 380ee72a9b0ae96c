"""What a finding is, and the rules that make them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from tlxviz.analysis.account import Account


class Severity(StrEnum):
    PROBLEM = "problem"
    """It costs time that a change of the kernel can win back."""
    HINT = "hint"
    """It may."""
    NOTE = "note"
    """Worth knowing."""


@dataclass(frozen=True, slots=True)
class Finding:
    id: str
    """Of the rule; docs/findings.md has a section of that name."""
    severity: Severity
    cost: float
    """Share of the launch's time that it is about: findings are ordered by it."""
    text: str
    """One sentence, with the figures that matter."""
    advice: str
    agent: str = ""
    file: str = ""
    line: int = 0
    evidence: Mapping[str, float] = field(default_factory=dict[str, float])
    """Figures by name; names end in their unit (`_cycles`, `_slots`) or are shares of 1."""


Rule = Callable[[Account], Iterator[Finding]]
RULES: dict[str, Rule] = {}
"""By id, filled by `rule`."""


def rule(id: str) -> Callable[[Rule], Rule]:
    """Registers a rule under the id of the findings that it makes."""

    def register(function: Rule) -> Rule:
        RULES[id] = function
        return function

    return register
