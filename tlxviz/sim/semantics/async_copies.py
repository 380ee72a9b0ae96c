"""`ttg`: asynchronous copies from global to shared memory."""

from __future__ import annotations

from tlxviz.ir.operation import Operation
from tlxviz.ir.types import bytes_of
from tlxviz.sim import costs
from tlxviz.sim.effects import own_loads
from tlxviz.sim.emitter import Emitter, emits
from tlxviz.sim.engine import TMA
from tlxviz.sim.errors import UnsupportedOperation
from tlxviz.sim.expressions import parts_code
from tlxviz.sim.representation import DensePointers, Pointer, Pointers, Scalar
from tlxviz.sim.semantics.operands import filler_code, mask_code
from tlxviz.sim.semantics.shared_memory import contents
from tlxviz.sim.semantics.sync import barrier, drain


@emits("ttg.async_copy_global_to_local")
def async_copy(e: Emitter, op: Operation) -> None:
    pointer, target = op.groups["ptr"][0], op.groups["dst"][0]
    if op.operand("barrier") is not None:
        bulk_copy(e, op)
        return
    size = bytes_of(target.type)
    costs.issue(e, pointer.type)
    if op.operand("mask") is not None:
        costs.logic(e, pointer.type, 2.0)  # a size of 16 or 0, and whether it is 0
    if e.reading:
        costs.block_barrier(e)  # all warps are done with what was there
    costs.accesses(e, pointer.type, size, masked=False)
    e.flush()
    begin = e.mark()
    e.order()
    view = e.scalar(target)
    rate = "own_copy" if op in own_loads(e.unit.program) else "copy"
    if e.unit.liveness.leaves_out(op):
        # what is left out is not read: zeros need nothing of memory
        moved = e.let(f"moved_bytes({size}, {mask_code(e, op.operand('mask'))}, {e.shape(op.groups['mask'][0])})", "m")
        loaded = f"sm.load(t, int({moved} * reach.{rate}), reach.copy_latency, {moved})"
        ready = e.let(f"{loaded} if {moved} else t", "r")
    else:
        ready = e.let(f"sm.load(t, int({size} * reach.{rate}), reach.copy_latency, {size})", "r")
    ready = e.late(ready, "copies")
    row = e.row()
    e.record(begin=begin, slot=f"{view}.slot")
    e.line(f"if me.group[0] < {ready}: me.group = ({ready}, {row})")
    e.watch("copies", view)
    for result in op.results:
        e.set(result, Scalar("None"))
    if not contents(e, target):
        return
    mask = mask_code(e, op.operand("mask"))
    other = filler_code(e, op.operand("other"))
    match e.get(pointer):
        case Pointers(base, offset, parts):
            copied = f"({view}.tensor, {base}, {offset}, {parts_code(parts)}, {mask}, {other})"
            e.line(f"heappush(heap, ({ready}, next(seq), land_copy, {copied}))")
        case DensePointers(base, offsets):
            value = op.operand("mask")
            dense = "None" if value is None else e.dense(value)
            loaded = f"load_dense({base}, {offsets}, {dense}, {other})"
            e.line(f"heappush(heap, ({ready}, next(seq), land_value, ({view}, {loaded})))")
        case held:
            raise UnsupportedOperation(f"an asynchronous copy through {type(held).__name__}")


def bulk_copy(e: Emitter, op: Operation) -> None:
    """`cp.async.bulk`: the TMA engine copies a row of bytes and tells an mbarrier, not a group."""
    tma = e.unit.device.tma
    pointer, target = e.get(op.groups["ptr"][0]), op.groups["dst"][0]
    if not isinstance(pointer, Pointer):
        raise UnsupportedOperation("a bulk copy from what is no single pointer")
    length = op.operand("bulk_size")
    b = barrier(e, op.groups["barrier"][0])
    view = e.scalar(target)
    size = str(bytes_of(target.type)) if length is None else e.scalar(length)
    e.flush()
    begin = e.mark()
    e.charge(latency=tma.issue_cycles)
    e.order()
    row = e.row()
    e.record(begin=begin, slot=f"{view}.slot")
    transfer = e.let(f"int({size} * reach.tma)", "x")
    x = e.queue("tma_free", transfer)
    e.line(f"sm.tma_busy += {transfer}; sm.tma_load_bytes += {size}")
    landed = e.late(f"{x} + {transfer} + reach.tma_latency", "loads")
    cause = "-1"
    if e.traced:
        e.record(begin=x, end=landed, slot=f"{view}.slot", phase="-1", cause=row, engine=TMA)
        cause = f"{row} + 1"
    if contents(e, target):
        source = f"{pointer.base}, {pointer.offset}"
        e.line(f"heappush(heap, ({landed}, next(seq), land_bulk, ({b}, {size}, {cause}, {source}, {view}.tensor)))")
    else:
        e.line(f"heappush(heap, ({landed}, next(seq), land, ({b}, {size}, {cause})))")
    e.watch("loads", view, b)
    for result in op.results:
        e.set(result, Scalar("None"))


@emits("ttg.async_commit_group")
def async_commit_group(e: Emitter, op: Operation) -> None:
    e.charge(slots=1)
    e.line("me.copies.append(me.group); me.group = (0, -1)")
    e.watch("committed", at=False)
    for result in op.results:
        e.set(result, Scalar("None"))


@emits("ttng.async_copy_mbarrier_arrive")
def async_copy_mbarrier_arrive(e: Emitter, op: Operation) -> None:
    """Every thread arrives when all copies that it has started until now have landed; nobody waits here."""
    b = barrier(e, op.groups["barrier"][0])
    e.flush()
    begin = e.mark()
    e.charge(latency=e.unit.device.sync.mbarrier_arrive)
    e.order()
    row = e.row()
    e.record(begin=begin, barrier=b)
    if not op.attributes.get("noIncrement"):
        e.line(f"{b}.pending += {e.threads}")
    landed = e.let("max(t, me.group[0], *(done for done, _ in me.copies))", "x")
    e.line(f"heappush(heap, ({landed}, next(seq), arrive_later, ({b}, {e.threads}, {e.site()}, {row})))")
    e.watch_arrival(landed, f"({b},)")


@emits("ttg.async_wait")
def async_wait(e: Emitter, op: Operation) -> None:
    for result in op.results:
        e.set(result, Scalar("None"))
    drain(e, "me.copies", f"len({{q}}) > {op.attributes['num']}", 8.0)
    e.watch("copied", "len(me.copies)", at=False)
    costs.block_barrier(e)
    if e.unit.multiplies:
        # wgmma reads shared memory by another proxy: the compiler adds a fence later
        e.charge(latency=e.unit.device.sync.fence_async_shared)
        e.flush()
    e.order()  # what has arrived until now can be read
