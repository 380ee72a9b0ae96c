"""`tt`: printing and asserts."""

from __future__ import annotations

from tlxviz.ir.operation import Operation, Value
from tlxviz.ir.types import PointerType, Type, element_of
from tlxviz.sim import costs
from tlxviz.sim.emitter import Emitter, emits
from tlxviz.sim.expressions import tuple_code
from tlxviz.sim.representation import DensePointers, Pointer, Pointers
from tlxviz.sim.semantics.operands import scalar_type


@emits("tt.print")
def emit_print(e: Emitter, op: Operation) -> None:
    e.charge(slots=100)
    if not e.values:
        return
    values = [_printed(e, value) for value in op.operands]
    in_hex = bool(op.attributes.get("hex", False))
    digits = [_digits(value.type, in_hex) for value in op.operands]
    prefix = str(op.attributes.get("prefix", ""))
    e.line(f"device_print(cta.pid, {prefix!r}, {tuple_code(values)}, {tuple_code(digits)})")


def _digits(type_: Type, in_hex: bool) -> int:
    """Hexadecimal digits to print a value of the type with; 0 for base 10."""
    if isinstance(element_of(type_), PointerType):
        return 16
    return max(1, scalar_type(type_).bits // 4) if in_hex else 0


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
