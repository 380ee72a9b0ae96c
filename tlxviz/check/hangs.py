"""Hangs as findings: who waits for what, and which kind of fault that is."""

from __future__ import annotations

from typing import Any

from tlxviz.check.model import Finding, Place, Severity
from tlxviz.ir.location import Location
from tlxviz.ir.program import Program


def finding_of_hang(message: str, report: dict[str, Any], program: Program) -> Finding:
    """The finding that a hang stands for.

    Args:
        message: What the simulator says of it.
        report: Its facts, as docs/trace.md describes them.
        program: The kernel.
    """
    waiters = [waiter for waiter in report["waiters"] if waiter["operation"] != "join"]
    places = tuple(
        Place(
            f"waits for {waiter['variable']}",
            waiter["agent"],
            Location(waiter["file"], waiter["line"]),
            waiter["variable"],
            waiter["slot"],
            waiter["cta"],
            waiter["outer"],
            waiter["inner"],
        )
        for waiter in waiters
    )
    return Finding("circular-wait", Severity.ERROR, program.name, message, places)
