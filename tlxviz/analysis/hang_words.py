"""A hang in words, which all views share."""

from __future__ import annotations

from collections.abc import Iterator

from tlxviz.analysis.hang import Arriver, Hang, Waiter
from tlxviz.analysis.standstill import Standstill

_WITHOUT_VARIABLE = {
    "named_wait": "named barrier",
    "cluster_wait": "the barrier of the cluster",
    "join": "the other warp groups",
    "poll": "memory that nobody writes",
}
_MISSING = {"named_wait": "threads missing", "cluster_wait": "warps missing"}


def when_and_where(hang: Hang) -> str:
    """` at cycle 4,718 in CTA 0: 3 warp groups wait forever`, as far as it is known."""
    said = "" if hang.cycle is None else f" at cycle {hang.cycle:,}"
    if hang.cluster:
        said += f" in {cluster_words(hang)}"
    elif hang.cta is not None:
        said += f" in CTA {hang.cta}"
    number = len(hang.waiters)
    return f"{said}: {number:,} {'warp group waits' if number == 1 else 'warp groups wait'} forever"


def cluster_words(hang: Hang) -> str:
    """`the cluster of CTAs 4 (rank 0), 5 (rank 1)`."""
    return f"the cluster of CTAs {', '.join(f'{cta} (rank {rank})' for rank, cta in enumerate(hang.cluster))}"


def waits_on(waiter: Waiter) -> str:
    """`full[1]`, or words for what has no name."""
    barrier = waiter.variable or _WITHOUT_VARIABLE.get(waiter.operation, waiter.operation)
    return barrier if waiter.slot is None else f"{barrier}[{waiter.slot}]"


def who(agent: str, cta: int | None, hang: Hang) -> str:
    """`load`, or `load of CTA 1` where the hang is that of a cluster."""
    return f"{agent} of CTA {cta}" if hang.cluster and cta is not None else agent


def rank_words(cta: int | None, hang: Hang) -> str:
    """`rank 1`, of a CTA of the cluster that hangs; else nothing."""
    return f"rank {hang.cluster.index(cta)}" if cta is not None and cta in hang.cluster else ""


def reason(why: Standstill, hang: Hang) -> str:
    """`load waits on empty[0] for mma, mma waits on full[1] for load.`"""
    agents = [who(each.agent, each.cta, hang) for each in why.waiters]
    following = [*agents[1:], agents[0]] if why.circle else agents[1:]
    said = [
        f"{agent} waits on {waits_on(each)} for {other}"
        for agent, each, other in zip(agents, why.waiters, following, strict=False)
    ]
    if why.circle:
        return f"In a circle: {', '.join(said)}."
    last = why.waiters[-1]
    rest = f"for {' and '.join(why.ended)}, which has ended" if why.ended else "for an arrival that nothing brings"
    return ", ".join([*said, f"{agents[-1]} waits on {waits_on(last)} {rest}"]) + "."


def waiting(waiter: Waiter) -> str:
    """`waits on full[1], phase 0, since cycle 4,718, iteration 3`."""
    parts = [f"waits on {waits_on(waiter)}"]
    if waiter.phase is not None:
        parts.append(f"phase {waiter.phase}")
    return ", ".join([*parts, *since(waiter)])


def since(waiter: Waiter) -> Iterator[str]:
    """Cycle and iteration in which it began to wait."""
    if waiter.since is not None:
        yield f"since cycle {waiter.since:,}"
    if waiter.inner is not None:
        outer = "" if waiter.outer in (None, waiter.inner) else f" of outer iteration {waiter.outer}"
        yield f"iteration {waiter.inner}{outer}"


def missing(waiter: Waiter) -> str:
    """What the barrier's phase still misses; empty where that is not known."""
    parts: list[str] = []
    if waiter.pending is not None:
        total = "" if waiter.count is None else f" of {waiter.count:,}"
        parts.append(f"{waiter.pending:,}{total} {_MISSING.get(waiter.operation, 'arrivals pending')}")
    parts += [f"{each.pending} of {each.count} of CTA {each.cta}" for each in waiter.absent]
    if waiter.missing_bytes > 0:
        parts.append(f"{waiter.missing_bytes:,} bytes missing")
    elif waiter.missing_bytes < 0:
        parts.append(f"{-waiter.missing_bytes:,} bytes more than were expected")
    if waiter.completed_phases is not None:
        phases = "phase" if waiter.completed_phases == 1 else "phases"
        parts.append(f"{waiter.completed_phases:,} {phases} completed so far")
    return ", ".join(parts)


def arrives(each: Arriver) -> str:
    """Who arrives on a barrier."""
    what = "arrives on it from other CTAs" if each.remote else "arrives on it"
    return f"{what}: {each.agent}{' (ended)' if each.ended else ''}"
