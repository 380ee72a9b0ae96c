"""Barriers that the compiler added after the TTGIR, and barrier operations of the source that it removed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tlxviz.analysis.machine_code import Instructions, Spot, instructions, operations_of, places
from tlxviz.ir.operation import Operation, Region
from tlxviz.ir.program import Program, SiteKind
from tlxviz.ir.sites import SITES, kernel_line
from tlxviz.trace.model import LaunchTrace


@dataclass(frozen=True, slots=True)
class AddedBarrier:
    """Instructions at one line that nobody asked for, the same in each of `agents`."""

    agents: tuple[str, ...]
    """Names of warp groups; empty: not known whose."""
    operation: str
    """Of PTX: `bar.sync` where the threads of a warp group, or of the CTA, meet; `fence.proxy.async`; waits for copies;
    the barrier of the cluster."""
    threads: int
    """That meet there; 0 where that says nothing."""
    line: int
    """In the kernel's own source; 0 where the compiler names none."""
    count: int
    """In the code of each of `agents`, however often it runs."""
    loops: int
    """Around it."""
    innermost: bool
    """Whether it is in a loop that has no other in it."""
    loop: int
    """Line of the innermost loop around it; 0 for none."""
    beside: tuple[str, ...]
    """Operations of the TTGIR at the same place that may be the reason."""


@dataclass(frozen=True, slots=True)
class RemovedBarrier:
    """A barrier operation of the source of which there is nothing left."""

    operation: str
    """Of MLIR."""
    file: str
    line: int
    agents: tuple[str, ...]
    """Names of warp groups; empty: the compiler removed it before tasks were told apart."""
    missing: str
    """The first stage that does not have it: `ttgir` or `ptx`."""


_BARRIERS = frozenset({"ttg.barrier", "ttg.local_barrier", "gpu.barrier"})
_ASKED_BY: dict[str, frozenset[SiteKind]] = {
    "fence.proxy.async": frozenset({SiteKind.FENCE}),
    "cp.async.wait_group": frozenset({SiteKind.ASYNC_COPY_WAIT}),
    "cp.async.wait_all": frozenset({SiteKind.ASYNC_COPY_WAIT}),
    "cp.async.bulk.wait_group": frozenset({SiteKind.TMA_STORE_WAIT}),
    "barrier.cluster.arrive": frozenset({SiteKind.CLUSTER_ARRIVE, SiteKind.CLUSTER_WAIT}),
    "barrier.cluster.wait": frozenset({SiteKind.CLUSTER_ARRIVE, SiteKind.CLUSTER_WAIT}),
}
"""Instructions of PTX, other than `bar.sync`, that can be added, and what in the TTGIR asks for them."""
_REASONS = frozenset({"tt.reduce", "tt.scan", "tt.gather", "tt.histogram", "ttg.convert_layout", "tt.atomic_rmw"}) | {
    "tt.atomic_cas",
    "ttg.local_alloc",
    "ttg.local_load",
    "ttg.local_store",
    "ttg.local_dealloc",
    "ttng.init_barrier",
    "ttng.inval_barrier",
}
"""What is no site, and uses shared memory."""
_LEFT_OF: dict[SiteKind, frozenset[str]] = {
    SiteKind.WAIT: frozenset({"mbarrier.try_wait", "mbarrier.test_wait"}),
    SiteKind.ARRIVE: frozenset({"mbarrier.arrive", "cp.async.mbarrier.arrive"}),
    SiteKind.EXPECT: frozenset({"mbarrier.arrive.expect_tx", "mbarrier.expect_tx"}),
    SiteKind.NAMED_ARRIVE: frozenset({"bar.arrive", "barrier.arrive"}),
}
"""What becomes of barrier operations in PTX."""
_SYNCHRONIZING = frozenset(SiteKind) - {
    SiteKind.TMA_LOAD,
    SiteKind.TMA_STORE,
    SiteKind.TMA_REDUCE,
    SiteKind.MMA,
    SiteKind.ASYNC_COPY,
    SiteKind.CLC,
    SiteKind.RANGE_BEGIN,
    SiteKind.RANGE_END,
}


def added_barriers(launch: LaunchTrace, program: Program) -> tuple[AddedBarrier, ...] | None:
    """What the PTX has and the TTGIR does not ask for, by warp group and line; None where the trace has no PTX."""
    code = instructions(launch.metadata, "ptx", program)
    if code is None:
        return None
    there = places(program)
    found: dict[tuple[Any, ...], list[int | None]] = {}
    counts: Counter[tuple[Any, ...]] = Counter()
    for each in code:
        operations = _at(each, there.operations, len(program.agents))
        if _is_added(each, operations):
            key = each.name, each.threads, each.line, each.loops, each.innermost
            counts[(each.agent, *key)] += each.count
    for (agent, *key), count in counts.items():
        found.setdefault((*key, count), []).append(agent)
    result: list[AddedBarrier] = []
    for (name, threads, line, loops, innermost, count), agents in found.items():
        spots = [Spot(agent, line) for agent in agents if agent is not None]
        beside = {operation for spot in spots for operation in there.operations.get(spot, ())}
        result.append(
            AddedBarrier(
                agents=tuple(program.agents[agent].name for agent in sorted(spot.agent for spot in spots)),
                operation=name,
                threads=threads or _all_threads(name, program),
                line=line,
                count=count,
                loops=loops,
                innermost=innermost,
                loop=next((there.loops[spot] for spot in spots if spot in there.loops), 0) if loops else 0,
                beside=tuple(sorted(operation for operation in beside if _is_reason(operation))),
            )
        )
    return tuple(sorted(result, key=lambda each: (each.agents, each.line, each.operation, -each.loops)))


