"""Says where the warp groups of a kernel stand that has not ended, from what they have recorded so far."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tlxviz.ir.operation import Operation
from tlxviz.ir.program import Agent, Program, Site, SiteKind
from tlxviz.probe.buffer import MOST_OF_A_BLOCK, UNKNOWN_START
from tlxviz.probe.plan import Plan
from tlxviz.probe.points import Point
from tlxviz.probe.ptx import tags
from tlxviz.probe.streams import decode, written
from tlxviz.sim.hang import arrivers_of, said
from tlxviz.sim.replay import AgentReplay, CtaReplay, Replayed
from tlxviz.sim.rows import BARRIER, CODE, HOME, INNER, OUTER, PHASE, ROUND, RUN, SLOT

_CONTRIBUTIONS = (SiteKind.ARRIVE, SiteKind.EXPECT, SiteKind.MMA_COMMIT)


@dataclass(frozen=True, slots=True)
class _Position:
    """How far one run of a warp group has come."""

    agent: AgentReplay
    passed: int
    """Points that it has passed, of those that were recorded."""
    events: int
    """Events that it has ended."""
    site: int
    """Where it stands; -1 if that is no site."""
    since: int
    """Cycles from the start of the CTA to the last point."""
    ended: bool


def stuck_report(
    program: Program,
    points: Sequence[Point],
    plan: Plan,
    part: int,
    replayed: Replayed,
    recorded: Collection[int],
    headers: NDArray[np.void],
    rings: Mapping[tuple[int, int], NDArray[np.uint32]],
    seconds: float,
) -> tuple[str, dict[str, Any]]:
    """The message and the hang report, as simulated hangs have it, of a launch that did not end within `seconds`."""
    running = np.flatnonzero((headers["start_clock"] != 0) & (headers["end_clock"] == 0))
    queued = int((headers["start_clock"] == 0).sum())
    watched = [cta for cta in replayed.ctas if cta.cta in recorded and cta.cta in set(running.tolist())]
    said_first = f"kernel {program.name} has not ended within {seconds:g} s (--timeout) on the GPU"
    report: dict[str, Any] = {
        "cycle": 0,
        "cta": int(running[0]) if len(running) else -1,
        "cluster": [],
        "ctas": len(running),
        "queued": queued,
        "waiters": [],
        "ended": [],
        "arrivers": [],
    }
    if not watched:
        others = {1: "", 2: " and another"}.get(len(running), f" and {len(running) - 1} others")
        where = f"CTA {report['cta']}{others} {'has' if len(running) == 1 else 'have'}"
        if not len(running):
            return f"{said_first}, and no CTA of it is running: the GPU is busy with something else", report
        return f"{said_first}. {where} not ended; to see why, record one: --ctas {running[0]}", report
    # Where starts are unknown, one that has recorded nothing may not have begun.
    cta = max(watched, key=lambda each: any(rings[each.cta, agent.warps_of_cta[0]][0] for agent in each.agents))
    positions = _positions(cta, points, plan, part, program, headers[cta.cta], rings)
    waiters = [
        _waiter(program, cta, number, position, positions)
        for number, position in enumerate(positions)
        if not position.ended
    ]
    ended = [program.agents[each.agent.agent].name for each in positions if each.ended]
    waiting = [waiter for waiter in waiters if waiter["operation"] not in ("join", "busy")]
    arrivers = arrivers_of(program, waiting, set(ended))
    report |= {
        "cycle": max((each.since for each in positions), default=0),
        "cta": cta.cta,
        "waiters": waiters,
        "ended": ended,
        "arrivers": arrivers,
    }
    who = "; ".join(
        said(program, waiter, arrivers, clustered=False) if waiter in waiting else _busy(waiter)
        for waiter in waiters
        if waiter["operation"] != "join"
    )
    who = who or "all warp groups have passed their last point"
    tail = f"; ended: {', '.join(ended)}" if ended else ""
    if replayed.hang is None:
        tail += ". Its simulation ends, so this depends on the order in which things happen"
    return f"{said_first}: in CTA {cta.cta}, {who}{tail}", report


def _busy(waiter: dict[str, Any]) -> str:
    return f"{waiter['agent']} was last seen at {waiter['file']}:{waiter['line']} and stands at no barrier"


def _positions(
    cta: CtaReplay,
    points: Sequence[Point],
    plan: Plan,
    part: int,
    program: Program,
    header: np.void,
    rings: Mapping[tuple[int, int], NDArray[np.uint32]],
) -> list[_Position]:
    active = list(plan.active(program, points, part))
    opening = [point.number for point in points if point.opening]
    start = int(header["start_clock"])
    found: list[_Position] = []
    read: dict[int, int] = {}
    for number, agent in enumerate(cta.agents):
        warp = agent.warps_of_cta[0]
        ring = rings[cta.cta, warp]
        first = read.get(warp, 0)
        opened = np.flatnonzero(np.isin(agent.marks, opening))
        places = np.flatnonzero(np.isin(agent.marks, active))
        passed = max(0, min(len(places), written(ring) - first, len(ring) - MOST_OF_A_BLOCK - first))
        # earlier runs of this warp are part of the stream, but their times do not matter here
        marks = agent.marks[places[:passed]]
        begin = _first_time(ring[first:], marks) if start == UNKNOWN_START else start
        times = np.concatenate([np.full(len(opened), begin), decode(ring[first:], marks, begin).times])
        read[warp] = first + passed
        so_far = np.concatenate([opened, places[:passed]])
        expected = len(opened) + len(places)
        found.append(_position(cta, number, agent, points, so_far, times, begin, expected, program))
    return found


def _first_time(ring: NDArray[np.uint32], marks: NDArray[np.int32]) -> int:
    """The lower half of the clock at the first point that was passed, which stands for the start of the CTA."""
    return (int(ring[0]) - (int(tags(marks[:1])[0]) << 24)) & 0xFFFFFFFF if len(marks) else 0


def _position(
    cta: CtaReplay,
    number: int,
    agent: AgentReplay,
    points: Sequence[Point],
    places: NDArray[np.int64],
    times: NDArray[np.int64],
    start: int,
    expected: int,
    program: Program,
) -> _Position:
    own = _own(cta, number, len(program.sites))
    since = int(times[-1]) - start if len(times) else 0
    if not len(places):
        return _Position(agent, 0, 0, -1, since, ended=False)
    last = int(places[-1])
    point = points[int(agent.marks[last])]
    events = int(np.searchsorted(own, agent.places[last]))
    done = point.finishes and len(places) == expected and agent.done
    site = point.begins[0] if point.begins else -1
    return _Position(agent, len(places), events, site, since, ended=done)


def _own(cta: CtaReplay, number: int, sites: int) -> NDArray[np.intp]:
    """Rows of a run's own events."""
    return np.flatnonzero((cta.rows[:, RUN] == number) & (cta.rows[:, CODE] < sites))


