"""Says why nothing can go on: who waits for what, what is missing, and who should have acted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tlxviz.ir.operation import Operation, Value
from tlxviz.ir.program import Program, Site, SiteKind
from tlxviz.ir.types import MemDescType
from tlxviz.sim.clusters import ClusterBarrier
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
    mates = cta.cluster.ctas if cta.cluster is not None else [cta]
    waiters = [_waiter(program, agent) for mate in mates for agent in mate.unfinished()]
    waiting = [waiter for waiter in waiters if waiter["operation"] != "join"]
    done = [{program.agents[agent.index].name for agent in mate.agents if agent.done} for mate in mates]
    ended = [
        program.agents[agent.index].name + (f" of CTA {mate.index}" if cta.cluster is not None else "")
        for mate in mates
        for agent in mate.agents
        if agent.done
    ]
    arrivers = arrivers_of(program, waiting, set.intersection(*done))
    report = {
        "cycle": cycle,
        "cta": cta.index,
        "cluster": [mate.index for mate in mates] if cta.cluster is not None else [],
        "ctas": len(ctas),
        "queued": queued,
        "waiters": waiters,
        "ended": ended,
        "left": [
            {"agent": program.agents[agent.index].name, "cta": mate.index}
            for mate in mates
            for agent in mate.agents
            if agent.done
        ],
        "arrivers": arrivers,
    }
    clustered = len(mates) > 1
    who = "; ".join(said(program, waiter, arrivers, clustered=clustered) for waiter in waiting)
    where = f"CTA {cta.index}"
    if clustered:
        where = f"the cluster of CTAs {', '.join(str(mate.index) for mate in mates)}"
    message = f"kernel {program.name} hangs in {where}: {who}"
    if queued:
        message += f"; {queued} more CTAs were never started, since no SM had room for them"
    if ended:
        message += f"; ended: {', '.join(ended)}"
    return HangError(message, report)


def said(program: Program, waiter: dict[str, Any], arrivers: Sequence[dict[str, Any]], *, clustered: bool) -> str:
    """Who waits where for what, and what is missing."""
    place = f"{waiter['file']}:{waiter['line']}"
    who = waiter["agent"] + (f" of CTA {waiter['cta']}" if clustered else "")
    if waiter["operation"] == "poll":
        return f"{who} reads memory at {place} over and over, and nobody writes it any more"
    if waiter["operation"] == "cluster_wait":
        missing = f" ({_absent(program, waiter)})" if waiter["count"] else ""
        return f"{who} waits at the cluster's barrier at {place}{missing}"
    arrived = waiter["count"] - waiter["pending"]
    if waiter["operation"] != "wait":
        threads = f"it has {arrived} of {waiter['count']} threads{_hope(waiter, arrivers)}"
        return f"{who} waits at named barrier {waiter['slot']} at {place} ({threads})"
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
    return f"{who} waits for {barrier} at {place} ({', '.join(have)}{_hope(waiter, arrivers)})"


def _hope(waiter: dict[str, Any], arrivers: Sequence[dict[str, Any]]) -> str:
    """Why no arrival will come, where that is plain."""
    reached = [
        each for each in arrivers if each["variable"] == waiter["variable"] and each["slot"] in (-1, waiter["slot"])
    ]
    if not reached:
        return ", and nothing arrives on it"
    if all(each["ended"] for each in reached):
        return ", and all that arrive on it have ended"
    remote = dict.fromkeys(f"{each['file']}:{each['line']}" for each in reached if each["remote"])
    return f"; other CTAs arrive on it at {', '.join(remote)}" if remote else ""


def _absent(program: Program, waiter: dict[str, Any]) -> str:
    """Which warps have not arrived at the cluster's barrier."""
    text = f"it has {waiter['count'] - waiter['pending']} of {waiter['count']} warps"
    for each in waiter["absent"]:
        text += f", CTA {each['cta']} lacks {each['pending']} of {each['count']}"
    if program.total_warps > program.num_warps:
        text += "; those of all async tasks have to arrive, and those that fill them up to groups of 4"
    return text


def _waiter(program: Program, agent: AgentRun) -> dict[str, Any]:
    assert agent.blocked is not None
    kind, number, since, outer, inner, target, key = agent.blocked
    name = program.agents[agent.index].name
    cta = agent.cta
    found: dict[str, Any] = {
        "agent": name,
        "cta": cta.index,
        "site": number,
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
    if isinstance(target, ClusterBarrier):
        found |= _meeting(cta, target)
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
            "completed_phases": target.completed,
        }
    if target is not None and target.last_site >= 0:
        found["last_arrival"] = _arrival(program, int(target.last_time), target.last_site, cta.index)
    if isinstance(target, Barrier | ClusterBarrier) and target.last_cta >= 0 and found["last_arrival"]:
        found["last_arrival"]["cta"] = target.last_cta
    if isinstance(target, Barrier) and cta.cluster is not None:
        found["remote_arrivals"] = [
            _arrival(program, int(cycle), site, came_from)
            for phase, cycle, site, came_from in target.foreign
            if phase == target.completed
        ]
    return found


