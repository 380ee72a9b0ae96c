"""Arrivals at mbarriers: none at all, or more in a phase than the barrier counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from tlxviz.check.brings import Kind
from tlxviz.check.model import Finding, Place, Severity
from tlxviz.check.static.registry import Kernel, rule
from tlxviz.ir.operands import captured
from tlxviz.ir.program import BarrierArray, Site, SiteKind
from tlxviz.ir.sites import constant_int


@rule
def nobody_completes(kernel: Kernel) -> Iterator[Finding]:
    """Waits at barriers on which nothing ever arrives."""
    served = {each.array for each in kernel.bringings if each.kind is Kind.ARRIVALS}
    waits: dict[int, list[Site]] = {}
    for site in kernel.program.sites:
        root = kernel.program.roots.get(site.operation.groups["barrier"][0]) if site.kind is SiteKind.WAIT else None
        if isinstance(root, BarrierArray) and root.index not in served:
            waits.setdefault(root.index, []).append(site)
    for array, sites in waits.items():
        # a wait for the parity of the phase before the first one goes on at once, and for ever
        asking = [site for site in sites if _parity(site) != 1]
        if asking:
            yield _unserved(kernel, array, asking)


def _parity(site: Site) -> int | None:
    return constant_int(captured(site.operation.groups["phase"][0]))


def _unserved(kernel: Kernel, array: int, sites: list[Site]) -> Finding:
    name = kernel.program.barriers[array].name
    surely = any(step.array == array and step.parity == 0 for course in kernel.courses for step in course.steps) or any(
        _parity(site) == 0 for site in sites
    )
    return kernel.finding(
        "arrive-count",
        Severity.ERROR if surely else Severity.WARNING,
        f"{sites[0].agent.name} waits for {name}, on which nothing in the kernel arrives",
        [kernel.place(site, f"waits for {name}") for site in sites],
        (f"{name} counts {max(kernel.program.barriers[array].counts)} arrivals a phase",),
        f"Arrive on {name} where its slot is given back or filled.",
    )


@dataclass(slots=True)
class _Traffic:
    """What comes to the mbarriers of an allocation, and what is waited for there."""

    phases: int = 0
    """That complete by the arrivals, of all slots together."""
    waits: Counter[str] = field(default_factory=Counter[str])
    """Phases that each warp group asks for, each of another parity than the one before of its slot."""
    waiting: dict[Site, None] = field(default_factory=dict[Site, None])
    """Where."""
    roles: dict[int, set[str]] = field(default_factory=dict[int, set[str]])
    """Who arrives, by slot."""
    sites: dict[Site, None] = field(default_factory=dict[Site, None])
    """That arrive."""


@rule
def more_than_counted(kernel: Kernel) -> Iterator[Finding]:
    """Barriers that count fewer arrivals than come from several warp groups in each phase."""
    if kernel.clustered or not all(course.complete for course in kernel.courses):
        return
    for array, traffic in _traffic(kernel).items():
        made = kernel.program.barriers[array]
        roles = sorted(max(traffic.roles.values(), key=len, default=set[str]()))
        wanted = max(traffic.waits.values(), default=0)
        # slots are given back once more than they are waited for in the last lap, and once where a ring is primed
        if not wanted or len(roles) < 2 or traffic.phases < 2 * wanted or traffic.phases <= wanted + 2 * made.slots:
            continue
        yield kernel.finding(
            "arrive-count",
            Severity.ERROR,
            f"{made.name} counts {_arrivals(made.counts[0])}, and {' and '.join(roles)} arrive on it: that completes "
            f"{traffic.phases} phases, of which {next(iter(traffic.waiting)).agent.name} waits for {wanted}",
            [
                *(kernel.place(site, f"waits for {made.name}") for site in traffic.waiting),
                *(kernel.place(site, f"arrives on {made.name}") for site in traffic.sites),
                _made(kernel, array),
            ],
            ("the first arrivals complete a phase, and those that come later count for the next one",),
            f"Let {made.name} count the arrivals of all of them: arrive_count.",
        )


def _traffic(kernel: Kernel) -> dict[int, _Traffic]:
    found: dict[int, _Traffic] = {}
    arrivals = Counter[tuple[int, int]]()
    last: dict[tuple[str, int, int], int] = {}
    for course in kernel.courses:
        for step in course.steps:
            if step.array < 0 or step.array in kernel.renewed:
                continue
            traffic = found.setdefault(step.array, _Traffic())
            if step.parity >= 0:
                key = course.agent.name, step.array, step.slot
                traffic.waits[course.agent.name] += last.get(key, 1) != step.parity
                traffic.waiting[step.site] = None
                last[key] = step.parity
            elif step.brings is not None and step.brings.kind is Kind.ARRIVALS:
                arrivals[step.array, step.slot] += step.brings.amount
                traffic.sites[step.site] = None
                traffic.roles.setdefault(step.slot, set()).add(course.agent.name)
    for (array, slot), number in arrivals.items():
        counts = kernel.program.barriers[array].counts
        if 0 <= slot < len(counts) and counts[slot]:
            found[array].phases += number // counts[slot]
    return found


def _arrivals(count: int) -> str:
    return f"{count} arrival{'s' if count != 1 else ''} a phase"


def _made(kernel: Kernel, array: int) -> Place:
    made = kernel.program.barriers[array]
    return kernel.place_of(made.operation, f"makes {made.name}", made.name)
