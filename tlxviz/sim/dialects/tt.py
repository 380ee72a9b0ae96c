"""`tt`: Triton's tile operations."""

from __future__ import annotations

import math
from dataclasses import replace

from tlxviz.ir.operation import Operation, Value
from tlxviz.ir.types import MemDescType, PointerType, ScalarType, TensorType, Type, bytes_of, element_of
from tlxviz.sim import costs
from tlxviz.sim.dialects.arith import add_index_parts, finish_uniform, narrow_index, scalar_type, skip, uniform
from tlxviz.sim.emitter import Emitter, emits, is_pointer, parts_code, tuple_code
from tlxviz.sim.engine import TENSOR_CORE
from tlxviz.sim.errors import UnsupportedOperation
from tlxviz.sim.representation import (
    Absent,
    Dense,
    DensePointers,
    Held,
    Index,
    Mask,
    Part,
    Pointer,
    Pointers,
    Scalar,
    Uniform,
)

# ---------------------------------------------------------------------- who and where


@emits("tt.get_program_id")
def get_program_id(e: Emitter, op: Operation) -> None:
    e.charge(slots=1)
    e.result_scalar(op, f"cta.pid[{op.attributes['axis']}]")


@emits("tt.get_num_programs")
def get_num_programs(e: Emitter, op: Operation) -> None:
    e.charge(slots=1)
    e.result_scalar(op, f"cta.grid[{op.attributes['axis']}]")


# ---------------------------------------------------------------------- shapes


@emits("tt.make_range")
def make_range(e: Emitter, op: Operation) -> None:
    costs.issue(e, op.result.type)
    e.set(op.result, Index(str(op.attributes["start"]), (Part("1"),)))


@emits("tt.splat")
def splat(e: Emitter, op: Operation) -> None:
    (source,) = op.operands
    if not e.alive(op.result):
        e.set(op.result, Absent())
        return
    rank = len(e.shape(op.result))
    match e.get(source):
        case Scalar(code):
            e.set(op.result, Uniform(code))
        case Pointer(base, offset):
            e.set(op.result, Pointers(base, offset, (None,) * rank))
        case Dense(code):  # inside a combine region
            e.set(op.result, Dense(code))
        case held:
            raise UnsupportedOperation(f"tt.splat of {type(held).__name__}")


@emits("tt.unsplat")
def unsplat(e: Emitter, op: Operation) -> None:
    if skip(e, op):
        return
    (source,) = op.operands
    match e.get(source):
        case Uniform(code):
            e.set(op.result, Scalar(code))
        case Index(offset, _):
            e.set(op.result, Scalar(offset))
        case Pointers(base, offset, _):
            e.set(op.result, Pointer(base, offset))
        case DensePointers(base, offsets):
            e.set(op.result, Pointer(base, e.let(f"{offsets}.item()")))
        case _:
            e.result_scalar(op, f"{e.dense(source)}.item()")


def _reshaped(held: Held, parts: tuple[Part | None, ...], masks: tuple[str | None, ...]) -> Held | None:
    match held:
        case Index(offset, _):
            return Index(offset, parts)
        case Pointers(base, offset, _):
            return Pointers(base, offset, parts)
        case Mask():
            return Mask(masks)
        case Uniform():
            return held
        case _:
            return None


def _parts(held: Held) -> tuple[tuple[Part | None, ...], tuple[str | None, ...]]:
    match held:
        case Index(_, parts) | Pointers(_, _, parts):
            return parts, ()
        case Mask(parts):
            return (), parts
        case _:
            return (), ()


