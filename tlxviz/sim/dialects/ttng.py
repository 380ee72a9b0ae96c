"""`ttng`: mbarriers, TMA, wgmma, named barriers, fences."""

from __future__ import annotations

import math

from tlxviz.ir.operation import Operation, Value
from tlxviz.ir.types import MemDescType, ScalarType, TensorDescType, TensorType, Type, bytes_of, element_of
from tlxviz.sim import costs
from tlxviz.sim.dialects.arith import scalar_type, skip
from tlxviz.sim.dialects.tt import dot_code, flop
from tlxviz.sim.emitter import Emitter, emits, tuple_code
from tlxviz.sim.engine import TENSOR_CORE, TMA
from tlxviz.sim.errors import UnsupportedOperation
from tlxviz.sim.liveness import is_barrier
from tlxviz.sim.representation import Absent, Dense, Pointer, Scalar


STORE_WAIT_CYCLES = 8.0


def barrier(e: Emitter, value: Value) -> str:
    """A variable with the Barrier that `value` stands for."""
    code = e.scalar(value)
    return e.let(f"{code}[0]" if value in e.unit.arrays else code, "b")


def predicated(e: Emitter, op: Operation) -> str | None:
    """The condition under which the operation happens; None if always."""
    value = op.operand("pred")
    if value is None:
        return None
    code = e.scalar(value)
    return None if code == "True" else code


def _guarded(e: Emitter, op: Operation) -> bool:
    """Opens `if pred:` where there is a predicate; the caller closes it by `_unguard`."""
    code = predicated(e, op)
    if code is None:
        return False
    e.flush()
    e.line(f"if {code}:")
    e.indent += 1
    return True


def _unguard(e: Emitter, guarded: bool) -> None:
    if guarded:
        e.line("pass")
        e.indent -= 1


# ---------------------------------------------------------------------- mbarriers


@emits("ttng.init_barrier")
def init_barrier(e: Emitter, op: Operation) -> None:
    e.charge(slots=1)
    e.line(f"{barrier(e, op.groups['barrier'][0])}.init({op.attributes['count']})")


@emits("ttng.inval_barrier")
def inval_barrier(e: Emitter, op: Operation) -> None:
    """Lifetime only."""


def _is_bit(value: Value) -> bool:
    """Whether a phase is surely 0 or 1."""
    op = value.owner
    if not isinstance(op, Operation):
        return False
    match op.name:
        case "arith.constant":
            return op.attributes["value"] in (0, 1)
        case "arith.andi":
            return any(_is_bit(operand) for operand in op.operands)
        case "arith.xori":
            return all(_is_bit(operand) for operand in op.operands)
        case "arith.extui":
            return scalar_type(op.operands[0].type).name == "i1"
        case _:
            return False


@emits("ttng.wait_barrier")
def wait_barrier(e: Emitter, op: Operation) -> None:
    sync = e.unit.device.sync
    e.settle_loads()
    guarded = _guarded(e, op)
    b = barrier(e, op.groups["barrier"][0])
    phase_value = op.groups["phase"][0]
    phase = e.scalar(phase_value)
    if not _is_bit(phase_value):
        phase = e.let(f"{phase} & 1", "p")
    e.order()
    begin = e.mark()
    outer, inner = e.iteration()
    with e.block(f"if {b}.phase == {phase}:"):
        e.line(f"{b}.waiters.append(send); me.blocked = ('wait', {e.site()}, t, {outer}, {inner}, {b}, {phase})")
        e.line("t = yield None")
        e.line(f"t += {round(sync.mbarrier_wake)}")
    with e.block("else:"):
        e.line(f"t += {round(sync.mbarrier_try_wait)}")
    e.record(begin=begin, slot=f"{b}.slot", phase=phase, cause=f"{b}.cause")
    _unguard(e, guarded)


