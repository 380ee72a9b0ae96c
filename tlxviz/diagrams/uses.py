"""What each operation of a program does to barriers and buffers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum

from tlxviz.diagrams.calls import Place, agent_at, places, root_at
from tlxviz.diagrams.model import EdgeKind
from tlxviz.ir.accesses import accesses
from tlxviz.ir.operands import affine
from tlxviz.ir.operation import Operation, Value
from tlxviz.ir.program import Agent, BarrierArray, Buffer, Program, SiteKind
from tlxviz.ir.sites import constant_int, kernel_line
from tlxviz.ir.types import MemDescType, bytes_of


@dataclass(frozen=True, slots=True)
class NamedBarrier:
    """One of the 16 barriers of a CTA that have a number and no memory."""

    number: int | None
    """None where the kernel computes it."""
    threads: int | None
    """That take part; likewise."""

    @property
    def name(self) -> str:
        return "named barrier" if self.number is None else f"named barrier {self.number}"


@dataclass(frozen=True, slots=True)
class ClusterBarrier:
    """The barrier that the CTAs of a cluster share."""

    name: str = "cluster barrier"


Thing = BarrierArray | Buffer | NamedBarrier | ClusterBarrier


class Reach(Enum):
    """Whose barrier or buffer it is."""

    OWN = 0
    OTHER = 1
    """That of another CTA of the cluster."""
    BOTH = 2
    """The CTA's own as well as another one's, or either of them."""


@dataclass(frozen=True, slots=True)
class Use:
    """An operation and one barrier or buffer that it works on."""

    place: Place
    agent: Agent
    line: int
    """In the kernel's own source; 0 where none is known."""
    kind: EdgeKind
    of: Thing
    count: int = 0
    """Arrivals, where it arrives."""
    bytes: int = 0
    """That it moves or expects; 0 where the IR does not fix it."""
    reach: Reach = Reach.OWN

    @property
    def operation(self) -> Operation:
        return self.place.operation


def uses(program: Program) -> tuple[Use, ...]:
    """All of them: those of barriers by site, then those of buffers, each in the order of the TTGIR."""
    found: dict[Operation, list[Place]] = {}
    for place in places(program):
        found.setdefault(place.operation, []).append(place)
    return (*_of_barriers(program, found), *_of_buffers(program, found))


def named_barriers(used: Iterable[Use]) -> tuple[NamedBarrier, ...]:
    """Each once, by number."""
    found = dict.fromkeys(use.of for use in used if isinstance(use.of, NamedBarrier))
    return tuple(sorted(found, key=lambda each: (-1 if each.number is None else each.number, each.threads or 0)))


def line_of(program: Program, operation: Operation) -> int:
    """Its line in the kernel's own source; 0 where none is known."""
    return kernel_line(operation.location, program.kernel.location).line


def _of_barriers(program: Program, places_of: Mapping[Operation, list[Place]]) -> list[Use]:
    found: list[Use] = []
    clustered = math.prod(program.cluster) > 1
    for site in program.sites:
        operation, line = site.operation, line_of(program, site.operation)
        for place in places_of.get(operation, ()):
            agent = agent_at(program, place) or site.agent
            if site.kind in (SiteKind.NAMED_WAIT, SiteKind.NAMED_ARRIVE):
                kind = EdgeKind.WAIT if site.kind is SiteKind.NAMED_WAIT else EdgeKind.ARRIVE
                found.append(Use(place, agent, line, kind, _named(operation), int(kind is EdgeKind.ARRIVE)))
                continue
            if clustered and site.kind in (SiteKind.CLUSTER_ARRIVE, SiteKind.CLUSTER_WAIT):
                both = operation.name == "ttng.cluster_barrier"
                kinds = [EdgeKind.ARRIVE] if both or site.kind is SiteKind.CLUSTER_ARRIVE else []
                kinds += [EdgeKind.WAIT] if site.kind is SiteKind.CLUSTER_WAIT else []
                found += [Use(place, agent, line, kind, ClusterBarrier()) for kind in kinds]
            for value in (*operation.groups.get("barrier", ()), *operation.groups.get("barriers", ())):
                barrier = root_at(program, value, place)
                if isinstance(barrier, BarrierArray):
                    use = Use(place, agent, line, EdgeKind.ARRIVE, barrier, reach=reach(program, operation, value))
                    found.append(_of_barrier(use, site.kind, site.bytes))
    return found