@emits("tt.expand_dims")
def expand_dims(e: Emitter, op: Operation) -> None:
    if skip(e, op):
        return
    (source,) = op.operands
    axis = op.attributes["axis"]
    held = e.get(source)
    if isinstance(held, Dense) and len(e.shape(source)) == 1:
        element = element_of(source.type)
        if isinstance(element, ScalarType) and element.name in ("i1", "i32", "i64"):
            # a vector of integers stays one part of an index, or of a mask
            at = 1 - axis if axis < 2 else 0
            if element.name == "i1":
                e.set(op.result, Mask(tuple(held.code if i == at else None for i in range(2))))
            else:
                code = held.code if element.name == "i64" else e.let(f"{held.code}.long()")
                e.set(op.result, Index("0", tuple(Part(code, False) if i == at else None for i in range(2))))
            return
    parts, masks = _parts(held)
    moved = _reshaped(held, (*parts[:axis], None, *parts[axis:]), (*masks[:axis], None, *masks[axis:]))
    if moved is not None:
        e.set(op.result, moved)
        return
    if isinstance(held, DensePointers):
        e.set(op.result, DensePointers(held.base, e.let(f"{held.offsets}.unsqueeze({axis})")))
        return
    e.result_dense(op, f"{e.dense(source)}.unsqueeze({axis})")


@emits("tt.broadcast")
def broadcast(e: Emitter, op: Operation) -> None:
    if skip(e, op):
        return
    (source,) = op.operands
    held = e.get(source)
    before, after = e.shape(source), e.shape(op.result)
    parts, masks = _parts(held)
    spread = tuple(None if a == 1 and b != 1 else part for part, a, b in zip(parts, before, after, strict=False))
    # the one element of a vector is part of the offset; that of a stride is 0
    single = [
        part.code
        for part, a, b in zip(parts, before, after, strict=False)
        if part and not part.stride and a == 1 and b != 1
    ]
    if single and isinstance(held, (Index, Pointers)):
        held = replace(held, offset=e.let(f"{held.offset} + {' + '.join(f'first_of({code})' for code in single)}"))
    if any(part is not None and a == 1 and b != 1 for part, a, b in zip(masks, before, after, strict=False)):
        # a condition on a dimension of one element becomes a condition on all of them
        masks = tuple(
            e.let(f"spread_part({part}, {b})") if part is not None and a == 1 and b != 1 else part
            for part, a, b in zip(masks, before, after, strict=False)
        )
    moved = _reshaped(held, spread, masks)
    if moved is not None:
        e.set(op.result, moved)
        return
    if isinstance(held, DensePointers):
        e.set(op.result, DensePointers(held.base, e.let(f"{held.offsets}.expand({list(after)})")))
        return
    e.result_dense(op, f"{e.dense(source)}.expand({list(after)})")


@emits("tt.reshape", "tt.trans", "ttg.convert_layout")
def rearrange(e: Emitter, op: Operation) -> None:
    (source,) = op.operands
    if op.name == "ttg.convert_layout":
        _layout_cost(e, source.type, op.result.type)
    if skip(e, op):
        return
    held = e.get(source)
    if op.name == "ttg.convert_layout" or isinstance(held, Uniform):
        e.set(op.result, held)
        return
    if op.name == "tt.trans":
        order = tuple(op.attributes["order"])
        parts, masks = _parts(held)
        moved = _reshaped(
            held, tuple(parts[i] for i in order) if parts else (), tuple(masks[i] for i in order) if masks else ()
        )
        if moved is not None:
            e.set(op.result, moved)
            return
        code = f".permute({order})"
    else:
        code = f".reshape({e.shape(op.result)})"
    if isinstance(held, Pointers):
        held = DensePointers(held.base, e.let(f"indices({held.offset}, {parts_code(held.parts)}, {e.shape(source)})"))
    if isinstance(held, DensePointers):
        e.set(op.result, DensePointers(held.base, e.let(f"{held.offsets}{code}")))
        return
    e.result_dense(op, f"{e.dense(source)}{code}")


def _layout_cost(e: Emitter, before: Type, after: Type) -> None:
    """A conversion goes through shared memory, but for an MMA result that becomes the A operand of the next MMA."""
    if not isinstance(before, TensorType) or not isinstance(after, TensorType):
        return
    target = after.encoding
    if target is not None and target.name == "dot_op" and target.parameters.get("parent") == before.encoding:
        return
    if before.encoding == after.encoding:
        return
    costs.shared_traffic(e, after, 2.0)
    costs.block_barrier(e)


@emits("tt.split")
def split(e: Emitter, op: Operation) -> None:
    if skip(e, op):
        return
    (source,) = op.operands
    held = e.get(source)
    if isinstance(held, Uniform):
        for result in op.results:
            e.set(result, held)
        return
    dense = e.let(e.dense(source))
    for index, result in enumerate(op.results):
        e.set(result, Dense(e.let(f"{dense}[..., {index}]")))


