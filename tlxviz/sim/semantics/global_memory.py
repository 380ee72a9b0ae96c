"""`tt`: loads, stores and atomics of global memory."""

from __future__ import annotations

import math

from tlxviz.ir.operation import Operation
from tlxviz.ir.types import PointerType, TensorType, element_of
from tlxviz.sim import costs
from tlxviz.sim.effects import own_loads
from tlxviz.sim.emitter import Emitter, emits
from tlxviz.sim.errors import UnsupportedOperation
from tlxviz.sim.expressions import parts_code
from tlxviz.sim.representation import Absent, DensePointers, Pointer, Pointers, Scalar, Uniform
from tlxviz.sim.sectors import excess
from tlxviz.sim.semantics.operands import filler_code, mask_code, skip, uniform


@emits("tt.load")
def load(e: Emitter, op: Operation) -> None:
    pointer = op.groups["ptr"][0]
    size = costs.global_traffic(e, pointer.type)
    if op.operand("other") is not None and isinstance(pointer.type, TensorType):
        costs.issue(e, pointer.type, size / pointer.type.size / 4)  # registers that are filled before
    e.order()
    if op.attributes.get("isVolatile") or not isinstance(pointer.type, TensorType):
        e.poll()
    ready = e.fresh("r")
    if e.timed:
        rate = "own_load" if op in own_loads(e.unit.program) else "load"
        e.line(f"{ready} = sm.load(t, int({size} * reach.{rate}{excess(e, op)}), reach.load_latency, {size})")
        e.pending[op.result] = ready
    if skip(e, op):
        e.set(op.result, Absent())
        return
    mask, other = op.operand("mask"), op.operand("other")
    pointee = element_of(pointer.type)
    assert isinstance(pointee, PointerType)
    match e.get(pointer):
        case Pointer(base, offset):
            code = f"load_scalar({base}, {offset})"
            flag = uniform(e, mask) if mask is not None else None
            if flag is not None and flag != "True":
                code = f"{code} if {flag} else {filler_code(e, other)}"
            if isinstance(pointee.pointee, PointerType):
                x, y = e.fresh(), e.fresh()
                e.line(f"{x}, {y} = space.resolve({code}, {e.dtype(pointee.pointee.pointee)})")
                e.set(op.result, Pointer(x, y))
                return
            name = e.fresh()
            e.line(f"{name} = {code}")
            e.set(op.result, Scalar(name))
        case Pointers(base, offset, parts):
            shape = e.shape(pointer)
            e.result_dense(
                op,
                f"load_tile({base}, {offset}, {parts_code(parts)}, {shape}, {mask_code(e, mask)}, "
                f"{filler_code(e, other)})",
            )
        case DensePointers(base, offsets):
            dense = "None" if mask is None else e.dense(mask)
            if mask is not None and uniform(e, mask) is not None:
                dense = e.to_dense(Uniform(uniform(e, mask) or "True"), mask.type)
            e.result_dense(op, f"load_dense({base}, {offsets}, {dense}, {filler_code(e, other)})")
        case held:
            raise UnsupportedOperation(f"tt.load through {type(held).__name__}")


@emits("tt.store")
def store(e: Emitter, op: Operation) -> None:
    pointer, value = op.groups["ptr"][0], op.groups["value"][0]
    size = costs.global_traffic(e, pointer.type)
    e.order()
    if e.timed:
        e.line(f"sm.store(t, int({size} * reach.put{excess(e, op)}), {size})")
    if not e.unit.liveness.stores(op, e.values):
        return
    mask = op.operand("mask")
    if isinstance(e.get(value), Pointer):
        raise UnsupportedOperation("a pointer stored to memory")
    match e.get(pointer):
        case Pointer(base, offset):
            code = f"store_scalar({base}, {offset}, {e.scalar(value)})"
            flag = uniform(e, mask) if mask is not None else None
            e.line(f"if {flag}: {code}" if flag is not None else code)
        case Pointers(base, offset, parts):
            shape = e.shape(pointer)
            e.line(
                f"store_tile({base}, {offset}, {parts_code(parts)}, {shape}, {filler_code(e, value)}, "
                f"{mask_code(e, mask)})"
            )
        case DensePointers(base, offsets):
            dense = "None" if mask is None else e.dense(mask)
            e.line(f"store_dense({base}, {offsets}, {filler_code(e, value)}, {dense})")
        case held:
            raise UnsupportedOperation(f"tt.store through {type(held).__name__}")
    e.wrote()


@emits("tt.atomic_rmw", "tt.atomic_cas")
def atomic(e: Emitter, op: Operation) -> None:
    memory = e.unit.device.memory
    pointer, value = op.groups["ptr"][0], op.groups["value"][0]
    size = costs.global_traffic(e, pointer.type)
    cycles = math.ceil(size / memory.load_bytes_per_cycle)
    e.settle_loads()
    e.order()
    e.poll()
    if e.timed:
        ready = e.fresh("r")
        e.line(f"{ready} = sm.load(t, {cycles}, {round(memory.atomic_cycles)}, {size})")
        if op.results:
            e.pending[op.result] = ready
    tensor = isinstance(pointer.type, TensorType)
    if tensor and not e.values and not e.alive(op.result):
        e.set(op.result, Absent())
        return
    mask, compare = op.operand("mask"), op.operand("cmp")
    kind = "cas" if compare is not None else str(op.attributes["rmw_op"])
    match e.get(pointer):
        case Pointer(base, offset):
            other = e.scalar(compare) if compare is not None else "None"
            code = f"atomic_scalar({kind!r}, {base}, {offset}, {e.scalar(value)}, {other})"
            flag = uniform(e, mask) if mask is not None else None
            name = e.fresh()
            e.line(f"{name} = {code} if {flag} else 0" if flag not in (None, "True") else f"{name} = {code}")
            e.set(op.result, Scalar(name))
            if e.timed and e.unit.polls:
                e.line(f"if load_scalar({base}, {offset}) != {name}: loop.version += 1")
        case Pointers() | DensePointers() as held:
            e.wrote()
            base, offsets = e.convert(held, DensePointers("", ""), pointer.type)
            dense = "None" if mask is None else e.dense(mask)
            if compare is not None:
                e.result_dense(op, f"cas_dense({base}, {offsets}, {e.dense(compare)}, {e.dense(value)})")
            else:
                e.result_dense(op, f"atomic_dense({kind!r}, {base}, {offsets}, {e.dense(value)}, {dense})")
        case held:
            raise UnsupportedOperation(f"an atomic through {type(held).__name__}")
