"""`ttg`: shared memory and views of it."""

from __future__ import annotations

from tlxviz.ir.operation import Operation, Value
from tlxviz.ir.program import BarrierArray, Buffer
from tlxviz.ir.types import MemDescType, ScalarType, element_of
from tlxviz.sim import costs
from tlxviz.sim.emitter import Emitter, emits
from tlxviz.sim.errors import UnsupportedOperation
from tlxviz.sim.representation import Absent
from tlxviz.sim.runtime.launch_control import NUMBERS
from tlxviz.sim.semantics.operands import scalar_type, skip
from tlxviz.sim.semantics.sync import is_remote
from tlxviz.sim.tensor_layout import layout_of


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
        make = "shared_barriers" if e.unit.clustered else "make_barriers"
        e.result_scalar(op, f"{make}(cta, {root.index}, {root.slots})")
        return
    index = root.index if isinstance(root, Buffer) else -1
    init = op.operand("init") or (op.operands[0] if op.operands else None)
    make = "shared_memory(cta, " if e.unit.clustered else "allocate("
    if scalar_type(result.type).name == "ui128":  # answers of cluster launch control, which are no data
        dtype = e.dtype(ScalarType("i32"))
        e.result_scalar(op, f"{make}{index}, {(*e.shape(result), NUMBERS)}, {dtype}, True)")
        return
    e.result_scalar(op, f"{make}{index}, {e.shape(result)}, {held_dtype(e, result)}, {contents(e, result)})")
    if init is not None:
        costs.shared_traffic(e, init.type)
        costs.block_barrier(e)
        if contents(e, result):
            e.line(f"{e.scalar(result)}.store({e.dense(init)})")
        e.watch("wrote", e.scalar(result))


@emits("ttg.local_dealloc")
def local_dealloc(e: Emitter, op: Operation) -> None:
    """Lifetime only."""


@emits("ttg.memdesc_index")
def memdesc_index(e: Emitter, op: Operation) -> None:
    source, index = op.groups["src"][0], op.groups["index"][0]
    if not e.alive(op.result):  # nobody uses it, and its index may not be computed
        e.set(op.result, Absent())
        return
    e.charge(slots=1)
    code = e.scalar(source)
    where = e.let(e.scalar(index))
    root = e.unit.program.roots.get(source)
    name = root.name if root is not None else source.name
    if isinstance(root, BarrierArray):
        if source in e.unit.arrays:
            e.check_slot(where, e.shape(source)[0], name)
            code = f"{code}[{where}]"
        e.result_scalar(op, code)
        return
    e.check_slot(where, e.shape(source)[0], name)
    if is_tensor_memory(source):
        e.result_scalar(op, f"{code}.at({where}{_other_layout(e, source, op.result)})")
        return
    if root is None and scalar_type(op.result.type).name == "i64":  # of several arrays, perhaps of mbarriers
        e.result_scalar(op, f"slot_of({code}, {where})")
    else:
        e.result_scalar(op, f"{code}.slots[{where}]")


@emits("ttg.memdesc_trans")
def memdesc_trans(e: Emitter, op: Operation) -> None:
    e.result_scalar(op, f"{e.scalar(op.operands[0])}.transposed({tuple(op.attributes['order'])})")


def is_tensor_memory(value: Value) -> bool:
    """Whether a value is a view of tensor memory."""
    return isinstance(value.type, MemDescType) and value.type.space == "tensor_memory"


@emits("ttg.memdesc_subslice")
def memdesc_subslice(e: Emitter, op: Operation) -> None:
    offsets = tuple(op.attributes["offsets"])
    if is_tensor_memory(op.result):
        raise UnsupportedOperation("ttg.memdesc_subslice of tensor memory: ttng.tmem_subslice takes columns of it")
    source = e.scalar(op.operands[0])
    shape = e.shape(op.result)
    if len(offsets) != len(shape):
        raise UnsupportedOperation("ttg.memdesc_subslice that changes the rank")
    e.result_scalar(op, f"{source}.subslice({offsets}, {shape})")


@emits("ttg.memdesc_reshape")
def memdesc_reshape(e: Emitter, op: Operation) -> None:
    if is_tensor_memory(op.result):
        raise UnsupportedOperation("ttg.memdesc_reshape of tensor memory")
    e.result_scalar(op, f"{e.scalar(op.operands[0])}.reshaped({e.shape(op.result)})")


