"""Why a launch never ends, in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tlxviz.analysis.hang import Waiter, hang_of
from tlxviz.analysis.hang_words import arrives, missing, reason, waiting, when_and_where
from tlxviz.analysis.places import base_name
from tlxviz.analysis.standstill import standstill
from tlxviz.trace.model import LaunchTrace


def hang_facts(launch: LaunchTrace) -> dict[str, Any] | None:
    """What is said, and each waiter with its place; None for a launch that ended."""
    hang = hang_of(launch)
    if hang is None:
        return None
    why = standstill(launch, hang)
    return {
        "head": f"Hang{when_and_where(hang)}",
        "why": "" if why is None else reason(why, hang),
        "ended": list(hang.ended),
        "waiters": [
            {
                "agent": each.agent,
                "cta": each.cta if each.cta is not None else hang.cta,
                "file": each.file,
                "line": each.line,
                "says": waiting(each),
                "more": list(_more(each)),
            }
            for each in hang.waiters
        ],
    }


def _more(waiter: Waiter) -> Iterator[str]:
    if what := missing(waiter):
        yield what
    last = waiter.last_arrival
    if last is not None:
        when = "" if last.cycle is None else f" at cycle {last.cycle:,}"
        yield f"last arrival: {last.agent}{when}{_at(last.file, last.line)}"
    elif waiter.operation == "wait":
        yield "no arrival yet"
    if waiter.arrivers is None or waiter.operation not in ("wait", "named_wait"):
        return
    for each in waiter.arrivers:
        yield f"{arrives(each)}{_at(each.file, each.line)}"
    if not waiter.arrivers:
        yield "nothing in the kernel arrives on it"


def _at(file: str, line: int) -> str:
    return f", {base_name(file)}:{line}" if file else ""
