"""What operations bring to barriers: arrivals, bytes, threads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from tlxviz.ir.operands import captured, slot_index
from tlxviz.ir.operation import Operation, Value
from tlxviz.ir.program import BarrierArray, Program, Site, SiteKind
from tlxviz.ir.sites import constant_int
from tlxviz.ir.types import MemDescType

_NAMED = (SiteKind.NAMED_ARRIVE, SiteKind.NAMED_WAIT)
_PER_THREAD = frozenset({"tlx.warp_barrier_arrive"})
CLC_BYTES = 16
"""Of an answer of the block scheduler."""


class Kind(StrEnum):
    """What is brought."""

    ARRIVALS = "arrivals"
    BYTES = "bytes"
    THREADS = "threads"


@dataclass(frozen=True, slots=True)
class Bringing:
    """One operation that brings something to one barrier each time."""

    site: Site
    kind: Kind
    array: int
    """Position in `program.barriers`; -1 for a named barrier."""
    slot: int
    """Slot, or number of a named barrier; -1 where it varies."""
    amount: int
    """How much, each time; 0 where that is not known."""
    barrier: Value
    remote: bool
    """Whether it can reach barriers of other CTAs of the cluster."""
    rank: int = -1
    """The rank of the only CTA that it reaches; -1 where that varies, or is that of its own CTA."""


def bringings(program: Program) -> tuple[Bringing, ...]:
    """All of a kernel, in the order of its sites."""
    return tuple(each for site in program.sites for each in _of_site(program, site))


def _of_site(program: Program, site: Site) -> Iterator[Bringing]:
    op = site.operation
    if site.kind in _NAMED:
        number = op.groups["barrier"][0]
        constant = constant_int(captured(number))
        yield Bringing(
            site, Kind.THREADS, -1, -1 if constant is None else constant, 32 * site.agent.warps, number, False
        )
        return
    for value, kind, amount in _told(site):
        root = program.roots.get(value)
        if isinstance(root, BarrierArray):
            yield Bringing(
                site, kind, root.index, constant_slot(value), amount, value, is_remote(op, value), _rank(value)
            )


def _told(site: Site) -> Iterator[tuple[Value, Kind, int]]:
    op = site.operation
    barrier = op.operand("barrier")
    match site.kind:
        case SiteKind.ARRIVE if barrier is not None:
            yield barrier, Kind.ARRIVALS, _arrivals(site)
        case SiteKind.EXPECT | SiteKind.MMA_COMMIT if barrier is not None:
            yield barrier, Kind.ARRIVALS, 1
        case SiteKind.MMA:
            for value in op.groups.get("barriers", ()):
                yield value, Kind.ARRIVALS, 1
        case SiteKind.CLC if barrier is not None:
            yield barrier, Kind.BYTES, CLC_BYTES
        case SiteKind.TMA_LOAD | SiteKind.ASYNC_COPY if barrier is not None:
            yield barrier, Kind.BYTES, site.bytes
        case _:
            pass


def _arrivals(site: Site) -> int:
    op = site.operation
    if op.name == "ttng.async_copy_mbarrier_arrive":
        return 0
    count = int(op.attributes["count"])
    per_thread = op.name in _PER_THREAD or bool(op.attributes.get("perThread"))
    return count * 32 * site.agent.warps if per_thread else count


def constant_slot(value: Value) -> int:
    """The slot of its allocation that a barrier is; -1 where it varies."""
    index = slot_index(value)
    return index.offset if index is not None and index.base is None else -1


def is_remote(op: Operation, barrier: Value) -> bool:
    """Whether an operation may reach barriers of other CTAs."""
    type_ = barrier.type
    there = isinstance(type_, MemDescType) and type_.space == "shared_cluster_memory"
    paired = bool(op.attributes.get("two_ctas") or op.attributes.get("two_cta"))
    several = paired or op.operand("multicast") is not None
    return there or several or op.operand("rank") is not None or op.name == "ttng.async_clc_try_cancel"


def _rank(barrier: Value) -> int:
    made = captured(barrier).owner
    while isinstance(made, Operation) and made.name.startswith("ttg.memdesc_"):
        made = captured(made.operands[0]).owner
    if not isinstance(made, Operation) or made.name != "ttng.map_to_remote_buffer":
        return -1
    rank = constant_int(captured(made.operands[1]))
    return -1 if rank is None else rank
