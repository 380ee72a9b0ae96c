"""`ttng`, second part: TMA, descriptors that the kernel makes, wgmma."""

from __future__ import annotations

import math

from tlxviz.ir.operation import Operation, Value
from tlxviz.ir.program import Buffer
from tlxviz.ir.types import MemDescType, ScalarType, TensorDescType, TensorType, Type, bytes_of, element_of
from tlxviz.sim import costs
from tlxviz.sim.dialects.arith import skip
from tlxviz.sim.dialects.sync import barrier, close_guard, drain, open_guard
from tlxviz.sim.dialects.tt import dot_code, flop
from tlxviz.sim.emitter import Emitter, emits, tuple_code
from tlxviz.sim.engine import TENSOR_CORE, TMA
from tlxviz.sim.errors import UnsupportedOperation
from tlxviz.sim.representation import Absent, Dense, Pointer, Scalar

STORE_WAIT_CYCLES = 8.0


# ---------------------------------------------------------------------- TMA


def _coordinates(e: Emitter, op: Operation) -> str:
    return tuple_code(e.scalar(value) for value in op.groups["coords"])


def _block_bytes(type_: Type) -> int:
    assert isinstance(type_, MemDescType)
    return bytes_of(type_)


def _contents_needed(e: Emitter, view: Value) -> bool:
    root = e.unit.program.roots.get(view)
    return e.values or (isinstance(root, Buffer) and root.index in e.unit.contents)


@emits("ttng.async_tma_copy_global_to_local", "ttng.async_tma_gather")
def tma_load(e: Emitter, op: Operation) -> None:
    tma = e.unit.device.tma
    guarded = open_guard(e, op)
    if op.groups.get("multicast"):
        raise UnsupportedOperation("TMA multicast needs clusters, which this version does not simulate")
    target = op.groups["dst"][0]
    size = _block_bytes(target.type)
    b = barrier(e, op.groups["barrier"][0])
    view = e.scalar(target)
    needed = _contents_needed(e, target)
    if op.name == "ttng.async_tma_gather":
        at = f"({e.dense(op.groups['x_offsets'][0])}, {e.scalar(op.groups['y_offset'][0])})" if needed else "()"
        method = "gather"
        inner_bytes = size
    else:
        at = _coordinates(e, op)
        method = "load"
        inner_bytes = size
    transfer = math.ceil(inner_bytes / tma.bytes_per_cycle)
    e.flush()
    begin = e.mark()
    e.charge(latency=tma.issue_cycles)
    e.order()
    row = e.row()
    e.record(begin=begin, slot=f"{b}.slot", phase=f"{b}.completed")
    x = e.fresh("x")
    e.line(f"{x} = sm.tma_free")
    e.line(f"if {x} < t: {x} = t")
    e.line(f"sm.tma_free = {x} + {transfer}; sm.tma_busy += {transfer}; sm.tma_load_bytes += {size}")
    landed = f"{x} + {transfer + round(tma.l2_latency_cycles)}"
    cause = "-1"
    if e.traced:
        e.record(begin=x, end=landed, slot=f"{b}.slot", phase=f"{b}.completed", cause=row, engine=TMA)
        cause = f"{row} + 1"
    if needed:
        desc = e.scalar(op.groups["desc"][0])
        root = e.unit.program.roots.get(target)
        if root is not None and root.index in e.unit.borrowing and method == "load":
            method, arrival = "tile", view
        else:
            arrival = f"{view}.tensor"
        e.line(f"heappush(heap, ({landed}, next(seq), land_{method}, ({b}, {size}, {cause}, {desc}, {at}, {arrival})))")
    else:
        e.line(f"heappush(heap, ({landed}, next(seq), land, ({b}, {size}, {cause})))")
    close_guard(e, guarded)


@emits("ttng.async_tma_copy_local_to_global", "ttng.async_tma_reduce", "ttng.async_tma_scatter", "ttng.async_store")
def tma_store(e: Emitter, op: Operation) -> None:
    tma = e.unit.device.tma
    e.settle_loads()
    source = op.groups["src"][0]
    size = _block_bytes(source.type)
    view = e.scalar(source)
    transfer = math.ceil(size / tma.store_bytes_per_cycle)
    e.flush()
    begin = e.mark()
    costs.block_barrier(e)  # all warps have written before one of them issues the copy
    e.charge(latency=tma.issue_cycles)
    e.order()
    row = e.row()
    e.record(begin=begin, slot=f"{view}.slot")
    x = e.fresh("x")
    e.line(f"{x} = sm.tma_store_free")
    e.line(f"if {x} < t: {x} = t")
    e.line(f"sm.tma_store_free = {x} + {transfer}; sm.tma_store_bytes += {size}")
    done = e.let(f"{x} + {transfer + round(tma.store_latency_cycles)}", "x")
    if e.traced:
        e.record(begin=x, end=done, slot=f"{view}.slot", phase="-1", cause=row, engine=TMA)
        e.line(f"me.stores.append(({done}, {row} + 1))")
    else:
        e.line(f"me.stores.append(({done}, -1))")
    for result in op.results:
        e.set(result, Scalar(done))
    if not e.values:
        return
    match op.name:
        case "ttng.async_store":
            held = e.get(op.groups["dst"][0])
            if not isinstance(held, Pointer):
                raise UnsupportedOperation("ttng.async_store to something that is no single pointer")
            e.line(f"bulk_store({held.base}, {held.offset}, {view}.tensor, {e.scalar(op.groups['size'][0])})")
        case "ttng.async_tma_scatter":
            desc = e.scalar(op.groups["desc"][0])
            rows, column = e.dense(op.groups["x_offsets"][0]), e.scalar(op.groups["y_offset"][0])
            e.line(f"{desc}.scatter({rows}, {column}, {view}.tensor)")
        case "ttng.async_tma_reduce":
            desc = e.scalar(op.groups["desc"][0])
            e.line(f"{desc}.reduce({_coordinates(e, op)}, {view}.tensor, {str(op.attributes['kind'])!r})")
        case _:
            desc = e.scalar(op.groups["desc"][0])
            e.line(f"{desc}.store({_coordinates(e, op)}, {view}.tensor)")