@emits("tt.join")
def join(e: Emitter, op: Operation) -> None:
    if not skip(e, op):
        a, b = (e.dense(operand) for operand in op.operands)
        e.result_dense(op, f"stack(({a}, {b}), -1)")


@emits("tt.cat")
def cat(e: Emitter, op: Operation) -> None:
    if not skip(e, op):
        a, b = (e.dense(operand) for operand in op.operands)
        e.result_dense(op, f"concatenate(({a}, {b}))")


@emits("tt.gather")
def gather(e: Emitter, op: Operation) -> None:
    costs.shared_traffic(e, op.result.type, 2.0)
    if not skip(e, op):
        source, index = op.operands
        e.result_dense(op, f"{e.dense(source)}.gather({op.attributes['axis']}, {e.dense(index)}.long())")


@emits("tt.histogram")
def histogram(e: Emitter, op: Operation) -> None:
    costs.shared_traffic(e, op.operands[0].type, 2.0)
    if not skip(e, op):
        bins, dtype = e.shape(op.result)[0], e.dtype(scalar_type(op.result.type))
        e.result_dense(op, f"histogram({', '.join(map(e.dense, op.operands))}, bins={bins}).to({dtype})")


# ---------------------------------------------------------------------- pointers


@emits("tt.addptr")
def addptr(e: Emitter, op: Operation) -> None:
    costs.issue(e, op.result.type)
    if skip(e, op):
        return
    pointer, offset = op.operands
    held, by = e.get(pointer), e.get(offset)
    narrow = scalar_type(offset.type).name == "i32"
    match held, by:
        case Pointer(base, start), Scalar(code):
            e.set(op.result, Pointer(base, e.let(f"{start} + {code}")))
        case Pointers(base, start, parts), Uniform(code):
            e.set(op.result, Pointers(base, e.let(f"{start} + {code}"), parts))
        case Pointers(base, start, parts), Index():
            shape = e.shape(op.result)
            if narrow:
                by = narrow_index(e, by, shape)
            move, more = by.offset, by.parts
            added = tuple(add_index_parts(e, a, b, size) for a, b, size in zip(parts, more, shape, strict=True))
            e.set(op.result, Pointers(base, e.let(start if move == "0" else f"{start} + {move}"), added))
        case ((Pointers(base, _, _) | DensePointers(base, _)), _):
            dense = e.convert(held, DensePointers("", ""), pointer.type)[1]
            code = uniform(e, offset)
            if code is None:
                code = f"{e.dense(offset)}.long()"
            e.set(op.result, DensePointers(base, e.let(f"{dense} + {code}")))
        case _:
            raise UnsupportedOperation(f"tt.addptr of {type(held).__name__} and {type(by).__name__}")


@emits("tt.int_to_ptr")
def int_to_ptr(e: Emitter, op: Operation) -> None:
    if skip(e, op):
        return
    (source,) = op.operands
    element = element_of(op.result.type)
    assert isinstance(element, PointerType)
    code = uniform(e, source)
    base, offset = e.fresh(), e.fresh()
    if code is not None:
        e.line(f"{base}, {offset} = space.resolve({code}, {e.dtype(element.pointee)})")
        rank = len(e.shape(op.result))
        e.set(op.result, Pointers(base, offset, (None,) * rank) if rank else Pointer(base, offset))
        return
    e.line(f"{base}, {offset} = resolve_tensor(space, {e.dense(source)}, {e.dtype(element.pointee)})")
    e.set(op.result, DensePointers(base, offset))


@emits("tt.ptr_to_int")
def ptr_to_int(e: Emitter, op: Operation) -> None:
    if skip(e, op):
        return
    (source,) = op.operands
    match e.get(source):
        case Pointer(base, offset):
            e.result_scalar(op, f"address_of({base}, {offset})")
        case Pointers() | DensePointers() as held:
            base, offsets = e.convert(held, DensePointers("", ""), source.type)
            e.result_dense(op, f"({offsets} * {base}.element_size() + {base}.data_ptr())")
        case held:
            raise UnsupportedOperation(f"tt.ptr_to_int of {type(held).__name__}")