def _arrival(program: Program, cycle: int, number: int, cta: int) -> dict[str, Any]:
    """What came to a barrier from CTA `cta`, by the operation of site `number`."""
    site = program.sites[number]
    return {
        "agent": site.agent.name,
        "cycle": cycle,
        "file": site.location.file,
        "line": site.location.line,
        "cta": cta,
    }


def _meeting(cta: Cta, barrier: ClusterBarrier) -> dict[str, Any]:
    """What a barrier of a cluster misses, in warps."""
    assert cta.cluster is not None
    missing = [
        {"cta": mate.index, "pending": needed - arrived, "count": needed}
        for mate, needed, arrived in zip(cta.cluster.ctas, barrier.needed, barrier.arrived, strict=True)
    ]
    return {
        "count": sum(barrier.needed),
        "pending": sum(barrier.needed) - sum(barrier.arrived),
        "completed_phases": barrier.completed,
        "absent": [each for each in missing if each["pending"]],
    }


_ARRIVALS = (SiteKind.ARRIVE, SiteKind.EXPECT, SiteKind.MMA_COMMIT)
_NAMED = (SiteKind.NAMED_ARRIVE, SiteKind.NAMED_WAIT)


def arrivers_of(program: Program, waiters: Sequence[dict[str, Any]], ended: set[str]) -> list[dict[str, Any]]:
    """Every place in the kernel that arrives on a barrier that somebody waits for, but the places of those who wait."""
    variables = {waiter["variable"] for waiter in waiters if waiter["operation"] == "wait"}
    numbers = {waiter["slot"] for waiter in waiters if waiter["operation"] == "named_wait"}
    standing = {(waiter["agent"], waiter["line"]) for waiter in waiters}
    found: list[dict[str, Any]] = []
    for site in program.sites:
        slot = _constant_slot(next(iter(site.operation.groups.get("barrier", ())), None))
        if site.kind is SiteKind.TMA_LOAD or site.operation.operand("rank") is not None:
            told = site.operation.operand("barrier")
            if told is None:
                continue
            target = program.roots.get(told)
            variable = target.name if target is not None else ""
            concerned = any(
                waiter["variable"] == variable and waiter["missing_bytes"] for waiter in waiters if variable
            )
            slot = -1
        elif site.kind is SiteKind.MMA:
            for told in site.operation.groups.get("barriers", ()):
                target = program.roots.get(told)
                if target is not None and target.name in variables:
                    found.append(_arriver(site, target.name, _constant_slot(told), ended))
            continue
        elif site.kind in _NAMED:
            variable = site.variable
            concerned = (slot < 0 or slot in numbers) and (site.agent.name, site.location.line) not in standing
        else:
            variable = site.variable
            concerned = site.kind in _ARRIVALS and variable in variables
        if concerned and (numbers or site.kind not in _NAMED):
            found.append(_arriver(site, variable, slot, ended))
    return found


def _arriver(site: Site, variable: str, slot: int, ended: set[str]) -> dict[str, Any]:
    return {
        "agent": site.agent.name,
        "site": site.index,
        "variable": variable,
        "slot": slot,
        "file": site.location.file,
        "line": site.location.line,
        "ended": site.agent.name in ended,
        "remote": _is_remote(site.operation),
    }


def _is_remote(op: Operation) -> bool:
    """Whether an operation may arrive on the barriers of other CTAs."""
    barrier = op.operand("barrier")
    type_ = barrier.type if barrier is not None else None
    there = isinstance(type_, MemDescType) and type_.space == "shared_cluster_memory"
    several = "two_ctas" in op.attributes or op.operand("multicast") is not None
    return there or several or op.operand("rank") is not None


def _constant_slot(value: Value | None) -> int:
    """The slot of its array, or the number, of a barrier; -1 where it varies."""
    owner = value.owner if value is not None else None
    if isinstance(owner, Operation) and owner.name == "ttg.memdesc_index":
        owner = owner.groups["index"][0].owner
    if isinstance(owner, Operation) and owner.name == "arith.constant":
        number = owner.attributes["value"]
        return number if isinstance(number, int) else -1
    return -1
