"""`tt`: arithmetic on pointers."""

from __future__ import annotations

from tlxviz.ir.operation import Operation
from tlxviz.ir.types import PointerType, element_of
from tlxviz.sim import costs
from tlxviz.sim.emitter import Emitter, emits
from tlxviz.sim.errors import UnsupportedOperation
from tlxviz.sim.representation import DensePointers, Index, Pointer, Pointers, Scalar, Uniform
from tlxviz.sim.semantics.index_arithmetic import add_index_parts, narrow_index
from tlxviz.sim.semantics.operands import scalar_type, skip, uniform


@emits("tt.addptr")
def addptr(e: Emitter, op: Operation) -> None:
    costs.issue(e, op.result.type, 2.0)  # an addition of 64 bits is two instructions
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


@emits("ttg.global_scratch_alloc")
def global_scratch_alloc(e: Emitter, op: Operation) -> None:
    size = int(op.attributes.get("nbytes", 128))
    base = e.let(f"scratch({size})")
    e.set(op.result, Pointer(base, "0"))
