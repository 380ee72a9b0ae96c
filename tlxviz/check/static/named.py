"""Named barriers: their numbers, and the threads that they count."""

from __future__ import annotations

from collections.abc import Iterator

from tlxviz.check.brings import Bringing, Kind
from tlxviz.check.control import around
from tlxviz.check.model import Finding, Place, Severity
from tlxviz.check.static.registry import Kernel, rule
from tlxviz.ir.operands import captured
from tlxviz.ir.program import Agent
from tlxviz.ir.sites import constant_int

_OF_ALL, _OF_TASKS, _OF_PARTITIONS = 0, 1, 2
"""The numbers that Triton uses itself: for the warps of the default task, for the begin and end of tasks, and from the
last one on one for the warps of each async task."""
_MEETING = frozenset(
    {
        "tt.reduce", "tt.scan", "tt.gather", "tt.histogram", "ttg.convert_layout", "ttg.barrier", "ttg.local_barrier",
        "gpu.barrier", "ttg.local_load", "ttg.local_store", "ttg.local_alloc", "ttng.wait_barrier",
        "ttng.arrive_barrier", "ttng.tmem_load", "ttng.tmem_store", "tt.atomic_rmw", "tt.atomic_cas",
        "ttng.async_tma_copy_local_to_global", "ttng.async_tma_copy_global_to_local",
    }
)  # fmt: skip
"""Operations at which the compiler may let the warps of a task meet."""


def _uses(kernel: Kernel) -> dict[int, list[Bringing]]:
    found: dict[int, list[Bringing]] = {}
    for each in kernel.bringings:
        if each.kind is Kind.THREADS and each.slot >= 0:
            found.setdefault(each.slot, []).append(each)
    return found


def _need(use: Bringing) -> int | None:
    return constant_int(captured(use.site.operation.groups["threads"][0]))


@rule
def numbers(kernel: Kernel) -> Iterator[Finding]:
    """Numbers that no SM has, and those that the compiler uses itself."""
    most = kernel.device.limits.named_barriers
    for number, uses in _uses(kernel).items():
        if number >= most:
            yield kernel.finding(
                "named-barrier",
                Severity.ERROR,
                f"{uses[0].site.agent.name} uses named barrier {number}, and an SM has {most} a CTA: 0 to {most - 1}",
                [_user(number, use) for use in uses],
                (),
                f"Take one of the numbers up to {most - 1}.",
            )
        elif (owner := _owner(kernel, number)) is not None:
            yield _reserved(kernel, number, uses, owner)


def _owner(kernel: Kernel, number: int) -> str | None:
    """For whom the compiler uses a number itself; None if it does not."""
    agents = kernel.program.agents
    if number == _OF_ALL:
        return f"the warps of {agents[0].name}"
    if number == _OF_TASKS and len(agents) > 1:
        return "the begin and the end of the tasks"
    position = number - _OF_PARTITIONS
    partitions = [agent for agent in agents if agent.task]
    if 0 <= position < len(partitions) and _meets(partitions[position]):
        return f"the warps of {partitions[position].name}"
    return None


def _meets(agent: Agent) -> bool:
    """Whether the warps of a task may have to meet."""
    return agent.warps > 1 and any(op.name in _MEETING for op in agent.region.walk())


def _reserved(kernel: Kernel, number: int, uses: list[Bringing], owner: str) -> Finding:
    roles = sorted({use.site.agent.name for use in uses})
    free = _OF_PARTITIONS + sum(1 for agent in kernel.program.agents if agent.task)
    return kernel.finding(
        "named-barrier",
        Severity.WARNING,
        f"{' and '.join(roles)} meet at named barrier {number}, which the compiler uses for {owner}",
        [_user(number, use) for use in uses],
        ("where it lets them meet depends on layouts, and no TTGIR says so",),
        f"Take a number from {free} to {kernel.device.limits.named_barriers - 1}.",
    )


@rule
def threads(kernel: Kernel) -> Iterator[Finding]:
    """Counts that no warps add up to, or that differ between the uses of one number."""
    everybody = 32 * kernel.program.total_warps
    for number, uses in _uses(kernel).items():
        needs = {need: use for use in uses if (need := _need(use)) is not None}
        for need, use in needs.items():
            if need % 32 or need > everybody or need < use.amount:
                yield _impossible(kernel, number, use, need, everybody)
        if len(needs) > 1 and not _apart(list(needs.values())):
            yield kernel.finding(
                "named-barrier",
                Severity.WARNING,
                f"named barrier {number} is used with {' and with '.join(map(str, sorted(needs)))} threads",
                [_counted(number, use, need) for need, use in needs.items()],
                ("the count has to be the same for all who meet there in one phase",),
                "Give the number of threads of all warps that arrive or wait in one phase.",
            )


def _impossible(kernel: Kernel, number: int, use: Bringing, need: int, everybody: int) -> Finding:
    if need % 32:
        reason = "a count is a multiple of the 32 threads of a warp"
    elif need > everybody:
        reason = f"the CTA has {everybody}"
    else:
        reason = f"{use.site.agent.name} alone has {use.amount}"
    return kernel.finding(
        "named-barrier",
        Severity.ERROR,
        f"{use.site.agent.name} meets others at named barrier {number} with {need} threads: {reason}",
        [_counted(number, use, need)],
        (),
        "Give the number of threads of all warps that arrive or wait in one phase.",
    )


def _user(number: int, use: Bringing) -> Place:
    site = use.site
    return Place(f"uses named barrier {number}", site.agent.name, site.location, str(number), number, -1)


def _counted(number: int, use: Bringing, need: int) -> Place:
    site = use.site
    doing = f"meets others at named barrier {number} with {need} threads"
    return Place(doing, site.agent.name, site.location, str(number), number, -1)


def _apart(uses: list[Bringing]) -> bool:
    """Whether the uses are branches of one condition, of which only one is taken."""
    first, *others = [{id(each) for each in around(use.site.operation) if each.name == "scf.if"} for use in uses]
    return bool(first.intersection(*others))