def mask_code(e: Emitter, value: Value | None) -> str:
    """An expression for a mask of a tile: None, a tuple of parts, or a bool tensor."""
    if value is None:
        return "None"
    match e.get(value):
        case Uniform("True"):
            return "None"
        case Uniform(code):
            shape = e.shape(value)
            rest = ["None"] * (len(shape) - 1)
            return tuple_code([f"((0, {shape[0]}) if {code} else (0, 0))", *rest])
        case Mask(parts):
            return tuple_code(parts)
        case _:
            return e.dense(value)


def filler_code(e: Emitter, value: Value | None) -> str:
    """What masked-off elements read as."""
    if value is None:
        return "0"
    code = uniform(e, value)
    return code if code is not None else e.dense(value)


def _traffic(e: Emitter, type_: Type, kind: str) -> tuple[int, int]:
    """(cycles on the load-store path, bytes) of a global access; issues its instructions."""
    memory = e.unit.device.memory
    size = _accessed_bytes(type_)
    per_thread = max(1.0, size / e.threads / 16) if isinstance(type_, TensorType) else 1.0
    e.charge(slots=per_thread * max(1.0, e.warps / e.unit.device.alu.schedulers) * (2 if kind == "load" else 1))
    return math.ceil(size / memory.load_bytes_per_cycle), size


def _accessed_bytes(type_: Type) -> int:
    element = element_of(type_)
    assert isinstance(element, PointerType)
    count = type_.size if isinstance(type_, TensorType) else 1
    return count * bytes_of(element.pointee)


@emits("tt.load")
def load(e: Emitter, op: Operation) -> None:
    memory = e.unit.device.memory
    pointer = op.groups["ptr"][0]
    cycles, size = _traffic(e, pointer.type, "load")
    if op.attributes.get("isVolatile"):
        e.order()
    else:
        e.flush()
    ready = e.fresh("r")
    if e.timed:
        e.line(f"{ready} = sm.load(t, {cycles}, {round(memory.l2_latency_cycles)}, {size})")
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
    cycles, size = _traffic(e, pointer.type, "store")
    e.flush()
    if e.timed:
        e.line(f"sm.store(t, {cycles}, {size})")
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


@emits("tt.atomic_rmw", "tt.atomic_cas")
def atomic(e: Emitter, op: Operation) -> None:
    memory = e.unit.device.memory
    pointer, value = op.groups["ptr"][0], op.groups["value"][0]
    cycles, size = _traffic(e, pointer.type, "atomic")
    e.settle_loads()
    e.order()
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
        case Pointers() | DensePointers() as held:
            base, offsets = e.convert(held, DensePointers("", ""), pointer.type)
            dense = "None" if mask is None else e.dense(mask)
            if compare is not None:
                e.result_dense(op, f"cas_dense({base}, {offsets}, {e.dense(compare)}, {e.dense(value)})")
            else:
                e.result_dense(op, f"atomic_dense({kind!r}, {base}, {offsets}, {e.dense(value)}, {dense})")
        case held:
            raise UnsupportedOperation(f"an atomic through {type(held).__name__}")


# ---------------------------------------------------------------------- descriptors that were not lowered


@emits("tt.descriptor_load")
def descriptor_load(e: Emitter, op: Operation) -> None:
    tma = e.unit.device.tma
    size = bytes_of(op.result.type)
    e.flush()
    if e.timed:
        latency = round(tma.issue_cycles + tma.l2_latency_cycles)
        e.line(f"t = sm.load(t, {math.ceil(size / tma.bytes_per_cycle)}, {latency}, {size})")
    if skip(e, op):
        e.set(op.result, Absent())
        return
    at = tuple_code(e.scalar(value) for value in op.groups["coords"])
    e.result_dense(op, f"{e.scalar(op.groups['desc'][0])}.read({at}).reshape({e.shape(op.result)})")