def _waiter(
    program: Program, cta: CtaReplay, number: int, position: _Position, positions: Sequence[_Position]
) -> dict[str, Any]:
    agent = program.agents[position.agent.agent]
    found: dict[str, Any] = {
        "agent": agent.name,
        "cta": cta.cta,
        "operation": "busy",
        "variable": "",
        "slot": -1,
        "phase": -1,
        "file": agent.location.file,
        "line": agent.location.line,
        "pending": 0,
        "count": 0,
        "missing_bytes": 0,
        "completed_phases": 0,
        "last_arrival": None,
        "outer": -1,
        "inner": -1,
        "since": position.since,
    }
    if position.site < 0:
        joins = agent.task == 0 and len(cta.agents) > 1
        return found | ({"operation": "join"} if joins else {})
    site = program.sites[position.site]
    found |= {"file": site.location.file, "line": site.location.line, "variable": site.variable}
    own = _own(cta, number, len(program.sites))
    blocked = position.agent.blocked
    if position.events < len(own):
        row = cta.rows[own[position.events]]
        barrier, home, slot, parity, phase = (int(row[column]) for column in (BARRIER, HOME, SLOT, PHASE, ROUND))
        found |= {"outer": int(row[OUTER]), "inner": int(row[INNER])}
    elif blocked is not None and blocked.site == position.site:
        barrier, home, slot, parity, phase = blocked.barrier, blocked.home, blocked.slot, blocked.phase, blocked.round
        found |= {"outer": blocked.outer, "inner": blocked.inner}
    else:
        return found
    found |= {"slot": slot, "phase": parity}
    match site.kind:
        case SiteKind.WAIT if barrier >= 0:
            counts = program.barriers[barrier].counts
            count = counts[slot] if 0 <= slot < len(counts) else 0
            arrived, last = _arrived(program, cta, positions, (home, barrier, slot, phase))
            found |= {
                "operation": "wait",
                "variable": program.barriers[barrier].name,
                "count": count,
                "pending": max(0, count - arrived),
                "completed_phases": phase,
                "last_arrival": last,
            }
        case SiteKind.NAMED_WAIT:
            count = _threads_of(site)
            arrived, last = _signalled(program, cta, positions, (slot, parity))
            found |= {
                "operation": "named_wait",
                "count": count,
                "pending": max(0, count - arrived),
                "completed_phases": parity,
                "last_arrival": last,
            }
        case SiteKind.CLUSTER_WAIT:
            found |= {"operation": "cluster_wait", "absent": []}
        case _:
            found |= {"operation": "busy"}
    return found


