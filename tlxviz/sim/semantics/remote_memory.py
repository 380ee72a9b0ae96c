"""`ttng`, `ttg`: stores and copies into the shared memory of other CTAs of the cluster."""

from __future__ import annotations

import math

from tlxviz.ir.operation import Operation, Value
from tlxviz.ir.types import bytes_of
from tlxviz.sim import costs
from tlxviz.sim.emitter import Emitter, emits
from tlxviz.sim.engine import TMA
from tlxviz.sim.errors import UnsupportedOperation
from tlxviz.sim.semantics.shared_memory import contents
from tlxviz.sim.semantics.sync import barrier


@emits("ttng.map_to_remote_buffer")
def map_to_remote_buffer(e: Emitter, op: Operation) -> None:
    source, rank = op.groups["src"][0], op.groups["rank"][0]
    e.charge(slots=1)
    if source in e.unit.arrays:
        e.unit.arrays.add(op.result)
    if not e.unit.clustered:
        e.set(op.result, e.get(source))
        return
    code, where = e.scalar(source), e.scalar(rank)
    if source in e.unit.arrays:
        e.result_scalar(op, f"[remote_barrier(cta, each, {where}) for each in {code}]")
    elif e.is_barrier(source):
        e.result_scalar(op, f"remote_barrier(cta, {code}, {where})")
    else:
        e.result_scalar(op, f"remote_view(cta, {code}, {where})")


@emits("ttg.remote_shmem_store", "ttg.async_remote_shmem_store")
def remote_store(e: Emitter, op: Operation) -> None:
    """The warp group issues the stores and goes on; they arrive later, and may tell a barrier in the other CTA."""
    costs_of = e.unit.device.cluster
    _check_clustered(e)
    e.settle_loads()
    source, target = op.groups["src"][0], op.groups["dst"][0]
    size = bytes_of(target.type)
    rank, view = e.scalar(op.groups["rank"][0]), e.scalar(target)
    value = e.dense(source) if contents(e, target) else "None"
    e.flush()
    begin = e.mark()
    e.charge(slots=size / e.unit.device.memory.shared_bytes_per_cycle)
    e.order()
    row = e.row()
    e.record(begin=begin, slot=f"{view}.slot")
    takes = math.ceil(size / costs_of.copy_bytes_per_cycle + costs_of.remote_latency_cycles)
    landed = e.let(e.late(f"t + {takes}", "remote"), "x")
    e.line(f"if me.remote < {landed}: me.remote = {landed}")
    there = e.let(f"remote_view(cta, {view}, {rank})", "w")
    told = op.operand("barrier")
    if told is None:
        e.watch("sends", "None", there, "None")
    store = f"{there}, {value}, {e.site()}, cta"
    if told is None:
        e.line(f"heappush(heap, ({landed}, next(seq), write_remotely, ({store})))")
        return
    b = _barrier_there(e, told, rank)
    e.line(f"heappush(heap, ({landed}, next(seq), store_remotely, ({store}, {b}, {size}, {e.foreign(row)})))")
    e.watch("sends", "None", there, b)


@emits("ttg.async_remote_shmem_copy")
def remote_copy(e: Emitter, op: Operation) -> None:
    """`cp.async.bulk` between CTAs: the TMA engine reads the source until the bytes are there."""
    cluster = e.unit.device.cluster
    _check_clustered(e)
    e.settle_loads()
    source, target = op.groups["src"][0], op.groups["dst"][0]
    size = bytes_of(source.type)
    rank, view, origin = e.scalar(op.groups["rank"][0]), e.scalar(target), e.scalar(source)
    transfer = math.ceil(size / cluster.copy_bytes_per_cycle)
    e.flush()
    begin = e.mark()
    costs.block_barrier(e)  # all warps have written before one of them issues the copy
    e.charge(latency=e.unit.device.tma.issue_cycles)
    e.order()
    row = e.row()
    e.record(begin=begin, slot=f"{view}.slot")
    x = e.queue("tma_store_free", transfer)
    e.line(f"sm.tma_store_busy += {transfer}")
    landed = e.let(e.late(f"{x} + {transfer + round(cluster.copy_latency_cycles)}", "remote"), "x")
    if e.traced:
        e.record(begin=x, end=landed, slot=f"{view}.slot", cause=row, engine=TMA)
    cause = e.foreign(f"{row} + 1") if e.traced else "-1"
    there = e.let(f"remote_view(cta, {view}, {rank})", "w")
    b = _barrier_there(e, op.groups["barrier"][0], rank)
    read = origin if contents(e, target) else "None"
    copy = f"{there}, {read}, {e.site()}, cta, {b}, {size}, {cause}"
    e.line(f"heappush(heap, ({landed}, next(seq), copy_remotely, ({copy})))")
    e.watch("sends", origin, there, b)


def _barrier_there(e: Emitter, value: Value, rank: str) -> str:
    return e.let(f"remote_barrier(cta, {barrier(e, value)}, {rank})", "b")


def _check_clustered(e: Emitter) -> None:
    if not e.unit.clustered:
        raise UnsupportedOperation("a store into another CTA in a kernel without clusters: launch it with ctas_per_cga")
