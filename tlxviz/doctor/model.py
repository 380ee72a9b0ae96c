"""What checks are given, and what they return."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TextIO


class Status(StrEnum):
    OK = "ok"
    WARNING = "warning"
    """Something is missing or in the way, but kernels run."""
    PROBLEM = "problem"
    """`tlxviz run` cannot run a kernel."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one check found."""

    status: Status
    detail: str
    mend: str = ""
    """What to do about it; empty where nothing is to be done."""


@dataclass(frozen=True, slots=True)
class Finding:
    """An outcome with the check that it is of."""

    id: str
    """For programs; does not change."""
    title: str
    status: Status
    detail: str
    mend: str


@dataclass(frozen=True, slots=True)
class Imported:
    """What a module says about itself once it is imported."""

    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])
    error: str = ""
    """Why it cannot be imported; empty where it can."""


@dataclass(frozen=True, slots=True)
class Machine:
    """Where the checks look."""

    imported: Callable[[str], Imported]
    """Imports `torch` or `triton` where a crash does no harm."""
    environ: Mapping[str, str]
    output: TextIO | None
    """Where reports go; None where stdout is closed."""


def ok(detail: str) -> Outcome:
    return Outcome(Status.OK, detail)


def warning(detail: str, mend: str = "") -> Outcome:
    return Outcome(Status.WARNING, detail, mend)


def problem(detail: str, mend: str = "") -> Outcome:
    return Outcome(Status.PROBLEM, detail, mend)
