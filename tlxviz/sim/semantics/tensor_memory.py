"""`ttng`: tensor memory, from registers and back, and from shared memory."""

from __future__ import annotations

import math

from tlxviz.devices.model import TensorMemory
from tlxviz.ir.operation import Operation, Value
from tlxviz.ir.program import Buffer
from tlxviz.ir.types import MemDescType, bytes_of, element_of
from tlxviz.sim import costs
from tlxviz.sim.emitter import Emitter, emits
from tlxviz.sim.errors import UnsupportedOperation
from tlxviz.sim.representation import Absent, Dense, Scalar
from tlxviz.sim.semantics.shared_memory import contents, tensor_layout
from tlxviz.sim.semantics.sync import barrier, close_guard, open_guard

_SCALES_OF_A_COPY = 512
"""Bytes of scales that one instruction copies."""
_BYTES_OF_A_COPY = 128 * 32
"""Bytes of anything else: all lanes, 256 bits of each."""


def figures(e: Emitter) -> TensorMemory:
    """What the device's file says of tensor memory.

    Raises:
        UnsupportedOperation: the device has none.
    """
    found = e.unit.device.tensor_memory
    if found is None:
        raise UnsupportedOperation(f"tensor memory, which {e.unit.device.title} does not have: try --device sim:b200")
    return found


def _order_tokens(e: Emitter, op: Operation) -> None:
    """Tokens only say what comes before what, and operations stand in that order."""
    for result in op.results:
        if result not in e.held:
            e.set(result, Scalar("None"))


def _access(e: Emitter, size: int, unit: str, per_cycle: float, latency: float) -> None:
    """Warps move `size` bytes between registers and tensor memory, and wait until they are there."""
    transfer = math.ceil(size / per_cycle)
    x = e.queue(unit, transfer)
    e.line(f"t = {x} + {transfer + round(latency)}")


@emits("ttng.tmem_alloc")
def tmem_alloc(e: Emitter, op: Operation) -> None:
    memory = figures(e)
    result = op.results[0]
    root = e.unit.program.roots.get(result)
    index = root.index if isinstance(root, Buffer) else -1
    if op is e.unit.first_tensor_alloc:
        e.charge(latency=memory.alloc_cycles)  # one instruction gives out the columns of all
    make = "tensor_memory(cta, " if e.unit.clustered else "allocate_tensor("
    dtype = e.dtype(element_of(result.type))
    name = e.let(f"{make}{index}, {tensor_layout(e, result)}, {dtype}, {contents(e, result)})")
    e.set(result, Scalar(name))
    _order_tokens(e, op)
    init = op.operand("init")
    if init is not None:
        e.order()
        if contents(e, result):
            e.line(f"{name}.store({e.dense(init)})")
        e.watch("wrote", name)
        _access(e, bytes_of(init.type), "tensor_store_free", memory.store_bytes_per_cycle, memory.store_latency_cycles)


@emits("ttng.tmem_load")
def tmem_load(e: Emitter, op: Operation) -> None:
    memory = figures(e)
    result = op.results[0]
    e.flush()
    begin = e.mark()
    e.order()  # what was to be written before now has been
    view = e.scalar(op.groups["src"][0])
    e.watch("read", view)
    if e.alive(result):
        e.set(result, Dense(e.let(f"{view}.tensor.clone()")))
    else:
        e.set(result, Absent())
    _order_tokens(e, op)
    _access(e, bytes_of(result.type), "tensor_load_free", memory.load_bytes_per_cycle, memory.load_latency_cycles)
    e.record(begin=begin, slot=f"{view}.slot")


@emits("ttng.tmem_store")
def tmem_store(e: Emitter, op: Operation) -> None:
    memory = figures(e)
    value, target = op.groups["value"][0], op.groups["dst"][0]
    needed = contents(e, target)
    code = e.dense(value) if needed else ""
    guarded = open_guard(e, op)
    e.flush()
    begin = e.mark()
    e.order()  # what was to be read before now has been
    if needed:
        e.line(f"{e.scalar(target)}.store({code})")
    e.watch("wrote", e.scalar(target))
    _access(e, bytes_of(value.type), "tensor_store_free", memory.store_bytes_per_cycle, memory.store_latency_cycles)
    e.record(begin=begin, slot=f"{e.scalar(target)}.slot")
    close_guard(e, guarded)
    _order_tokens(e, op)


@emits("ttng.tmem_subslice")
def tmem_subslice(e: Emitter, op: Operation) -> None:
    width = e.shape(op.result)[-1]
    e.result_scalar(op, f"{e.scalar(op.operands[0])}.columns({op.attributes['N']}, {width})")


@emits("ttng.tmem_copy")
def tmem_copy(e: Emitter, op: Operation) -> None:
    """`tcgen05.cp`: the tensor cores copy from shared memory, in order with their products."""
    memory = figures(e)
    source, target = op.groups["src"][0], op.groups["dst"][0]
    size = bytes_of(source.type)
    scales = _is_of_scales(target)
    count = max(1, math.ceil(size / (_SCALES_OF_A_COPY if scales else _BYTES_OF_A_COPY)))
    e.settle_loads()
    costs.block_barrier(e)  # all warps have written before one of them issues the copy
    tcgen05 = e.unit.device.tcgen05
    assert tcgen05 is not None
    e.flush()
    begin = e.mark()
    e.charge(latency=count * tcgen05.issue_cycles)
    e.order()
    e.record(begin=begin, slot=f"{e.scalar(target)}.slot")
    x = e.queue("tensor_copy_free", round(count * memory.copy_interval_cycles))
    took = round(memory.copy_cycles + (count - 1) * memory.copy_interval_cycles)
    done = e.let(e.late(f"{x} + {took}", "tcgen05"), "x")
    e.line(f"if me.copied < {done}: me.copied = {done}")
    b = "None" if op.operand("barrier") is None else barrier(e, op.groups["barrier"][0])
    e.watch("tensor_work", f"({e.scalar(source)},)", e.scalar(target), "False")
    if contents(e, target):
        views = f"{e.scalar(source)}, {e.scalar(target)}, {scales}"
        e.line(f"heappush(heap, ({done}, next(seq), copy_to_tensor_memory, ({views}, me.products, loop)))")
    if b != "None":
        arrivals = f"arrivals_of_pair(cta, ({b},), -1, -1)" if e.unit.pairs else f"(({b}, -1),)"
        e.line(f"heappush(heap, ({done}, next(seq), arrive_complete, ({e.site()}, cta, {arrivals})))")
        e.watch_arrival(done, f"[told for told, _ in {arrivals}]")


def _is_of_scales(value: Value) -> bool:
    encoding = value.type.encoding if isinstance(value.type, MemDescType) else None
    return encoding is not None and encoding.name == "tensor_memory_scales_encoding"
