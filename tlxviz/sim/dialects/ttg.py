"""`ttg`: shared memory, asynchronous copies, warp specialization."""

from __future__ import annotations

import math

from tlxviz.ir.operation import Operation, Region, Value
from tlxviz.ir.program import BarrierArray, Buffer
from tlxviz.ir.types import MemDescType, ScalarType, bytes_of, element_of
from tlxviz.sim import costs
from tlxviz.sim.dialects.agents import write_agent
from tlxviz.sim.dialects.arith import scalar_type, skip
from tlxviz.sim.dialects.sync import barrier, drain
from tlxviz.sim.dialects.tt import filler_code, mask_code
from tlxviz.sim.emitter import Emitter, emits, parts_code
from tlxviz.sim.engine import TMA
from tlxviz.sim.errors import UnsupportedOperation
from tlxviz.sim.representation import Absent, DensePointers, Held, Pointer, Pointers, Scalar, codes, rebuild


def buffer_of(e: Emitter, value: Value) -> Buffer | None:
    """The allocation that a memory view belongs to."""
    root = e.unit.program.roots.get(value)
    return root if isinstance(root, Buffer) else None


def contents(e: Emitter, value: Value) -> bool:
    """Whether the contents of the memory behind a view are computed."""
    buffer = buffer_of(e, value)
    return e.values or (buffer is not None and buffer.index in e.unit.contents)


def held_dtype(e: Emitter, value: Value) -> str:
    """The dtype in which the memory behind a view is held."""
    element = element_of(value.type)
    buffer = buffer_of(e, value)
    assert isinstance(value.type, MemDescType)
    number = scalar_type(value.type)
    if number.is_float and number.bytes < 4 and (buffer is None or buffer.index not in e.unit.narrow):
        return e.dtype(ScalarType("f32"))
    return e.dtype(element)


@emits("ttg.local_alloc")
def local_alloc(e: Emitter, op: Operation) -> None:
    result = op.result
    root = e.unit.program.roots.get(result)
    if isinstance(root, BarrierArray):
        e.unit.arrays.add(result)
        e.result_scalar(op, f"make_barriers(cta, {root.index}, {root.slots})")
        return
    index = root.index if isinstance(root, Buffer) else -1
    init = op.operand("init") or (op.operands[0] if op.operands else None)
    e.result_scalar(op, f"allocate({index}, {e.shape(result)}, {held_dtype(e, result)}, {contents(e, result)})")
    if init is not None:
        costs.shared_traffic(e, init.type)
        costs.block_barrier(e)
        if contents(e, result):
            e.line(f"{e.scalar(result)}.store({e.dense(init)})")


@emits("ttg.local_dealloc")
def local_dealloc(e: Emitter, op: Operation) -> None:
    """Lifetime only."""


@emits("ttg.memdesc_index")
def memdesc_index(e: Emitter, op: Operation) -> None:
    source, index = op.groups["src"][0], op.groups["index"][0]
    e.charge(slots=1)
    code = e.scalar(source)
    where = e.scalar(index)
    if isinstance(e.unit.program.roots.get(source), BarrierArray):
        e.result_scalar(op, f"{code}[{where}]" if source in e.unit.arrays else code)
        return
    e.result_scalar(op, f"{code}.slots[{where}]")


@emits("ttg.memdesc_trans")
def memdesc_trans(e: Emitter, op: Operation) -> None:
    e.result_scalar(op, f"{e.scalar(op.operands[0])}.transposed({tuple(op.attributes['order'])})")


@emits("ttg.memdesc_subslice")
def memdesc_subslice(e: Emitter, op: Operation) -> None:
    offsets = tuple(op.attributes["offsets"])
    source = e.scalar(op.operands[0])
    shape = e.shape(op.result)
    if len(offsets) != len(shape):
        raise UnsupportedOperation("ttg.memdesc_subslice that changes the rank")
    e.result_scalar(op, f"{source}.subslice({offsets}, {shape})")


@emits("ttg.memdesc_reshape")
def memdesc_reshape(e: Emitter, op: Operation) -> None:
    e.result_scalar(op, f"{e.scalar(op.operands[0])}.reshaped({e.shape(op.result)})")