def _of_barrier(use: Use, kind: SiteKind, moved: int) -> Use:
    match kind:
        case SiteKind.WAIT:
            return replace(use, kind=EdgeKind.WAIT)
        case SiteKind.TMA_LOAD | SiteKind.TMA_STORE | SiteKind.ASYNC_COPY | SiteKind.CLC:
            return replace(use, kind=EdgeKind.COMPLETE, bytes=moved)
        case SiteKind.EXPECT:
            return replace(use, count=1, bytes=moved)
        case _:
            # what copies of a thread complete arrives once for each thread, of which the IR says nothing
            alone = 0 if use.operation.name == "ttng.async_copy_mbarrier_arrive" else 1
            return replace(use, count=int(use.operation.attributes.get("count", alone)))


def reach(program: Program, operation: Operation, value: Value) -> Reach:
    """Whose memory an operand is that an operation arrives at, fills or reads."""
    if math.prod(program.cluster) == 1:
        return Reach.OWN
    if isinstance(value.type, MemDescType) and value.type.space == "shared_cluster_memory":
        return _mapped(value)
    written = value not in operation.groups.get("src", ())
    if operation.name in _REMOTE:
        return Reach.OTHER if written else Reach.OWN
    if operation.operand("multicast") is not None or "two_ctas" in operation.attributes:
        return Reach.BOTH
    if operation.name in _FOR_ALL or (operation.name == "ttng.tc_gen5_commit" and _paired(program)):
        return Reach.BOTH
    return Reach.OWN


_REMOTE = frozenset({"ttg.remote_shmem_store", "ttg.async_remote_shmem_store", "ttg.async_remote_shmem_copy"})
_FOR_ALL = frozenset({"ttng.async_clc_try_cancel"})


def _mapped(value: Value) -> Reach:
    """A view that was mapped to the rank `own ^ n` is another CTA's; to any other rank it may be the CTA's own, too."""
    while isinstance(value.owner, Operation) and value.owner.name != "ttng.map_to_remote_buffer":
        views = value.owner.groups.get("src", ())
        if not views:
            return Reach.BOTH
        value = views[0]
    if not isinstance(value.owner, Operation):
        return Reach.BOTH
    rank = value.owner.groups["rank"][0].owner
    return Reach.OTHER if isinstance(rank, Operation) and rank.name == "arith.xori" else Reach.BOTH


def _paired(program: Program) -> bool:
    """Whether products are of pairs of CTAs."""
    return any("two_ctas" in operation.attributes for operation in program.module.walk())


def _named(operation: Operation) -> NamedBarrier:
    return NamedBarrier(_constant(operation.operand("barrier")), _constant(operation.operand("threads")))


def _constant(value: Value | None) -> int | None:
    if value is None:
        return None
    index = affine(value)
    return index.offset if index.base is None else constant_int(value)


def parity(operation: Operation) -> str:
    """The parity that a wait waits for: `0` or `1`; `phase` where the kernel computes it."""
    value = _constant(operation.operand("phase"))
    return "phase" if value is None else str(value & 1)


def _of_buffers(program: Program, places_of: Mapping[Operation, list[Place]]) -> list[Use]:
    found: list[Use] = []
    for access in accesses(program):
        if access.operation.name in _NOTHING_MOVED:
            continue
        moved = _moved(access.operation, access.part)
        line = line_of(program, access.operation)
        # a tensor core reads its accumulator as well; what others see of that is that it is filled
        kind = EdgeKind.FILL if access.writes else EdgeKind.READ
        for place in places_of.get(access.operation, ()):
            agent = agent_at(program, place)
            if agent is not None:
                far = reach(program, access.operation, access.value)
                found.append(Use(place, agent, line, kind, access.buffer, bytes=moved, reach=far))
    return found


_NOTHING_MOVED = frozenset({"ttng.warp_group_dot_wait", "ttng.inval_barrier"})


def _moved(operation: Operation, part: str) -> int:
    values = operation.groups.get(part, ()) if part != "init" else operation.results
    return bytes_of(values[0].type) if values else 0