@emits("tt.descriptor_store", "tt.descriptor_reduce")
def descriptor_store(e: Emitter, op: Operation) -> None:
    source = op.groups["src"][0]
    size = bytes_of(source.type)
    e.flush()
    if e.timed:
        e.line(f"sm.store(t, {math.ceil(size / e.unit.device.tma.store_bytes_per_cycle)}, {size})")
    if e.values:
        at = tuple_code(e.scalar(value) for value in op.groups["coords"])
        desc = e.scalar(op.groups["desc"][0])
        if op.name == "tt.descriptor_store":
            e.line(f"{desc}.store({at}, {e.dense(source)})")
        else:
            e.line(f"{desc}.reduce({at}, {e.dense(source)}, {str(op.attributes['kind'])!r})")


# ---------------------------------------------------------------------- dot


def flop(op: Operation) -> int:
    """Floating-point operations of an MMA: a multiply-add counts two."""
    type_ = op.result.type
    a = op.groups["a"][0].type
    assert isinstance(type_, TensorType)
    assert isinstance(a, (TensorType, MemDescType))
    return 2 * type_.size * a.shape[-1]


def _operand(e: Emitter, value: Value, precision: str) -> str:
    """An MMA operand as f32 (f64 for wide and integer types)."""
    element = scalar_type(value.type)
    code = e.scalar(value) if isinstance(value.type, MemDescType) else e.dense(value)
    held_wide = False
    if isinstance(value.type, MemDescType):
        code = f"{code}.tensor"
        root = e.unit.program.roots.get(value)
        held_wide = root is not None and root.index not in e.unit.narrow and element.is_float and element.bytes < 4
    if held_wide:
        return code
    match element.name:
        case "f32":
            return f"tf32({code})" if precision in ("tf32", "0") else code
        case "f64":
            return code
        case _ if element.is_integer:
            return f"{code}.double()"
        case _:
            return f"{code}.float()"


def dot_code(e: Emitter, op: Operation) -> str:
    """The product in the accumulator's type; a zero accumulator costs nothing."""
    a, b, c = (op.groups[part][0] for part in "abc")
    precision = str(op.attributes.get("inputPrecision", "0"))
    x, y = _operand(e, a, precision), _operand(e, b, precision)
    held = e.get(c)
    type_ = scalar_type(op.result.type)
    zero = isinstance(held, Uniform) and held.code in ("0.0", "0", "-0.0")
    use = op.operand("use_c")
    if use is not None and e.scalar(use) == "False":
        zero = True
    batched = len(e.shape(op.result)) > 2
    integer = type_.is_integer
    function = "mm" if not batched else "matmul"
    if zero:
        code = f"{function}({x}, {y})"
    else:
        previous = e.dense(c)
        if type_.name != "f32" and type_.name != "f64":
            previous = f"{previous}.double()" if integer else f"{previous}.float()"
        code = f"addmm({previous}, {x}, {y})" if not batched else f"{previous} + matmul({x}, {y})"
        if use is not None and e.scalar(use) != "True":
            code = f"({code} if {e.scalar(use)} else {function}({x}, {y}))"
    return code if type_.name in ("f32", "f64") else f"({code}).to({e.dtype(type_)})"


@emits("tt.dot")
def dot(e: Emitter, op: Operation) -> None:
    """A synchronous MMA (`mma.sync`)."""
    from tlxviz.sim.dialects.ttng import mma_cycles

    core = e.unit.device.tensor_core
    cycles, work = mma_cycles(e, op)
    duration = math.ceil(cycles / core.mma_sync_fraction)
    e.settle_loads()
    e.flush()
    begin = e.mark()
    e.order()
    row = e.row()
    x = e.fresh("x")
    if e.timed:
        e.line(f"{x} = sm.tensor_free")
        e.line(f"if {x} < t: {x} = t")
        e.line(f"sm.tensor_free = t = {x} + {duration}; sm.tensor_busy += {duration}; sm.flop += {work}")
    e.record(begin=begin)
    e.record(begin=x, end="t", cause=row, engine=TENSOR_CORE)
    if skip(e, op):
        e.set(op.result, Absent())
        return
    e.result_dense(op, dot_code(e, op))


def is_pointer_value(value: Value) -> bool:
    """Whether a value is a pointer or a tensor of pointers."""
    return is_pointer(value.type)


# ---------------------------------------------------------------------- printing and asserts