def _threads_of(site: Site) -> int:
    """Threads that a named barrier takes; 0 if the kernel computes that."""
    value = next(iter(site.operation.groups.get("threads", ())), None)
    owner = value.owner if value is not None else None
    number = owner.attributes.get("value") if isinstance(owner, Operation) else None
    return number if isinstance(number, int) else 0


def _signalled(
    program: Program, cta: CtaReplay, positions: Sequence[_Position], key: tuple[int, int]
) -> tuple[int, dict[str, Any] | None]:
    """Threads that have come to a phase of a named barrier, those who wait there included, and the last to arrive."""
    arrived = 0
    last: dict[str, Any] | None = None
    for number, position in enumerate(positions):
        own = _own(cta, number, len(program.sites))
        agent = program.agents[position.agent.agent]
        if position.site >= 0 and program.sites[position.site].kind is SiteKind.NAMED_WAIT:
            blocked = position.agent.blocked
            if position.events < len(own):
                row = cta.rows[own[position.events]]
                arrived += 32 * agent.warps * ((int(row[SLOT]), int(row[PHASE])) == key)
            elif blocked is not None and blocked.site == position.site:
                arrived += 32 * agent.warps * ((blocked.slot, blocked.phase) == key)
        for row in cta.rows[own[: position.events]]:
            site = program.sites[int(row[CODE])]
            if site.kind is not SiteKind.NAMED_ARRIVE or int(row[SLOT]) != key[0]:
                continue
            if int(row[PHASE]) == key[1]:
                arrived += 32 * agent.warps
            if last is None or int(row[PHASE]) >= last["round"]:
                last = _arrival(cta, agent, position, site, int(row[PHASE]))
    if last is not None:
        del last["round"]
    return arrived, last


def _arrival(cta: CtaReplay, agent: Agent, position: _Position, site: Site, number: int) -> dict[str, Any]:
    return {
        "agent": agent.name,
        "cycle": position.since,
        "file": site.location.file,
        "line": site.location.line,
        "cta": cta.cta,
        "round": number,
    }


def _arrived(
    program: Program, cta: CtaReplay, positions: Sequence[_Position], key: tuple[int, int, int, int]
) -> tuple[int, dict[str, Any] | None]:
    """Arrivals that a phase of an mbarrier has got from warp groups of its CTA, and the last on it of any phase."""
    arrived = 0
    last: dict[str, Any] | None = None
    for number, position in enumerate(positions):
        own = _own(cta, number, len(program.sites))[: position.events]
        for row in cta.rows[own]:
            site = program.sites[int(row[CODE])]
            if site.kind not in _CONTRIBUTIONS or (int(row[HOME]), int(row[BARRIER]), int(row[SLOT])) != key[:3]:
                continue
            if int(row[ROUND]) == key[3]:
                arrived += int(site.operation.attributes.get("count", 1))
            if last is None or int(row[ROUND]) >= last["round"]:
                last = _arrival(cta, program.agents[position.agent.agent], position, site, int(row[ROUND]))
    if last is not None:
        del last["round"]
    return arrived, last