@emits("ttg.memdesc_reinterpret")
def memdesc_reinterpret(e: Emitter, op: Operation) -> None:
    source = op.operands[0]
    if isinstance(e.unit.program.roots.get(source), BarrierArray):
        e.set(op.result, e.get(source))
        if source in e.unit.arrays:
            e.unit.arrays.add(op.result)
        return
    form = tensor_layout(e, op.result) if is_tensor_memory(op.result) else str(e.shape(op.result))
    e.result_scalar(op, f"{e.scalar(source)}.reinterpreted({form}, {e.dtype(element_of(op.result.type))})")


def _other_layout(e: Emitter, array: Value, slot: Value) -> str:
    """An argument for the layout of a slot that is not that of the array: Triton packs slots of unpacked arrays."""
    assert isinstance(array.type, MemDescType)
    assert isinstance(slot.type, MemDescType)
    same = layout_of(array.type).axes[1:] == layout_of(slot.type).axes
    return "" if same else f", {tensor_layout(e, slot)}"


def tensor_layout(e: Emitter, value: Value) -> str:
    """A global name for the layout of a view of tensor memory."""
    assert isinstance(value.type, MemDescType)
    return e.constant(layout_of(value.type))


@emits("ttg.local_load")
def local_load(e: Emitter, op: Operation) -> None:
    e.order()  # what was to land or leave before now has
    costs.shared_traffic(e, op.result.type)
    source = op.groups["src"][0]
    if is_remote(e, source):
        e.charge(latency=e.unit.device.cluster.remote_latency_cycles)
    e.watch("read", e.scalar(source))
    if skip(e, op):
        e.set(op.result, Absent())
        return
    dtype = e.dtype(scalar_type(op.result.type))
    view = f"{_at_hand(e, source)}.tensor"
    e.result_dense(op, f"{view}.clone()" if held_dtype(e, source) == dtype else f"{view}.to({dtype})")


@emits("ttg.local_store")
def local_store(e: Emitter, op: Operation) -> None:
    e.order()  # what was to land or leave before now has
    value, target = op.groups["value"][0], op.groups["dst"][0]
    costs.shared_traffic(e, value.type)
    if contents(e, target):
        e.line(f"{_at_hand(e, target)}.store({e.dense(value)})")
    e.watch("wrote", e.scalar(target))


def _at_hand(e: Emitter, view: Value) -> str:
    """The view, which has to be there still if it is of another CTA."""
    code = e.scalar(view)
    return f"reached({code})" if is_remote(e, view) else code


@emits("ttg.local_gather")
def local_gather(e: Emitter, op: Operation) -> None:
    e.order()  # what was to land or leave before now has
    costs.shared_traffic(e, op.result.type)
    e.watch("read", e.scalar(op.groups["src"][0]))
    if skip(e, op):
        e.set(op.result, Absent())
        return
    source, index = op.groups["src"][0], op.groups["indices"][0]
    dtype = e.dtype(scalar_type(op.result.type))
    axis = op.attributes["axis"]
    e.result_dense(op, f"{e.scalar(source)}.tensor.gather({axis}, {e.dense(index)}.long()).to({dtype})")


@emits("ttg.local_scatter")
def local_scatter(e: Emitter, op: Operation) -> None:
    e.order()  # what was to land or leave before now has
    value, target, index = op.groups["value"][0], op.groups["dst"][0], op.groups["indices"][0]
    costs.shared_traffic(e, value.type)
    if contents(e, target):
        axis = op.attributes["axis"]
        dtype = held_dtype(e, target)
        e.line(f"{e.scalar(target)}.tensor.scatter_({axis}, {e.dense(index)}.long(), {e.dense(value)}.to({dtype}))")
    e.watch("wrote", e.scalar(target))


@emits("ttg.local_atomic_scatter_rmw")
def local_atomic(e: Emitter, op: Operation) -> None:
    e.order()  # what was to land or leave before now has
    value, target, index = op.groups["value"][0], op.groups["dst"][0], op.groups["indices"][0]
    costs.shared_traffic(e, value.type, 2)
    e.watch("wrote", e.scalar(target))
    if not contents(e, target):
        e.set(op.result, Absent())
        return
    mask = op.operand("mask")
    chosen = "None" if mask is None else e.dense(mask)
    where = f"{e.scalar(target)}.tensor, {op.attributes['axis']}, {e.dense(index)}"
    e.result_dense(op, f"atomic_along({op.attributes['rmw_op']!r}, {where}, {e.dense(value)}, {chosen})")
