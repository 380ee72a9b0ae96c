"""`arith`: arithmetic of integers and bits."""

from __future__ import annotations

from tlxviz.ir.operation import Operation
from tlxviz.ir.types import ScalarType
from tlxviz.sim import costs
from tlxviz.sim.emitter import Emitter, emits
from tlxviz.sim.representation import Index, Part
from tlxviz.sim.semantics.index_arithmetic import combine_indices, combine_masks, scale_index
from tlxviz.sim.semantics.operands import finish_uniform, operand_code, scalar_type, skip, uniform, wrapped

_OF_BITS = {"+": "^", "-": "^", "*": "&"}
"""Arithmetic of single bits."""


def _int_binary(e: Emitter, op: Operation, symbol: str) -> None:
    costs.elementwise(e, op)
    if skip(e, op):
        return
    type_ = scalar_type(op.result.type)
    left, right = op.operands
    a, b = uniform(e, left), uniform(e, right)
    if type_.name == "i1":
        symbol = _OF_BITS.get(symbol, symbol)
    if a is not None and b is not None:
        code = f"{a} {symbol} {b}"
        if symbol == "<<":
            finish_uniform(e, op, f"shift_left({a}, {b}, {type_.bits})")
        elif symbol in "&|^" and type_.name != "index":
            finish_uniform(e, op, code)
        else:
            finish_uniform(e, op, wrapped(e, code, type_))
        return
    if symbol == "<<":
        _shift_left(e, op, b, type_)
        return
    held = combine_indices(e, op, symbol) or combine_masks(e, op, symbol)
    if held is not None:
        e.set(op.result, held)
        return
    e.result_dense(op, f"{operand_code(e, left)} {symbol} {operand_code(e, right)}")


def _shift_left(e: Emitter, op: Operation, by: str | None, type_: ScalarType) -> None:
    left, right = op.operands
    held = e.get(left)
    if by is not None and by.isdigit() and int(by) < type_.bits:
        if isinstance(held, Index):
            e.set(op.result, scale_index(e, held.offset, held.parts, str(1 << int(by))))
        else:
            e.result_dense(op, f"{e.dense(left)} << {by}")
        return
    e.result_dense(op, f"tensor_shli({operand_code(e, left)}, {operand_code(e, right)}, {e.dtype(type_)})")


def _register_int_binaries() -> None:
    for name, symbol in {
        "arith.addi": "+",
        "arith.subi": "-",
        "arith.muli": "*",
        "arith.andi": "&",
        "arith.ori": "|",
        "arith.xori": "^",
        "arith.shli": "<<",
    }.items():

        def emit(e: Emitter, op: Operation, symbol: str = symbol) -> None:
            _int_binary(e, op, symbol)

        emits(name)(emit)


_register_int_binaries()


@emits("arith.divsi", "arith.remsi")
def division(e: Emitter, op: Operation) -> None:
    costs.division(e, op)
    if skip(e, op):
        return
    left, right = op.operands
    divide = op.name == "arith.divsi"
    a, b = uniform(e, left), uniform(e, right)
    if a is not None and b is not None:
        if b.isdigit() and b != "0":
            x = e.let(a)
            code = (
                f"{x} // {b} if {x} >= 0 else -(-{x} // {b})" if divide else f"{x} % {b} if {x} >= 0 else -(-{x} % {b})"
            )
        else:
            code = f"scalar_divsi({a}, {b}, {scalar_type(left.type).bits})" if divide else f"truncating_rem({a}, {b})"
        finish_uniform(e, op, code)
        return
    held = e.get(left)
    if isinstance(held, Index) and b is not None and sum(part is not None for part in held.parts) == 1:
        at = next(i for i, part in enumerate(held.parts) if part is not None)
        part = held.parts[at]
        assert part is not None
        offset, result = e.fresh(), e.fresh()
        helper = "div_part" if divide else "rem_part"
        bits = scalar_type(left.type).bits
        e.line(f"{offset}, {result} = {helper}({held.offset}, {part.code}, {e.shape(op.result)[at]}, {b}, {bits})")
        e.set(op.result, Index(offset, (*held.parts[:at], Part(result, False), *held.parts[at + 1 :])))
        return
    e.result_dense(op, f"{'divide' if divide else 'remainder'}_int({operand_code(e, left)}, {operand_code(e, right)})")


@emits(
    "arith.divui", "arith.remui", "arith.shrui", "arith.shrsi", "arith.ceildivsi", "arith.ceildivui", "arith.floordivsi"
)
def unsigned_division(e: Emitter, op: Operation) -> None:
    if "shr" in op.name:
        costs.logic(e, op.result.type)
    else:
        costs.division(e, op)
    if skip(e, op):
        return
    type_ = scalar_type(op.result.type)
    kind = op.name.removeprefix("arith.")
    left, right = op.operands
    a, b = uniform(e, left), uniform(e, right)
    if a is not None and b is not None:
        finish_uniform(e, op, f"scalar_{kind}({a}, {b}, {type_.bits})")
        return
    e.result_dense(op, f"tensor_{kind}({operand_code(e, left)}, {operand_code(e, right)}, {e.dtype(type_)})")