def _at(each: Instructions, operations: Mapping[Spot, set[str]], agents: int) -> set[str]:
    """What the TTGIR has at its line; in any warp group, where it is not known whose it is."""
    of = range(agents) if each.agent is None else (each.agent,)
    return {name for agent in of for name in operations.get(Spot(agent, each.line), ())}


def _is_added(each: Instructions, operations: set[str]) -> bool:
    if each.name in ("bar.sync", "barrier.sync"):
        # other numbers are the author's, and 1 is where tasks begin and end
        return each.own and operations.isdisjoint(_BARRIERS)
    asked_by = _ASKED_BY.get(each.name)
    return asked_by is not None and asked_by.isdisjoint(_kinds(operations))


def _kinds(operations: Iterable[str]) -> set[SiteKind]:
    return {SITES[name].kind for name in operations if name in SITES}


def _is_reason(operation: str) -> bool:
    return operation in SITES or operation in _REASONS


def _all_threads(name: str, program: Program) -> int:
    return 32 * program.agents[0].warps if name in ("bar.sync", "barrier.sync") else 0


def removed_barriers(launch: LaunchTrace, program: Program) -> tuple[RemovedBarrier, ...]:
    """Barrier operations of the source that are wholly gone.

    An operation counts as gone from the TTGIR if that has no synchronizing operation from the same place, line and
    column; copies by inlining, unrolling or peeling keep their places. It counts as gone from the PTX if that has no
    instruction of its kind at its line, none without a line, and fewer of them than the TTGIR; and if no other branch
    of a condition has its like, since LLVM makes one instruction of two such.
    """
    before = _gone_from_ttgir(launch.metadata.get("written") or (), program)
    after = _gone_from_ptx(launch.metadata, program)
    return (*before, *after)


def _gone_from_ttgir(written: Sequence[Mapping[str, Any]], program: Program) -> list[RemovedBarrier]:
    files: set[str] = set()
    left: set[tuple[str, int, int]] = set()
    for operation in program.module.walk():
        place = operation.location
        files.add(place.file)
        if _synchronizes(operation.name):
            left.add((place.file, place.line, place.column))
    return [
        RemovedBarrier(each["name"], each["file"], each["line"], (), "ttgir")
        for each in written
        if _synchronizes(each["name"])
        and each["file"] in files
        and (each["file"], each["line"], each["column"]) not in left
    ]


def _synchronizes(name: str) -> bool:
    return name in _BARRIERS or (name in SITES and SITES[name].kind in _SYNCHRONIZING)


def _gone_from_ptx(metadata: Mapping[str, Any], program: Program) -> list[RemovedBarrier]:
    code = instructions(metadata, "ptx", program)
    if not code:
        return []
    asking: dict[SiteKind, list[tuple[Operation, int, int]]] = {}
    for operation, agent, _ in operations_of(program):
        if operation.name in SITES:
            line = kernel_line(operation.location, program.kernel.location).line
            asking.setdefault(SITES[operation.name].kind, []).append((operation, agent.index, line))
    found: dict[tuple[str, str, int], set[int]] = {}
    for kind, names in _LEFT_OF.items():
        lines = Counter[int]()
        for each in code:
            if each.name in names:
                lines[each.line] += each.count
        operations = asking.get(kind, [])
        if 0 in lines or lines.total() >= len(operations):
            continue
        for operation, agent, line in operations:
            if line and line not in lines and not _has_like(operation, kind):
                place = kernel_line(operation.location, program.kernel.location)
                found.setdefault((operation.name, place.file, line), set()).add(agent)
    return [
        RemovedBarrier(name, file, line, tuple(program.agents[agent].name for agent in sorted(agents)), "ptx")
        for (name, file, line), agents in found.items()
    ]


def _has_like(operation: Operation, kind: SiteKind) -> bool:
    """Whether another branch of a condition around the operation has one of its kind."""
    region: Region | None = operation.block.region if operation.block is not None else None
    while region is not None and region.parent is not None:
        holder = region.parent
        if holder.name == "scf.if":
            others = [other for other in holder.regions if other is not region]
            if any(kind in _kinds([each.name]) for other in others for each in other.walk()):
                return True
        region = holder.block.region if holder.block is not None else None
    return False
