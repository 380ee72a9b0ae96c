"""Slots of a ring that are read in every round of a loop, and waited for in most of them only."""

from __future__ import annotations

from collections.abc import Iterator

from tlxviz.check.control import around, loops
from tlxviz.check.model import Finding, Severity
from tlxviz.check.static.registry import Kernel, rule
from tlxviz.ir.accesses import Access, accesses, agent_of
from tlxviz.ir.operation import Operation
from tlxviz.ir.program import Agent, BarrierArray, Buffer, Site, SiteKind

_FEWEST = 2
"""Waits of a warp group from which on their rhythm shows."""


@rule
def rounds_without_a_wait(kernel: Kernel) -> Iterator[Finding]:
    """Reads of a slot with no wait for a new fill, where the rounds around do wait."""
    filled = _filled(kernel)
    if not filled:
        return
    reads = [each for each in accesses(kernel.program) if not each.writes and each.buffer.slots > 1]
    for agent in kernel.program.agents:
        for wait in kernel.program.sites:
            if wait.agent is not agent or wait.kind is not SiteKind.WAIT or not _skips(kernel, agent, wait):
                continue
            found = _read(kernel, agent, wait, filled, reads)
            if found is not None and _is_only(kernel, wait):
                yield _finding(kernel, agent, wait, found)


def _filled(kernel: Kernel) -> dict[int, set[int]]:
    """The buffers whose fills tell an array of mbarriers."""
    found: dict[int, set[int]] = {}
    for site in kernel.program.sites:
        told, target = site.operation.operand("barrier"), site.operation.operand("dst")
        if site.kind is not SiteKind.TMA_LOAD or told is None or target is None:
            continue
        barrier, buffer = kernel.program.roots.get(told), kernel.program.roots.get(target)
        if isinstance(barrier, BarrierArray) and isinstance(buffer, Buffer):
            found.setdefault(barrier.index, set()).add(buffer.index)
    return found


def _skips(kernel: Kernel, agent: Agent, wait: Site) -> bool:
    """Whether a wait is left out in some rounds, and not in most."""
    around_it = loops(wait.operation)
    if not around_it or not _conditional(wait.operation, around_it[-1]):
        return False
    steps = next(course.steps for course in kernel.courses if course.agent is agent)
    rounds = sorted({step.inner for step in steps if step.site is wait})
    if len(rounds) < _FEWEST:
        return False
    span = rounds[-1] - rounds[0] + 1
    return span > len(rounds) and 2 * len(rounds) >= span


def _conditional(op: Operation, loop: Operation) -> bool:
    """Whether a branch stands between an operation and the loop around it."""
    for each in around(op):
        if each is loop:
            return False
        if each.name == "scf.if":
            return True
    return False


def _read(kernel: Kernel, agent: Agent, wait: Site, filled: dict[int, set[int]], reads: list[Access]) -> Access | None:
    """A read, in each round of the wait's loop, of what the wait is for."""
    loop = loops(wait.operation)[-1]
    root = kernel.program.roots.get(wait.operation.groups["barrier"][0])
    buffers = filled.get(root.index, set[int]()) if isinstance(root, BarrierArray) else set[int]()
    return next(
        (
            each
            for each in reads
            if each.buffer.index in buffers
            and loops(each.operation)[-1:] == (loop,)
            and not _conditional(each.operation, loop)
            and agent_of(kernel.program, each.operation) is agent
        ),
        None,
    )


def _is_only(kernel: Kernel, wait: Site) -> bool:
    """Whether no other wait of the loop is for the same barriers."""
    root = kernel.program.roots.get(wait.operation.groups["barrier"][0])
    others = (
        each
        for each in kernel.program.sites
        if each.kind is SiteKind.WAIT and each is not wait and each.agent is wait.agent
    )
    return all(kernel.program.roots.get(each.operation.groups["barrier"][0]) is not root for each in others)


def _finding(kernel: Kernel, agent: Agent, wait: Site, read: Access) -> Finding:
    name, doing = read.buffer.name, kernel.subjects.doing(read.operation)
    return kernel.finding(
        "slot-reuse",
        Severity.WARNING,
        f"{agent.name} reads a slot of {name} in every round, and waits for {wait.variable} in most of them only: in "
        "the others it reads what it has read before",
        [
            kernel.place_of(read.operation, f"{doing} reads {name}", name),
            kernel.place(wait, f"waits for {wait.variable}"),
        ],
        (f"the wait in line {wait.location.line} stands under a condition, and the {doing} does not",),
        f"Wait for {wait.variable} in each round, unless the same data is meant to be used twice.",
    )
