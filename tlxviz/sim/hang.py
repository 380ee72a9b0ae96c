"""Says why nothing can go on: who waits for what, what is missing, and who should have acted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tlxviz.ir.program import Program, SiteKind
from tlxviz.sim.engine import AgentRun, Barrier, Cta, NamedBarrier
from tlxviz.sim.errors import HangError


def hang_report(program: Program, ctas: Sequence[Cta], cycle: int) -> HangError:
    """The error for CTAs that can never end; its `report` has the facts of the first of them."""
    cta = min(ctas, key=lambda each: each.index)
    waiters = [_waiter(program, cta, agent) for agent in cta.unfinished()]
    barrier_waits = [waiter for waiter in waiters if waiter["operation"] != "join"]
    ended = [program.agents[agent.index].name for agent in cta.agents if agent.done]
    variables = {(waiter["operation"], waiter["variable"]) for waiter in barrier_waits}
    report = {
        "cycle": cycle,
        "cta": cta.index,
        "ctas": len(ctas),
        "waiters": waiters,
        "ended": ended,
        "arrivers": _arrivers(program, {variable for _, variable in variables}, set(ended)),
    }
    return HangError(_headline(program, cta, barrier_waits), report)


def _headline(program: Program, cta: Cta, waiters: Sequence[dict[str, Any]]) -> str:
    who = "; ".join(
        f"{waiter['agent']} waits for {waiter['variable']}[{waiter['slot']}] at {waiter['file']}:{waiter['line']}"
        if waiter["operation"] == "wait"
        else f"{waiter['agent']} waits at named barrier {waiter['slot']} at {waiter['file']}:{waiter['line']}"
        for waiter in waiters
    )
    return f"kernel {program.name} hangs in CTA {cta.index}: {who}"


def _waiter(program: Program, cta: Cta, agent: AgentRun) -> dict[str, Any]:
    assert agent.blocked is not None
    kind, number, since, outer, inner, target, key = agent.blocked
    name = program.agents[agent.index].name
    found: dict[str, Any] = {
        "agent": name,
        "operation": kind,
        "variable": "",
        "slot": -1,
        "phase": -1,
        "file": "",
        "line": 0,
        "pending": 0,
        "count": 0,
        "missing_bytes": 0,
        "completed_phases": 0,
        "last_arrival": None,
        "outer": outer,
        "inner": inner,
        "since": since,
    }
    if number < 0:
        location = program.agents[agent.index].location
        return found | {"file": location.file, "line": location.line}
    site = program.sites[number]
    found |= {"file": site.location.file, "line": site.location.line, "variable": site.variable}
    if isinstance(target, Barrier):
        found |= {
            "variable": program.barriers[target.array].name,
            "slot": target.slot,
            "phase": key,
            "pending": target.pending,
            "count": target.count,
            "missing_bytes": target.tx,
            "completed_phases": target.completed,
        }
    elif isinstance(target, NamedBarrier):
        found |= {
            "slot": key,
            "pending": target.threads - target.arrived,
            "count": target.threads,
        }
    if target is not None and target.last_site >= 0:
        last = program.sites[target.last_site]
        found["last_arrival"] = {
            "agent": last.agent.name,
            "cycle": int(target.last_time),
            "file": last.location.file,
            "line": last.location.line,
        }
    return found


_ARRIVALS = (SiteKind.ARRIVE, SiteKind.EXPECT, SiteKind.MMA_COMMIT, SiteKind.NAMED_ARRIVE)


def _arrivers(program: Program, variables: set[str], ended: set[str]) -> list[dict[str, Any]]:
    """Every place in the kernel that arrives on one of the barriers that somebody waits for."""
    return [
        {
            "agent": site.agent.name,
            "variable": site.variable,
            "slot": -1,
            "file": site.location.file,
            "line": site.location.line,
            "ended": site.agent.name in ended,
        }
        for site in program.sites
        if site.kind in _ARRIVALS and site.variable in variables
    ]