@emits("ttg.memdesc_reinterpret")
def memdesc_reinterpret(e: Emitter, op: Operation) -> None:
    source = op.operands[0]
    if isinstance(e.unit.program.roots.get(source), BarrierArray):
        e.set(op.result, e.get(source))
        if source in e.unit.arrays:
            e.unit.arrays.add(op.result)
        return
    e.result_scalar(
        op, f"{e.scalar(source)}.reinterpreted({e.shape(op.result)}, {e.dtype(element_of(op.result.type))})"
    )


@emits("ttg.local_load")
def local_load(e: Emitter, op: Operation) -> None:
    costs.shared_traffic(e, op.result.type)
    if skip(e, op):
        e.set(op.result, Absent())
        return
    source = op.groups["src"][0]
    dtype = e.dtype(scalar_type(op.result.type))
    view = f"{e.scalar(source)}.tensor"
    e.result_dense(op, f"{view}.clone()" if held_dtype(e, source) == dtype else f"{view}.to({dtype})")


@emits("ttg.local_store")
def local_store(e: Emitter, op: Operation) -> None:
    value, target = op.groups["value"][0], op.groups["dst"][0]
    costs.shared_traffic(e, value.type)
    if contents(e, target):
        e.line(f"{e.scalar(target)}.store({e.dense(value)})")


@emits("ttg.local_gather")
def local_gather(e: Emitter, op: Operation) -> None:
    costs.shared_traffic(e, op.result.type)
    if skip(e, op):
        e.set(op.result, Absent())
        return
    source, index = op.groups["src"][0], op.groups["indices"][0]
    dtype = e.dtype(scalar_type(op.result.type))
    axis = op.attributes["axis"]
    e.result_dense(op, f"{e.scalar(source)}.tensor.gather({axis}, {e.dense(index)}.long()).to({dtype})")


@emits("ttg.local_scatter")
def local_scatter(e: Emitter, op: Operation) -> None:
    value, target, index = op.groups["value"][0], op.groups["dst"][0], op.groups["indices"][0]
    costs.shared_traffic(e, value.type)
    if contents(e, target):
        axis = op.attributes["axis"]
        dtype = held_dtype(e, target)
        e.line(f"{e.scalar(target)}.tensor.scatter_({axis}, {e.dense(index)}.long(), {e.dense(value)}.to({dtype}))")


# ---------------------------------------------------------------------- asynchronous copies


@emits("ttg.async_copy_global_to_local")
def async_copy(e: Emitter, op: Operation) -> None:
    memory = e.unit.device.memory
    pointer, target = op.groups["ptr"][0], op.groups["dst"][0]
    if op.operand("barrier") is not None:
        bulk_copy(e, op)
        return
    size = bytes_of(target.type)
    costs.issue(e, pointer.type, 1.0 / max(1.0, 16 / max(1, bytes_of(element_of(target.type)))))
    e.flush()
    begin = e.mark()
    e.order()
    view = e.scalar(target)
    transfer = math.ceil(size / memory.load_bytes_per_cycle)
    ready = e.let(f"sm.load(t, {transfer}, {round(memory.cp_async_latency_cycles)}, {size})", "r")
    row = e.row()
    e.record(begin=begin, slot=f"{view}.slot")
    e.line(f"if me.group[0] < {ready}: me.group = ({ready}, {row})")
    for result in op.results:
        e.set(result, Scalar("None"))
    if not contents(e, target):
        return
    mask = mask_code(e, op.operand("mask"))
    other = filler_code(e, op.operand("other"))
    match e.get(pointer):
        case Pointers(base, offset, parts):
            e.line(f"copy_tile({view}.tensor, {base}, {offset}, {parts_code(parts)}, {mask}, {other})")
        case DensePointers(base, offsets):
            value = op.operand("mask")
            dense = "None" if value is None else e.dense(value)
            e.line(f"{view}.store(load_dense({base}, {offsets}, {dense}, {other}))")
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
    x, transfer = e.fresh("x"), e.let(f"-(-{size} // {round(tma.bytes_per_cycle)})", "x")
    e.line(f"{x} = max(sm.tma_free, t)")
    e.line(f"sm.tma_free = {x} + {transfer}; sm.tma_busy += {transfer}; sm.tma_load_bytes += {size}")
    landed = f"{x} + {transfer} + {round(tma.l2_latency_cycles)}"
    cause = "-1"
    if e.traced:
        e.record(begin=x, end=landed, slot=f"{view}.slot", phase="-1", cause=row, engine=TMA)
        cause = f"{row} + 1"
    if contents(e, target):
        source = f"{pointer.base}, {pointer.offset}"
        e.line(f"heappush(heap, ({landed}, next(seq), land_bulk, ({b}, {size}, {cause}, {source}, {view}.tensor)))")
    else:
        e.line(f"heappush(heap, ({landed}, next(seq), land, ({b}, {size}, {cause})))")
    for result in op.results:
        e.set(result, Scalar("None"))


