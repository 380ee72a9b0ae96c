"""Hangs as findings: who waits for what, which kind of fault that is, and who should have acted."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from tlxviz.check.brings import Kind
from tlxviz.check.model import Finding, Place, Severity
from tlxviz.check.standstill import Chance, History, Standstill, Waiter
from tlxviz.check.verdicts import Outlook, Strength, Verdict, outlook
from tlxviz.ir.program import Program, SiteKind

_DOING = {
    SiteKind.EXPECT: "expects bytes on",
    SiteKind.TMA_LOAD: "TMA load tells",
    SiteKind.CLC: "answer of the block scheduler tells",
    SiteKind.ASYNC_COPY: "copy tells",
    SiteKind.MMA: "product arrives on",
    SiteKind.MMA_COMMIT: "commit arrives on",
    SiteKind.NAMED_WAIT: "waits at",
}


def finding_of_hang(report: Mapping[str, Any], program: Program, history: History) -> Finding:
    """The finding that a hang stands for.

    Args:
        report: Facts of the hang, as docs/trace.md describes them.
        program: The kernel.
        history: What happened before.
    """
    still = Standstill(report, program, history)
    outlooks = [outlook(still, number) for number in range(len(still.waiters))]
    root = _root(still, outlooks)
    if root is None:
        return _circle(still, outlooks)
    verdict = outlooks[root].verdict
    assert verdict is not None
    return _verdict(still, outlooks, root, verdict)


def _root(still: Standstill, outlooks: Sequence[Outlook]) -> int | None:
    """The waiter whose wait has the surest reason; of equals, the one that most wait for in the end."""
    judged = [number for number, each in enumerate(outlooks) if each.verdict is not None]
    if not judged:
        return None

    def rank(number: int) -> tuple[int, int, int]:
        verdict = outlooks[number].verdict
        assert verdict is not None
        held = sum(_way(outlooks, start, number) is not None for start in range(len(outlooks)))
        return verdict.strength, -held, number

    best = min(judged, key=rank)
    found = outlooks[best].verdict
    assert found is not None
    # who has gone on twice for one phase is at fault only where everybody waits for each other
    if found.strength is Strength.REPEATED and not _shortest_circle(outlooks):
        return None
    return best


def _way(outlooks: Sequence[Outlook], start: int, goal: int) -> list[int] | None:
    """The shortest way from a waiter to one that it waits for in the end; None if there is none."""
    before: dict[int, int] = {start: -1}
    open_ = deque([start])
    while open_:
        here = open_.popleft()
        if here == goal:
            way = [here]
            while before[way[-1]] >= 0:
                way.append(before[way[-1]])
            return way[::-1]
        for there in outlooks[here].waits_for:
            if there not in before:
                before[there] = here
                open_.append(there)
    return None


def _shortest_circle(outlooks: Sequence[Outlook]) -> list[int]:
    """The shortest circle of waiters, each of which waits for the next one; empty if there is none."""
    found: list[int] = []
    for start, each in enumerate(outlooks):
        for there in each.waits_for:
            way = _way(outlooks, there, start)
            if way is not None and (not found or len(way) < len(found)):
                found = [start, *way[:-1]]
    return found


# ---------------------------------------------------------------------- findings


def _verdict(still: Standstill, outlooks: Sequence[Outlook], root: int, verdict: Verdict) -> Finding:
    waiter = still.waiters[root]
    message = f"{still.name(*waiter.who)} waits for {_asked(waiter)} forever: {verdict.reason}"
    places = _places(still, [root], verdict.concerned)
    return Finding(
        verdict.rule,
        Severity.ERROR,
        still.program.name,
        message,
        places,
        tuple(_others(still, outlooks, [root])),
        verdict.advice,
        facts=_facts(waiter),
    )


def _circle(still: Standstill, outlooks: Sequence[Outlook]) -> Finding:
    circle = _shortest_circle(outlooks) or list(range(len(outlooks)))
    first = still.waiters[circle[0]]
    steps = [_step(still, outlooks, here, there) for here, there in zip(circle, [*circle[1:], circle[0]], strict=True)]
    roles = [still.name(*still.waiters[number].who) for number in circle]
    message = (
        f"{', '.join(roles[:-1])} and {roles[-1]} wait for each other" if roles[1:] else f"{roles[0]} waits for itself"
    )
    message += f": {'; '.join(steps)}"
    concerned = [chance for number in circle for chance in outlooks[number].through]
    names = dict.fromkeys(still.waiters[number].barrier for number in circle)
    advice = (
        f"Break the circle through {' and '.join(names)}: let one of them act before it waits, in the order in which "
        "the other one waits, or make the ring deeper."
    )
    return Finding(
        "circular-wait",
        Severity.ERROR,
        still.program.name,
        message,
        _places(still, circle, concerned),
        tuple(_others(still, outlooks, circle)),
        advice,
        facts=_facts(first),
    )


def _step(still: Standstill, outlooks: Sequence[Outlook], here: int, there: int) -> str:
    waiter, other = still.waiters[here], still.waiters[there]
    found = outlooks[here]
    position = found.waits_for.index(there) if there in found.waits_for else -1
    said = f"{_waits(still, waiter)}, for {still.name(*other.who)}"
    if 0 <= position < len(found.through):
        chance = found.through[position]
        verb = "copy" if chance.bringing.kind is Kind.BYTES else "arrive"
        said += f" to {verb} (line {chance.bringing.site.location.line})"
    return said


def _waits(still: Standstill, waiter: Waiter) -> str:
    where = f"line {waiter.location.line}{_round(waiter)}"
    return f"{still.name(*waiter.who)} waits for {waiter.barrier} in {where}"


def _round(waiter: Waiter) -> str:
    if waiter.inner < 0:
        return ""
    return f", iteration {waiter.inner}" + (f" of {waiter.outer}" if waiter.outer not in (-1, waiter.inner) else "")


def _others(still: Standstill, outlooks: Sequence[Outlook], said: Sequence[int]) -> list[str]:
    """What everybody else waits for, and who has ended."""
    found: list[str] = []
    for number, waiter in enumerate(still.waiters):
        if number not in said and waiter.operation != "join":
            hopes = outlooks[number].waits_for
            sentence = _step(still, outlooks, number, hopes[0]) if hopes else _waits(still, waiter)
            found.append(f"{sentence} ({_has(waiter)})")
    ended = sorted({still.name(*each) for each in still.left})
    if ended:
        found.append(f"{', '.join(ended)} {'has' if len(ended) == 1 else 'have'} ended")
    return found


def _has(waiter: Waiter) -> str:
    unit = {"named_wait": "threads", "cluster_wait": "warps"}.get(waiter.operation, "arrivals")
    have = f"{waiter.count - waiter.pending} of {waiter.count} {unit}"
    if waiter.missing_bytes:
        have += f", {abs(waiter.missing_bytes):,} bytes {'missing' if waiter.missing_bytes > 0 else 'too many'}"
    return "nobody writes it" if waiter.operation == "poll" else have


def _asked(waiter: Waiter) -> str:
    return f"phase {waiter.phase} of {waiter.barrier}" if waiter.operation == "wait" else waiter.barrier


def _facts(waiter: Waiter) -> dict[str, int | str]:
    facts: dict[str, int | str] = {"have": waiter.count - waiter.pending, "need": waiter.count, "phase": waiter.phase}
    if waiter.missing_bytes:
        facts["bytes"] = waiter.missing_bytes
    return facts


def _places(still: Standstill, first: Sequence[int], concerned: Sequence[Chance]) -> tuple[Place, ...]:
    """The waiters at fault, the operations that should have acted, and all other waiters."""
    waiting = [number for number, each in enumerate(still.waiters) if each.operation != "join"]
    order = [number for number in (*first, *waiting) if number in waiting]
    places = [_waiting(still.waiters[number]) for number in dict.fromkeys(order)]
    acting = [_acting(still, chance) for chance in concerned]
    return tuple(dict.fromkeys([*places[: len(first)], *acting, *places[len(first) :]]))


def _waiting(waiter: Waiter) -> Place:
    variable = waiter.variable or (str(waiter.slot) if waiter.operation == "named_wait" else "")
    return Place(
        f"waits for {waiter.barrier}",
        waiter.role,
        waiter.location,
        variable,
        waiter.slot,
        waiter.cta,
        waiter.outer,
        waiter.inner,
    )


def _acting(still: Standstill, chance: Chance) -> Place:
    bringing = chance.bringing
    site, slot = bringing.site, bringing.slot
    variable = still.program.barriers[bringing.array].name if bringing.array >= 0 else str(slot)
    name = f"named barrier {slot}" if bringing.array < 0 else variable if slot < 0 else f"{variable}[{slot}]"
    doing = f"{_DOING.get(site.kind, 'arrives on')} {name}"
    return Place(doing, chance.role, site.location, variable, slot, chance.cta if still.clustered else -1)
