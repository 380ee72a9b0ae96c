"""`ttng`, `nvg`: ranks in a cluster, and the barrier that its CTAs share."""

from __future__ import annotations

import math

from tlxviz.ir.operation import Operation
from tlxviz.ir.pairs import has_paired_products
from tlxviz.ir.program import Program
from tlxviz.sim.emitter import Emitter, emits

_REMOTE = frozenset({"ttng.map_to_remote_buffer"})


def initial_meeting(program: Program) -> Operation | None:
    """The operation after which all CTAs of a cluster meet, though the TTGIR does not say so; None if they do not.

    Triton lets them meet once mbarriers are initialised that other CTAs arrive on or multicast to, or that products of
    pairs arrive on, in every warp, also in those of tasks that have not begun. It does not for the barriers of
    distributed-shared-memory stores.
    """
    if math.prod(program.cluster) == 1:
        return None
    remote = any(op.name in _REMOTE or op.groups.get("multicast") for op in program.module.walk())
    if not remote and not has_paired_products(program):
        return None
    entry = program.kernel.regions[0].entry
    made = [op for op in entry.operations if op.name == "ttng.init_barrier"]
    return made[-1] if made else None


@emits("nvg.cluster_id")
def cluster_id(e: Emitter, op: Operation) -> None:
    """The rank of the CTA in its cluster, in spite of the name."""
    e.charge(slots=1)
    e.result_scalar(op, "cta.rank" if e.unit.clustered else "0")


@emits("ttng.cluster_size_1d")
def cluster_size(e: Emitter, op: Operation) -> None:
    e.result_scalar(op, str(math.prod(e.unit.program.cluster)))


@emits("ttng.cluster_arrive")
def cluster_arrive(e: Emitter, op: Operation) -> None:
    e.settle_loads()
    if not e.unit.clustered:
        return
    e.flush()
    begin = e.mark()
    relaxed = bool(op.attributes.get("relaxed"))
    _arrive(e, begin, relaxed=relaxed)


@emits("ttng.cluster_wait")
def cluster_wait(e: Emitter, op: Operation) -> None:
    if not e.unit.clustered:
        e.charge(latency=e.unit.device.cluster.barrier_cycles)
        return
    e.order()
    _wait(e, e.mark())


@emits("ttng.cluster_barrier")
def cluster_barrier(e: Emitter, op: Operation) -> None:
    e.settle_loads()
    if not e.unit.clustered:
        e.charge(latency=e.unit.device.cluster.barrier_cycles)
        return
    e.flush()
    begin = e.mark()
    _release(e)
    e.order()
    e.line(f"cta.cluster.barrier.arrive(me, t, {e.warps}, {e.site()}, -1)")
    e.watch("cluster_arrived", at=False)
    _wait(e, begin)


def meet(e: Emitter) -> None:
    """All warps of all CTAs meet; what the compiler does where the TTGIR says nothing, so no event tells of it."""
    e.order()
    e.line(f"cta.cluster.barrier.arrive(me, t, {e.unit.program.total_warps}, -1, -1)")
    e.watch("cluster_arrived", at=False)
    _block(e, e.site())


def part(e: Emitter) -> None:
    """The CTAs of pairs meet once more before they end, since tensor cores of one use the memory of the other.

    What all tasks have sent to other CTAs has got there before.
    """
    e.flush()
    e.line("t = max(t, *(run.remote + 1 for run in cta.agents))")
    e.order()
    e.line(f"cta.cluster.barrier.arrive(me, t, {e.unit.program.total_warps}, -1, -1)")
    e.watch("cluster_arrived", at=False)
    _block(e, "-1")


def _arrive(e: Emitter, begin: str, *, relaxed: bool) -> None:
    if not relaxed:
        _release(e)
    e.order()
    row = e.row()
    e.record(begin=begin, phase="cta.cluster.barrier.completed")
    e.line(f"cta.cluster.barrier.arrive(me, t, {e.warps}, {e.site()}, {e.foreign(row)})")
    e.watch("cluster_arrived", at=False)


def _release(e: Emitter) -> None:
    """What was written before is seen by those who wait: also what was written into other CTAs."""
    e.line("if t < me.remote: t = me.remote")
    e.charge(latency=e.unit.device.cluster.release_cycles)


def _wait(e: Emitter, begin: str) -> None:
    completed = e.let("me.meeting", "n") if e.traced else "-1"
    _block(e, e.site())
    e.record(begin=begin, phase=completed, cause="cta.cluster.barrier.cause")


def _block(e: Emitter, site: int | str) -> None:
    outer, inner = e.iteration()
    with e.block("if cta.cluster.barrier.holds(me):"):
        e.line("cta.cluster.barrier.waiters.append(send)")
        e.line(f"me.blocked = ('cluster_wait', {site}, t, {outer}, {inner}, cta.cluster.barrier, -1)")
        e.line("t = yield None")
    e.line(f"t += {round(e.unit.device.cluster.barrier_cycles)}")
    e.watch("cluster_waited", at=False)
