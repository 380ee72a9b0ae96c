"""Descriptors that the kernel makes, and their use without shared memory."""

from __future__ import annotations

from tlxviz.ir.operation import Operation
from tlxviz.ir.types import TensorDescType, bytes_of
from tlxviz.sim.effects import own_loads
from tlxviz.sim.emitter import Emitter, emits
from tlxviz.sim.errors import UnsupportedOperation
from tlxviz.sim.expressions import tuple_code
from tlxviz.sim.representation import Absent, Pointer, Scalar
from tlxviz.sim.semantics.operands import skip


@emits("ttng.tensormap_create")
def tensormap_create(e: Emitter, op: Operation) -> None:
    e.charge(slots=40, latency=200)
    target, address = e.get(op.groups["desc"][0]), e.get(op.groups["global_address"][0])
    if not isinstance(target, Pointer) or not isinstance(address, Pointer):
        raise UnsupportedOperation("a descriptor that is made from no single pointer")
    box = tuple_code(e.scalar(value) for value in op.groups["box_dim"])
    dims = tuple_code(e.scalar(value) for value in op.groups["global_dim"])
    strides = tuple_code(e.scalar(value) for value in op.groups["global_stride"])
    fill = int(op.attributes.get("fill_mode", 0))
    e.line(
        f"cta.tensormaps[{target.base}.data_ptr(), {target.offset}] = "
        f"make_descriptor({address.base}, {address.offset}, {box}, {dims}, {strides}, {fill})"
    )
    e.watch("describes", f"({target.base}.data_ptr(), {target.offset})", target.base)


@emits("ttng.tensormap_fenceproxy_acquire")
def tensormap_fence(e: Emitter, op: Operation) -> None:
    e.charge(latency=e.unit.device.sync.fence_gpu)


@emits("ttng.reinterpret_tensor_descriptor")
def reinterpret_tensor_descriptor(e: Emitter, op: Operation) -> None:
    held = e.get(op.groups["desc"][0])
    type_ = op.result.type
    assert isinstance(type_, TensorDescType)
    if not isinstance(held, Pointer):
        raise UnsupportedOperation("a descriptor that is made from no single pointer")
    block = type_.block.shape
    # looked up where it is used: the compiler moves this out of the loop that makes the descriptor
    e.set(op.result, Scalar(f"find_descriptor(cta, {held.base}, {held.offset}, {block})"))


@emits("tt.make_tensor_descriptor")
def make_tensor_descriptor(e: Emitter, op: Operation) -> None:
    held = e.get(op.groups["base"][0])
    type_ = op.result.type
    assert isinstance(type_, TensorDescType)
    if not isinstance(held, Pointer):
        raise UnsupportedOperation("a descriptor that is made from no single pointer")
    shape = tuple_code(e.scalar(value) for value in op.groups["shape"])
    strides = tuple_code(e.scalar(value) for value in op.groups["strides"])
    e.result_scalar(op, f"TileDescriptor({held.base}, {held.offset}, {shape}, {strides}, {type_.block.shape})")


@emits("tt.descriptor_load")
def descriptor_load(e: Emitter, op: Operation) -> None:
    tma = e.unit.device.tma
    size = bytes_of(op.result.type)
    e.order()
    if e.timed:
        rate = "own_tma" if op in own_loads(e.unit.program) else "tma"
        latency = f"{round(tma.issue_cycles)} + reach.tma_latency"
        e.line(f"t = sm.load(t, int({size} * reach.{rate}), {latency}, {size})")
    if skip(e, op):
        e.set(op.result, Absent())
        return
    at = tuple_code(e.scalar(value) for value in op.groups["coords"])
    e.result_dense(op, f"{e.scalar(op.groups['desc'][0])}.read({at}).reshape({e.shape(op.result)})")


@emits("tt.descriptor_store", "tt.descriptor_reduce")
def descriptor_store(e: Emitter, op: Operation) -> None:
    source = op.groups["src"][0]
    size = bytes_of(source.type)
    e.order()
    if e.timed:
        e.line(f"sm.store(t, int({size} * reach.put), {size})")
    if e.values:
        at = tuple_code(e.scalar(value) for value in op.groups["coords"])
        desc = e.scalar(op.groups["desc"][0])
        if op.name == "tt.descriptor_store":
            e.line(f"{desc}.store({at}, {e.dense(source)})")
        else:
            e.line(f"{desc}.reduce({at}, {e.dense(source)}, {str(op.attributes['kind'])!r})")