@emits("ttng.arrive_barrier")
def arrive_barrier(e: Emitter, op: Operation) -> None:
    e.settle_loads()
    guarded = _guarded(e, op)
    b = barrier(e, op.groups["barrier"][0])
    e.flush()
    begin = e.mark()
    costs.block_barrier(e)
    e.charge(latency=e.unit.device.sync.mbarrier_arrive)
    e.order()
    row = e.row()
    e.record(begin=begin, slot=f"{b}.slot", phase=f"{b}.completed")
    count = op.attributes["count"]
    if op.attributes.get("perThread"):
        count *= e.threads
    e.line(f"{b}.last_site = {e.site()}; {b}.last_time = t")
    e.line(f"{b}.pending -= {count}")
    e.line(f"if {b}.pending <= 0: {b}.settle(t, {row})")
    _unguard(e, guarded)


@emits("ttng.barrier_expect")
def barrier_expect(e: Emitter, op: Operation) -> None:
    guarded = _guarded(e, op)
    b = barrier(e, op.groups["barrier"][0])
    size = op.attributes["bytes"]
    e.flush()
    begin = e.mark()
    e.charge(latency=e.unit.device.sync.mbarrier_expect)
    e.order()
    row = e.row()
    e.record(begin=begin, slot=f"{b}.slot", phase=f"{b}.completed")
    e.line(f"{b}.tx += {size}; {b}.pending -= 1; {b}.last_site = {e.site()}; {b}.last_time = t")
    e.line(f"if {b}.pending <= 0: {b}.settle(t, {row})")
    _unguard(e, guarded)


# ---------------------------------------------------------------------- named barriers


@emits("ttng.wait_barrier_named", "ttng.arrive_barrier_named")
def named_barrier(e: Emitter, op: Operation) -> None:
    sync = e.unit.device.sync
    e.settle_loads()
    number = e.scalar(op.groups["barrier"][0])
    needed = e.scalar(op.groups["threads"][0])
    waits = op.name == "ttng.wait_barrier_named"
    e.flush()
    begin = e.mark()
    if not waits:
        e.charge(latency=sync.named_arrive)
    e.order()
    b = e.let(f"cta.named_barrier({number})", "b")
    e.line(f"{b}.last_site = {e.site()}; {b}.last_time = t")
    if not waits:
        row = e.row()
        e.record(begin=begin, slot=number)
        e.line(f"{b}.arrive(loop, t, {e.threads}, {needed}, {row})")
        return
    outer, inner = e.iteration()
    with e.block(f"if not {b}.arrive(loop, t, {e.threads}, {needed}, -1):"):
        e.line(f"{b}.waiters.append(send); me.blocked = ('named_wait', {e.site()}, t, {outer}, {inner}, {b}, {number})")
        e.line("t = yield None")
    e.line(f"t += {round(sync.named_barrier)}")
    e.record(begin=begin, slot=number, cause=f"{b}.cause")


# ---------------------------------------------------------------------- TMA


def _coordinates(e: Emitter, op: Operation) -> str:
    return tuple_code(e.scalar(value) for value in op.groups["coords"])


def _block_bytes(type_: Type) -> int:
    assert isinstance(type_, MemDescType)
    return bytes_of(type_)


def _contents_needed(e: Emitter, view: Value) -> bool:
    from tlxviz.ir.program import Buffer

    root = e.unit.program.roots.get(view)
    return e.values or (isinstance(root, Buffer) and root.index in e.unit.contents)


@emits("ttng.async_tma_copy_global_to_local", "ttng.async_tma_gather")
def tma_load(e: Emitter, op: Operation) -> None:
    tma = e.unit.device.tma
    guarded = _guarded(e, op)
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
    _unguard(e, guarded)


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
    known = isinstance(token, Scalar) and token.code != "None"
    drain(e, "me.stores", f"{{q}} and {{q}}[0][0] <= {token.code}" if known else "{q}", STORE_WAIT_CYCLES)
    for target, condition in zip(op.groups.get("barriers", ()), op.groups.get("barrier_preds", ()), strict=True):
        b = barrier(e, target)
        e.order()
        with e.block(f"if {e.scalar(condition)}:"):
            e.line(f"{b}.last_site = {e.site()}; {b}.last_time = t; {b}.pending -= 1")
            e.line(f"if {b}.pending <= 0: {b}.settle(t, {'len(rows) - 1' if e.traced else '-1'})")


