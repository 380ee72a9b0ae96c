"""Says why nothing can go on: who waits for what, what is missing, and who should have acted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tlxviz.ir.operation import Operation
from tlxviz.ir.program import Program, SiteKind
from tlxviz.sim.engine import AgentRun, Barrier, Cta, NamedBarrier
from tlxviz.sim.errors import HangError


def hang_report(program: Program, ctas: Sequence[Cta], cycle: int, queued: int = 0) -> HangError:
    """The error for CTAs that can never end; its `report` has the facts of the first of them.

    Args:
        program: The kernel.
        ctas: Those that are stuck.
        cycle: The last that anything happened in.
        queued: CTAs that were never started, since no SM had room for them.
    """
    cta = min(ctas, key=lambda each: each.index)
    waiters = [_waiter(program, agent) for agent in cta.unfinished()]
    waiting = [waiter for waiter in waiters if waiter["operation"] != "join"]
    ended = [program.agents[agent.index].name for agent in cta.agents if agent.done]
    arrivers = _arrivers(program, waiting, set(ended))
    report = {
        "cycle": cycle,
        "cta": cta.index,
        "ctas": len(ctas),
        "queued": queued,
        "waiters": waiters,
        "ended": ended,
        "arrivers": arrivers,
    }
    who = "; ".join(_said(waiter, arrivers) for waiter in waiting)
    message = f"kernel {program.name} hangs in CTA {cta.index}: {who}"
    if queued:
        message += f"; {queued} more CTAs were never started, since no SM had room for them"
    if ended:
        message += f"; ended: {', '.join(ended)}"
    return HangError(message, report)


def _said(waiter: dict[str, Any], arrivers: Sequence[dict[str, Any]]) -> str:
    place = f"{waiter['file']}:{waiter['line']}"
    if waiter["operation"] == "poll":
        return f"{waiter['agent']} reads memory at {place} over and over, and nobody writes it any more"
    arrived = waiter["count"] - waiter["pending"]
    if waiter["operation"] != "wait":
        threads = f"it has {arrived} of {waiter['count']} threads{_hope(waiter, arrivers)}"
        return f"{waiter['agent']} waits at named barrier {waiter['slot']} at {place} ({threads})"
    missing = waiter["missing_bytes"]
    have: list[str] = []
    if waiter["pending"] == waiter["count"] and waiter["last_arrival"] is None:
        have.append("nobody has arrived yet")
    elif waiter["pending"] or not missing:
        have.append(f"it has {arrived} of {waiter['count']} arrivals")
    if missing > 0:
        have.append(f"it misses {missing:,} bytes")
    elif missing < 0:
        have.append(f"it got {-missing:,} bytes {'that nothing announced' if waiter['pending'] else 'too many'}")
    barrier = f"{waiter['variable']}[{waiter['slot']}], phase {waiter['phase']},"
    return f"{waiter['agent']} waits for {barrier} at {place} ({', '.join(have)}{_hope(waiter, arrivers)})"


def _hope(waiter: dict[str, Any], arrivers: Sequence[dict[str, Any]]) -> str:
    """Why no arrival will come, where that is plain."""
    reached = [
        each for each in arrivers if each["variable"] == waiter["variable"] and each["slot"] in (-1, waiter["slot"])
    ]
    if not reached:
        return ", and nothing arrives on it"
    if all(each["ended"] for each in reached):
        return ", and all that arrive on it have ended"
    return ""


def _waiter(program: Program, agent: AgentRun) -> dict[str, Any]:
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
    if kind == "poll":
        return found | {"file": target.file, "line": target.line}
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


_ARRIVALS = (SiteKind.ARRIVE, SiteKind.EXPECT, SiteKind.MMA_COMMIT)
_NAMED = (SiteKind.NAMED_ARRIVE, SiteKind.NAMED_WAIT)


def _arrivers(program: Program, waiters: Sequence[dict[str, Any]], ended: set[str]) -> list[dict[str, Any]]:
    """Every place in the kernel that arrives on a barrier that somebody waits for, but the places of those who wait."""
    variables = {waiter["variable"] for waiter in waiters if waiter["operation"] == "wait"}
    numbers = {waiter["slot"] for waiter in waiters if waiter["operation"] == "named_wait"}
    standing = {(waiter["agent"], waiter["line"]) for waiter in waiters}
    found: list[dict[str, Any]] = []
    for site in program.sites:
        slot = _constant_slot(site.operation)
        if site.kind is SiteKind.TMA_LOAD:
            target = program.roots.get(site.operation.groups["barrier"][0])
            variable = target.name if target is not None else ""
            concerned = any(
                waiter["variable"] == variable and waiter["missing_bytes"] for waiter in waiters if variable
            )
            slot = -1
        elif site.kind in _NAMED:
            variable = site.variable
            concerned = (slot < 0 or slot in numbers) and (site.agent.name, site.location.line) not in standing
        else:
            variable = site.variable
            concerned = site.kind in _ARRIVALS and variable in variables
        if concerned and (numbers or site.kind not in _NAMED):
            found.append(
                {
                    "agent": site.agent.name,
                    "variable": variable,
                    "slot": slot,
                    "file": site.location.file,
                    "line": site.location.line,
                    "ended": site.agent.name in ended,
                }
            )
    return found


def _constant_slot(op: Operation) -> int:
    """The slot of its array, or the number, of the barrier that an operation arrives on; -1 where it varies."""
    value = next(iter(op.groups.get("barrier", ())), None)
    owner = value.owner if value is not None else None
    if isinstance(owner, Operation) and owner.name == "ttg.memdesc_index":
        owner = owner.groups["index"][0].owner
    if isinstance(owner, Operation) and owner.name == "arith.constant":
        number = owner.attributes["value"]
        return number if isinstance(number, int) else -1
    return -1