@emits("ttng.async_tma_store_wait")
def tma_store_wait(e: Emitter, op: Operation) -> None:
    drain(e, "me.stores", f"len({{q}}) > {op.attributes['pendings']}", STORE_WAIT_CYCLES)


@emits("ttng.async_tma_store_token_wait")
def tma_store_token_wait(e: Emitter, op: Operation) -> None:
    """Waits for one store and those before it, then arrives at barriers."""
    token = e.held.get(op.groups["token"][0])
    first = "{q}"
    if isinstance(token, Scalar) and token.code != "None":
        first = f"{{q}} and {{q}}[0][0] <= {token.code}"
    drain(e, "me.stores", first, STORE_WAIT_CYCLES)
    for target, condition in zip(op.groups.get("barriers", ()), op.groups.get("barrier_preds", ()), strict=True):
        b = barrier(e, target)
        e.order()
        with e.block(f"if {e.scalar(condition)}:"):
            e.line(f"{b}.last_site = {e.site()}; {b}.last_time = t; {b}.pending -= 1")
            e.line(f"if {b}.pending <= 0: {b}.settle(t, {'len(rows) - 1' if e.traced else '-1'})")


@emits("ttng.async_tma_prefetch", "ttng.prefetch", "ttng.prefetch_tensormap")
def prefetch(e: Emitter, op: Operation) -> None:
    e.charge(slots=2)


# ---------------------------------------------------------------------- device-made descriptors


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
    e.result_scalar(op, f"find_descriptor(cta, {held.base}, {held.offset}, {block})")


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


# ---------------------------------------------------------------------- wgmma


@emits("ttng.warp_group_dot")
def warp_group_dot(e: Emitter, op: Operation) -> None:
    core = e.unit.device.tensor_core
    result = op.result
    duration, work = mma_cycles(e, op)
    e.settle_loads()
    e.flush()
    begin = e.mark()
    e.charge(latency=core.issue_cycles)
    e.order()
    row = e.row()
    first = op.groups["a"][0]
    slot = f"{e.scalar(first)}.slot" if isinstance(first.type, MemDescType) else "-1"
    e.record(begin=begin, slot=slot)
    x = e.fresh("x")
    e.line(f"{x} = sm.tensor_free")
    e.line(f"if {x} < t: {x} = t")
    e.line(f"sm.tensor_free = {x} + {duration}; sm.tensor_busy += {duration}; sm.flop += {work}")
    done = f"{x} + {duration + round(core.completion_cycles)}"
    if e.traced:
        e.record(begin=x, end=f"{x} + {duration}", slot=slot, phase="-1", cause=row, engine=TENSOR_CORE)
        e.line(f"me.mmas.append(({done}, {row} + 1))")
    else:
        e.line(f"me.mmas.append(({done}, -1))")
    if skip(e, op):
        e.set(result, Absent())
    else:
        e.set(result, Dense(e.let(dot_code(e, op))))
    if not op.attributes.get("isAsync", False):
        drain(e, "me.mmas", "{q}", core.wait_cycles)


def mma_cycles(e: Emitter, op: Operation) -> tuple[int, int]:
    """Cycles that an MMA keeps the SM's tensor cores busy, and its FLOP."""
    core = e.unit.device.tensor_core
    type_ = op.result.type
    assert isinstance(type_, TensorType)
    work = flop(op)
    rate = tensor_rate(e, op)
    columns = type_.shape[-1]
    return max(1, math.ceil(work / rate * max(1.0, core.min_n / columns))), work


def tensor_rate(e: Emitter, op: Operation) -> float:
    """FLOP per cycle and SM for the operand type of an MMA."""
    core = e.unit.device.tensor_core
    element = element_of(op.groups["a"][0].type)
    name = element.name if isinstance(element, ScalarType) else ""
    rates = {"f16": core.fp16, "bf16": core.bf16, "f32": core.tf32, "f64": core.fp64, "i8": core.int8}
    return rates.get(name, core.fp8)


@emits("ttng.warp_group_dot_wait")
def warp_group_dot_wait(e: Emitter, op: Operation) -> None:
    for result, operand in zip(op.results, op.operands, strict=True):
        e.set(result, e.held.get(operand, Absent()))
        if operand in e.unit.arrays:
            e.unit.arrays.add(result)
    drain(e, "me.mmas", f"len({{q}}) > {op.attributes['pendings']}", e.unit.device.tensor_core.wait_cycles)