def drain(e: Emitter, queue: str, condition: str, cycles: float) -> None:
    """Takes the first of a queue of (cycle, row), and waits for it, as long as `condition` on `{q}` holds."""
    e.flush()
    begin = e.mark()
    q = e.let(queue, "q")
    cause = e.fresh("n")
    if e.traced:
        e.line(f"{cause} = -1")
    with e.block(f"while {condition.format(q=q)}:"):
        done = e.fresh("x")
        e.line(f"{done}, {cause} = {q}.popleft()")
        e.line(f"if t < {done}: t = {done}")
    e.line(f"t += {round(cycles)}")
    e.record(begin=begin, cause=cause)


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
    assert isinstance(held, Pointer) and isinstance(type_, TensorDescType)
    block = type_.block.shape
    e.result_scalar(op, f"find_descriptor(cta, {held.base}, {held.offset}, {block})")


@emits("tt.make_tensor_descriptor")
def make_tensor_descriptor(e: Emitter, op: Operation) -> None:
    held = e.get(op.groups["base"][0])
    type_ = op.result.type
    assert isinstance(held, Pointer) and isinstance(type_, TensorDescType)
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


# ---------------------------------------------------------------------- fences, clusters of one CTA, votes


@emits("ttng.fence_async_shared")
def fence_async_shared(e: Emitter, op: Operation) -> None:
    _fence(e, e.unit.device.sync.fence_async_shared)


@emits("ttng.fence")
def fence(e: Emitter, op: Operation) -> None:
    _fence(e, e.unit.device.sync.fence_gpu)


def _fence(e: Emitter, cycles: float) -> None:
    e.flush()
    begin = e.mark()
    e.line(f"t += {round(cycles)}")
    e.record(begin=begin)


@emits("ttng.fence_mbarrier_init_release_cluster")
def fence_mbarrier_init(e: Emitter, op: Operation) -> None:
    e.charge(latency=e.unit.device.sync.fence_async_shared)


@emits("ttng.cluster_arrive", "ttng.cluster_wait", "ttng.cluster_barrier")
def cluster_barrier(e: Emitter, op: Operation) -> None:
    """A cluster of one CTA has nobody to wait for; larger clusters are refused at launch."""
    e.charge(latency=e.unit.device.sync.named_barrier)


@emits("ttng.cluster_size_1d")
def cluster_size(e: Emitter, op: Operation) -> None:
    e.result_scalar(op, "1")


@emits("ttng.map_to_remote_buffer")
def map_to_remote_buffer(e: Emitter, op: Operation) -> None:
    source = op.groups["src"][0]
    e.set(op.result, e.get(source))
    if source in e.unit.arrays:
        e.unit.arrays.add(op.result)


@emits("ttng.vote_ballot_sync")
def vote_ballot_sync(e: Emitter, op: Operation) -> None:
    e.charge(slots=2, latency=e.unit.device.alu.shuffle_cycles)
    if skip(e, op):
        return
    mask, flag = op.groups["mask"][0], op.groups["pred"][0]
    if isinstance(op.result.type, TensorType):
        e.result_dense(op, f"ballot({e.scalar(mask)}, {e.dense(flag)}, {e.warps})")
    else:
        e.result_scalar(op, f"({e.scalar(mask)} if {e.scalar(flag)} else 0)")


def is_barrier_view(e: Emitter, value: Value) -> bool:
    """Whether a memory view is of mbarriers."""
    return is_barrier(e.unit.program, value)
