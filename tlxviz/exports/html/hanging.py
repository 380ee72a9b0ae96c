"""Why a launch never ends, in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tlxviz.analysis.hang import Hang, Waiter, hang_of
from tlxviz.analysis.places import base_name
from tlxviz.analysis.standstill import standstill
from tlxviz.trace.model import LaunchTrace

_WITHOUT_VARIABLE = {
    "named_wait": "named barrier",
    "cluster_wait": "the barrier of the cluster",
    "join": "the other warp groups",
    "poll": "memory that nobody writes",
}
_MISSING = {"named_wait": "threads missing", "cluster_wait": "warps missing"}


def hang_facts(launch: LaunchTrace) -> dict[str, Any] | None:
    """What is said, and each waiter with its place; None for a launch that ended."""
    hang = hang_of(launch)
    if hang is None:
        return None
    return {
        "head": _head(hang),
        "why": _why(hang),
        "ended": list(hang.ended),
        "waiters": [
            {
                "agent": each.agent,
                "cta": each.cta if each.cta is not None else hang.cta,
                "file": each.file,
                "line": each.line,
                "says": _says(each),
                "more": list(_more(each)),
            }
            for each in hang.waiters
        ],
    }


def _head(hang: Hang) -> str:
    at = "" if hang.cycle is None else f" at cycle {hang.cycle:,}"
    if hang.cluster:
        where = f" in the cluster of CTAs {', '.join(map(str, hang.cluster))}"
    else:
        where = "" if hang.cta is None else f" in CTA {hang.cta}"
    number = len(hang.waiters)
    return f"Hang{at}{where}: {number} warp {'group waits' if number == 1 else 'groups wait'} forever"


def _why(hang: Hang) -> str:
    """`load waits on empty[0] for mma, mma waits on full[1] for load.`; empty if nobody knows."""
    why = standstill(hang)
    if why is None:
        return ""
    agents = [each.agent for each in why.waiters]
    following = [*agents[1:], agents[0]] if why.circle else agents[1:]
    said = [
        f"{each.agent} waits on {_waits_on(each)} for {other}"
        for each, other in zip(why.waiters, following, strict=False)
    ]
    if why.circle:
        return f"In a circle: {', '.join(said)}."
    last = why.waiters[-1]
    rest = f"for {' and '.join(why.ended)}, which has ended" if why.ended else "for an arrival that nothing brings"
    return ", ".join([*said, f"{last.agent} waits on {_waits_on(last)} {rest}"]) + "."


def _waits_on(waiter: Waiter) -> str:
    barrier = waiter.variable or _WITHOUT_VARIABLE.get(waiter.operation, waiter.operation)
    return barrier if waiter.slot is None else f"{barrier}[{waiter.slot}]"


def _says(waiter: Waiter) -> str:
    parts = [f"waits on {_waits_on(waiter)}"]
    if waiter.phase is not None:
        parts.append(f"phase {waiter.phase}")
    if waiter.since is not None:
        parts.append(f"since cycle {waiter.since:,}")
    if waiter.inner is not None:
        outer = "" if waiter.outer in (None, waiter.inner) else f" of outer iteration {waiter.outer}"
        parts.append(f"iteration {waiter.inner}{outer}")
    return ", ".join(parts)


def _more(waiter: Waiter) -> Iterator[str]:
    missing: list[str] = []
    if waiter.pending is not None:
        total = "" if waiter.count is None else f" of {waiter.count:,}"
        missing.append(f"{waiter.pending:,}{total} {_MISSING.get(waiter.operation, 'arrivals pending')}")
    missing += [f"{each.pending} of {each.count} of CTA {each.cta}" for each in waiter.absent]
    if waiter.missing_bytes > 0:
        missing.append(f"{waiter.missing_bytes:,} bytes missing")
    elif waiter.missing_bytes < 0:
        missing.append(f"{-waiter.missing_bytes:,} bytes more than were expected")
    if waiter.completed_phases is not None:
        phases = "phase" if waiter.completed_phases == 1 else "phases"
        missing.append(f"{waiter.completed_phases:,} {phases} completed so far")
    if missing:
        yield ", ".join(missing)
    last = waiter.last_arrival
    if last is not None:
        when = "" if last.cycle is None else f" at cycle {last.cycle:,}"
        yield f"last arrival: {last.agent}{when}{_at(last.file, last.line)}"
    elif waiter.operation == "wait":
        yield "no arrival yet"
    if waiter.arrivers is None or waiter.operation not in ("wait", "named_wait"):
        return
    for each in waiter.arrivers:
        what = "arrives on it from other CTAs" if each.remote else "arrives on it"
        yield f"{what}: {each.agent}{' (ended)' if each.ended else ''}{_at(each.file, each.line)}"
    if not waiter.arrivers:
        yield "nothing in the kernel arrives on it"


def _at(file: str, line: int) -> str:
    return f", {base_name(file)}:{line}" if file else ""
