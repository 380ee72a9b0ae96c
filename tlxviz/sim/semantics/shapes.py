"""`tt`: ranges, and tensors whose elements take other places or shapes."""

from __future__ import annotations

from dataclasses import replace

from tlxviz.ir.operation import Operation
from tlxviz.ir.types import ScalarType, TensorType, Type, element_of
from tlxviz.sim import costs
from tlxviz.sim.emitter import Emitter, emits
from tlxviz.sim.errors import UnsupportedOperation
from tlxviz.sim.expressions import parts_code
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
from tlxviz.sim.semantics.operands import scalar_type, skip


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