@emits("tt.print")
def emit_print(e: Emitter, op: Operation) -> None:
    e.charge(slots=100)
    if not e.values:
        return
    values = [_printed(e, value) for value in op.operands]
    in_hex = bool(op.attributes.get("hex", False))
    digits = [16 if is_pointer(v.type) else max(1, scalar_type(v.type).bits // 4) if in_hex else 0 for v in op.operands]
    prefix = str(op.attributes.get("prefix", ""))
    e.line(f"device_print(cta.pid, {prefix!r}, {tuple_code(values)}, {tuple_code(digits)})")


def _printed(e: Emitter, value: Value) -> str:
    match e.get(value):
        case Pointer(base, offset):
            return f"address_of({base}, {offset})"
        case Pointers() | DensePointers() as held:
            base, offsets = e.convert(held, DensePointers("", ""), value.type)
            return f"({offsets} * {base}.element_size() + {base}.data_ptr())"
        case _:
            return e.dense(value)


@emits("tt.assert")
def emit_assert(e: Emitter, op: Operation) -> None:
    costs.issue(e, op.operands[0].type)
    if e.values:
        e.line(f"device_assert(cta.pid, {e.dense(op.operands[0])}, {str(op.attributes.get('message', ''))!r})")


@emits("tt.elementwise_inline_asm")
def inline_asm(e: Emitter, op: Operation) -> None:
    text = str(op.attributes["asm_string"])
    _asm_cost(e, op, text)
    pure = bool(op.attributes.get("pure", False))
    if pure and skip(e, op):
        for result in op.results:
            e.set(result, Absent())
        return
    if not pure:
        e.settle_loads()
        e.order()
    names = tuple(_asm_type(value) for value in op.operands)
    results = tuple(_asm_type(value) for value in op.results)
    constraints = str(op.attributes.get("constraints", ""))
    program = e.unit.asm((text, constraints, int(op.attributes.get("packed_element", 1)), names, results))
    operands: list[str] = []
    for value in op.operands:
        held = e.get(value)
        operands.append(f"address_of({held.base}, {held.offset})" if isinstance(held, Pointer) else e.dense(value))
    found = [e.fresh() for _ in op.results]
    e.line("environment.begin(cta, me, t)" if e.timed else "pass")
    target = f"{', '.join(found)}{',' if len(found) == 1 else ''} = " if found else ""
    e.line(f"{target}{program}.run({tuple_code(operands)}, environment)")
    if not pure and e.timed:
        e.line("t += environment.elapsed()")
    for name, result in zip(found, op.results, strict=True):
        e.set(result, Dense(name) if isinstance(result.type, TensorType) else Scalar(name))


def _asm_type(value: Value) -> str:
    element = element_of(value.type)
    return element.name if isinstance(element, ScalarType) else "ptr"


def _asm_cost(e: Emitter, op: Operation, text: str) -> None:
    type_ = op.results[0].type if op.results else op.operands[0].type if op.operands else ScalarType("i32")
    packed = max(1, int(op.attributes.get("packed_element", 1)))
    statements = max(1, text.count(";"))
    functions = sum(text.count(name) for name in ("ex2.", "lg2.", "rcp.", "rsqrt.", "sqrt.", "tanh.", "sin.", "cos."))
    costs.issue(e, type_, statements / packed)
    if functions:
        costs.special(e, type_, functions / packed)


@emits("tt.extern_elementwise")
def extern_elementwise(e: Emitter, op: Operation) -> None:
    costs.issue(e, op.result.type, 8.0)
    costs.special(e, op.result.type)
    if skip(e, op):
        return
    from tlxviz.sim.libdevice import extern_function

    name = e.constant(extern_function(str(op.attributes["symbol"])))
    dtype = e.dtype(scalar_type(op.result.type))
    if all(uniform(e, value) is not None for value in op.operands):
        arguments = ", ".join(
            f"tensor({uniform(e, value)}, dtype={e.dtype(scalar_type(value.type))})" for value in op.operands
        )
        finish_uniform(e, op, f"{name}({arguments}).to({dtype}).item()")
        return
    e.result_dense(op, f"{name}({', '.join(e.dense(value) for value in op.operands)}).to({dtype})")
