"""Arithmetic and comparisons of index tensors whose results are index tensors and masks again."""

from __future__ import annotations

from tlxviz.ir.operation import Operation
from tlxviz.sim.emitter import Emitter
from tlxviz.sim.expressions import parts_code
from tlxviz.sim.representation import Held, Index, Mask, Part, Uniform
from tlxviz.sim.semantics.operands import is_integer_literal, wrap_i32


def combine_indices(e: Emitter, op: Operation, symbol: str) -> Held | None:
    """Index arithmetic that stays index arithmetic."""
    left, right = e.get(op.operands[0]), e.get(op.operands[1])
    shape = e.shape(op.result)
    match left, symbol, right:
        case Index(x, p), "+" | "-", Index(y, q):
            parts = tuple(add_index_parts(e, a, b, size, symbol) for a, b, size in zip(p, q, shape, strict=True))
            return Index(e.let(f"{x} {symbol} {y}"), parts)
        case Index(x, p), "+" | "-", Uniform(y):
            return Index(e.let(f"{x} {symbol} {y}"), p)
        case Uniform(x), "+", Index(y, q):
            return Index(e.let(f"{x} + {y}"), q)
        case Uniform(x), "-", Index(y, q):
            return Index(e.let(f"{x} - {y}"), tuple(b and _scaled_part(e, b, "-1") for b in q))
        case Index(x, p), "*", Uniform(k):
            return scale_index(e, x, p, k)
        case Uniform(k), "*", Index(x, p):
            return scale_index(e, x, p, k)
        case _:
            return None


def scale_index(e: Emitter, offset: str, parts: tuple[Part | None, ...], factor: str) -> Index:
    """An index times a number."""
    return Index(e.let(f"{offset} * {factor}"), tuple(part and _scaled_part(e, part, factor) for part in parts))


def _scaled_part(e: Emitter, part: Part, factor: str) -> Part:
    if part.code == "1":
        return Part(factor, True)
    return Part(e.let(f"{part.code} * {factor}"), part.stride)


def add_index_parts(e: Emitter, a: Part | None, b: Part | None, size: int, symbol: str = "+") -> Part | None:
    """The sum (or difference) of two parts of an index along a dimension of `size`."""
    if b is None:
        return a
    if symbol == "-":
        b = _scaled_part(e, b, "-1")
    if a is None:
        return b
    if a.stride and b.stride:
        return Part(e.let(f"{a.code} + {b.code}"), True)
    return Part(e.let(f"add_parts({a.code}, {b.code}, {size})"), False)


def combine_masks(e: Emitter, op: Operation, symbol: str) -> Held | None:
    """`and` of masks that stays a mask."""
    if symbol != "&":
        return None
    left, right = e.get(op.operands[0]), e.get(op.operands[1])
    shape = e.shape(op.result)
    match left, right:
        case Mask(p), Mask(q):
            return Mask(
                tuple(
                    b if a is None else a if b is None else e.let(f"and_parts({a}, {b}, {size})")
                    for a, b, size in zip(p, q, shape, strict=True)
                )
            )
        case (Mask(p), Uniform(c)) | (Uniform(c), Mask(p)):
            if c == "True":
                return Mask(p)
            at = next((i for i, part in enumerate(p) if part is not None), 0)
            first = p[at] if p[at] is not None else f"(0, {shape[at]})"
            return Mask((*p[:at], e.let(f"where_part({c}, {first})"), *p[at + 1 :]))
        case _:
            return None


def narrow_index(e: Emitter, held: Index, shape: tuple[int, ...]) -> Index:
    """An i32 index whose value is what 32 bits hold of it: arithmetic on an index does not wrap by itself."""
    literal_parts = [int(part.code) if is_integer_literal(part.code) else None for part in held.parts if part]
    name = e.let(held.offset)
    if all(stride is not None and abs(stride) < 1 << 20 for stride in literal_parts):
        wrap_i32(e, name)
        return Index(name, held.parts)
    offset, found = e.fresh(), e.fresh()
    e.line(f"{offset}, {found} = narrow_index({name}, {parts_code(held.parts)}, {shape})")
    parts = tuple(part and Part(e.let(f"{found}[{i}]"), False) for i, part in enumerate(held.parts))
    return Index(offset, parts)


def counts_up(held: Index) -> bool:
    """Whether no element is negative or large for sure."""
    codes = [held.offset, *(part.code for part in held.parts if part)]
    return all(code.isdigit() and int(code) < 1 << 16 for code in codes)


_MIRRORED = {"slt": "sgt", "sle": "sge", "sgt": "slt", "sge": "sle"}


def compare_indices(e: Emitter, op: Operation, predicate: str, bits: int) -> Mask | None:
    """A comparison along one dimension."""
    left, right = e.get(op.operands[0]), e.get(op.operands[1])
    if isinstance(left, Uniform) and isinstance(right, Index):
        left, right, predicate = right, left, _MIRRORED.get(predicate, predicate)
    if not isinstance(left, Index) or not isinstance(right, (Index, Uniform)):
        return None
    p = left.parts
    q = right.parts if isinstance(right, Index) else (None,) * len(p)
    varying = [i for i in range(len(p)) if p[i] is not None or q[i] is not None]
    if len(varying) != 1:
        return None
    at = varying[0]
    a, b = (part.code if part else "None" for part in (p[at], q[at]))
    offset = right.offset if isinstance(right, Index) else right.code
    size = e.shape(op.result)[at]
    code = e.let(f"compare_part({predicate!r}, {left.offset}, {a}, {offset}, {b}, {size}, {bits})")
    return Mask(tuple(code if i == at else None for i in range(len(p))))
