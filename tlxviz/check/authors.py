"""Whose synchronization a kernel has: its author's, or the compiler's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tlxviz.check.model import Finding, Severity
from tlxviz.ir.program import Program

_WRITTEN = frozenset(
    {
        "ttng.wait_barrier_named",
        "ttng.arrive_barrier_named",
        "ttng.map_to_remote_buffer",
        "ttng.async_clc_try_cancel",
        "ttng.cluster_arrive",
        "ttng.cluster_barrier",
    }
)
"""Operations that no compiler makes of a kernel without synchronization of its own."""
_OTHERS = frozenset({"out-of-bounds", "descriptor", "assertion", "endless", "limits", "registers"})
"""Rules about what the author writes in any kernel."""


def authored(program: Program, metadata: Mapping[str, Any]) -> bool:
    """Whether the kernel's barriers are its author's, and not made by the compiler: in TLX and in Gluon."""
    layouts: dict[str, Any] = metadata.get("layouts") or {}
    return (
        layouts.get("rest") == "author"
        or any(name.startswith("tlx.") for name in program.module.attributes)
        or any(op.name in _WRITTEN for op in program.module.walk())
    )


def attributed(finding: Finding, *, by_author: bool) -> Finding:
    """The finding; as a warning where it is about barriers that the compiler made.

    Args:
        finding: What was found.
        by_author: Whether the kernel's barriers are its author's.
    """
    unnamed = bool(finding.places) and finding.places[0].variable.startswith("%")
    if finding.severity is not Severity.ERROR or finding.rule in _OTHERS or (by_author and not unnamed):
        return finding
    what = "this barrier" if by_author else "the barriers of this kernel"
    why = (*finding.why, f"the compiler made {what}, and not its author")
    advice = "Nothing in the kernel's source orders them: try another configuration, and tell who makes the compiler."
    return replace(finding, severity=Severity.WARNING, why=why, advice=advice)