@emits("ttg.async_commit_group")
def async_commit_group(e: Emitter, op: Operation) -> None:
    e.charge(slots=1)
    e.line("me.copies.append(me.group); me.group = (0, -1)")
    for result in op.results:
        e.set(result, Scalar("None"))


@emits("ttg.async_wait")
def async_wait(e: Emitter, op: Operation) -> None:
    for result in op.results:
        e.set(result, Scalar("None"))
    drain(e, "me.copies", f"len({{q}}) > {op.attributes['num']}", 8.0)
    costs.block_barrier(e)


# ---------------------------------------------------------------------- the rest


@emits("ttg.barrier", "gpu.barrier")
def block_barrier(e: Emitter, op: Operation) -> None:
    costs.block_barrier(e)


@emits("ttg.clock64")
def clock64(e: Emitter, op: Operation) -> None:
    e.flush()
    e.result_scalar(op, "t" if not e.timed else "int(t)")


@emits("ttg.global_scratch_alloc")
def global_scratch_alloc(e: Emitter, op: Operation) -> None:
    size = int(op.attributes.get("nbytes", 128))
    base = e.let(f"scratch({size})")
    e.set(op.result, Pointer(base, "0"))


@emits("ttg.warp_specialize")
def warp_specialize(e: Emitter, op: Operation) -> None:
    e.settle_loads()
    e.charge(latency=0)
    e.flush()
    delay = round(e.unit.device.launch.warp_specialize_cycles)
    held = [e.get(value) if value in e.held else Absent() for value in op.operands]
    default: Region | None = None
    for region in op.regions:
        if region.name == "default":
            default = region
            continue
        function, captured = partition(e, region, op.operands, held)
        agent = e.unit.agent_of[region]
        run = e.fresh("agent")
        e.line(f"{run} = AgentRun(cta, {agent.index}, {e.unit.first_thread[agent.index]})")
        e.line(f"{run}.generator = {function}({', '.join(['cta', run, *captured])})")
        e.line(f"cta.spawn({run}, t + {delay})")
    assert default is not None
    block = default.entry
    for operation in block.body:
        e.emit(operation)
    yielded = [e.get(value) for value in block.yielded]
    e.settle_loads()
    e.order()
    e.joined_at = (e.fresh("j"), e.fresh("j"))
    e.line(f"{e.joined_at[0]} = t")
    with e.block("if cta.running > 1:"):
        e.line("cta.joiner = (send, 1); me.blocked = ('join', -1, t, -1, -1, None, 0)")
        e.line("t = yield None")
    e.line(f"{e.joined_at[1]} = t")
    for result, value in zip(op.results, yielded, strict=False):
        e.set(result, value)


def partition(e: Emitter, region: Region, operands: tuple[Value, ...], held: list[Held]) -> tuple[str, list[str]]:
    """Writes the function of a partition; gives its name and the arguments that the captures become."""
    agent = e.unit.agent_of[region]
    inner = Emitter(e.unit, agent, agent.warps)
    names: list[str] = []
    captured: list[str] = []
    for argument, source, value in zip(region.entry.arguments, operands, held, strict=True):
        if isinstance(value, Absent) or not e.alive(argument):
            inner.set(argument, Absent())
            continue
        fresh = [inner.fresh("a") for _ in codes(value)]
        names += fresh
        captured += codes(value)
        inner.set(argument, rebuild(value, fresh))
        if source in e.unit.arrays:
            e.unit.arrays.add(argument)
    function = f"agent_{agent.index}"
    write_agent(inner, function, names, region)
    return function, captured
