"""`arith`: comparisons, the smaller or larger of two, and choices."""

from __future__ import annotations

from tlxviz.ir.operation import Operation, Value
from tlxviz.ir.types import ScalarType, TensorType, Type
from tlxviz.sim import costs
from tlxviz.sim.emitter import Emitter, emits
from tlxviz.sim.representation import DensePointers, Held, Pointer, Pointers, Scalar, codes
from tlxviz.sim.semantics.index_arithmetic import compare_indices
from tlxviz.sim.semantics.operands import finish_uniform, operand_code, scalar_type, skip, uniform

_PREDICATES = {"eq": "==", "ne": "!=", "slt": "<", "sle": "<=", "sgt": ">", "sge": ">="}
_UNSIGNED = {"ult": "<", "ule": "<=", "ugt": ">", "uge": ">="}


@emits("arith.cmpi")
def cmpi(e: Emitter, op: Operation) -> None:
    index = costs.is_addressing(e, op.result)  # of which the compiler makes each element first
    costs.logic(e, op.operands[0].type, 2.0 if index else 1.0)
    if skip(e, op):
        return
    predicate = str(op.attributes["predicate"])
    left, right = op.operands
    a, b = uniform(e, left), uniform(e, right)
    bits = scalar_type(left.type).bits
    symbol = _PREDICATES.get(predicate)
    if a is not None and b is not None:
        if symbol is not None:
            if bits == 1:
                a, b = b, a  # a set bit is -1
            finish_uniform(e, op, f"{a} {symbol} {b}")
        else:
            finish_uniform(e, op, f"unsigned({a}, {bits}) {_UNSIGNED[predicate]} unsigned({b}, {bits})")
        return
    if symbol is not None:
        mask = compare_indices(e, op, predicate, bits)
        if mask is not None:
            e.set(op.result, mask)
            return
        if bits == 1 and predicate not in ("eq", "ne"):
            # a set bit is -1
            e.result_dense(op, f"{e.dense(right)} {symbol} {e.dense(left)}")
            return
        e.result_dense(op, f"{operand_code(e, left)} {symbol} {operand_code(e, right)}")
        return
    e.result_dense(op, f"compare_unsigned({predicate!r}, {operand_code(e, left)}, {operand_code(e, right)})")


_ORDERED = {"oeq": "==", "ogt": ">", "oge": ">=", "olt": "<", "ole": "<=", "one": "!=", "une": "!="}
_UNORDERED = {"ueq": "==", "ugt": "<=", "uge": "<", "ult": ">=", "ule": ">"}


@emits("arith.cmpf")
def cmpf(e: Emitter, op: Operation) -> None:
    costs.logic(e, op.operands[0].type)
    if skip(e, op):
        return
    predicate = str(op.attributes["predicate"])
    left, right = op.operands
    a, b = uniform(e, left), uniform(e, right)
    if a is not None and b is not None:
        finish_uniform(e, op, f"scalar_cmpf({predicate!r}, {a}, {b})")
        return
    x, y = operand_code(e, left), operand_code(e, right)
    if predicate == "one":
        code = f"({x} < {y}) | ({x} > {y})"
    elif predicate in _ORDERED:
        code = f"{x} {_ORDERED[predicate]} {y}"
    elif predicate == "ueq":
        code = f"~(({x} < {y}) | ({x} > {y}))"
    elif predicate in _UNORDERED:
        code = f"~({x} {_UNORDERED[predicate]} {y})"
    elif predicate in ("ord", "uno"):
        code = f"{'~' if predicate == 'ord' else ''}(isnan({e.dense(left)}) | isnan({e.dense(right)}))"
    else:
        code = f"full_like({e.dense(left)}, {predicate in ('true', 'AlwaysTrue')}, dtype={e.dtype(ScalarType('i1'))})"
    e.result_dense(op, code)


@emits("arith.select")
def select(e: Emitter, op: Operation) -> None:
    costs.elementwise(e, op)
    if skip(e, op):
        return
    condition, left, right = op.operands
    flag = uniform(e, condition)
    a, b = e.get(left), e.get(right)
    if flag is not None:
        if isinstance(a, Scalar) and isinstance(b, Scalar):
            finish_uniform(e, op, f"{a.code} if {flag} else {b.code}")
            return
        shape = e.joined(a, b, op.result.type)
        result = e.variables(shape, "v")
        for name, x, y in zip(
            codes(result), e.convert(a, shape, left.type), e.convert(b, shape, right.type), strict=True
        ):
            e.line(f"{name} = {x} if {flag} else {y}")
        e.set(op.result, result)
        return
    if isinstance(a, (Pointer, Pointers, DensePointers)):
        first, x = _pointer_offsets(e, a, left.type)
        second, y = _pointer_offsets(e, b, right.type)
        base, offsets = e.fresh(), e.fresh()
        e.line(f"{base}, {offsets} = select_pointers({e.dense(condition)}, {first}, {x}, {second}, {y})")
        e.set(op.result, DensePointers(base, offsets))
        return
    x, y = operand_code(e, left), operand_code(e, right)
    if uniform(e, left) is not None and uniform(e, right) is not None:
        x = e.dense(left)
    e.result_dense(op, f"where({e.dense(condition)}, {x}, {y})")


def _pointer_offsets(e: Emitter, held: Held, type_: Type) -> tuple[str, str]:
    match held:
        case Pointers():
            base, offsets = e.convert(held, DensePointers("", ""), type_)
            return base, offsets
        case DensePointers(base, offsets):
            return base, offsets
        case _:
            raise AssertionError(held)


def _as_tensor(e: Emitter, value: Value) -> str:
    """A torch tensor also for a number, as in the body of `tt.map_elementwise`, whose arguments are tensors here."""
    number = None if isinstance(value.type, TensorType) else uniform(e, value)
    return e.dense(value) if number is None else f"tensor({number})"


def _min_max(e: Emitter, op: Operation) -> None:
    costs.elementwise(e, op)
    if skip(e, op):
        return
    name = op.name.removeprefix("arith.")
    larger = name.startswith("max")
    left, right = op.operands
    a, b = uniform(e, left), uniform(e, right)
    unsigned = name.endswith("ui")
    bits = scalar_type(op.result.type).bits
    if a is not None and b is not None:
        if name in ("maxsi", "minsi"):
            x, y = e.let(a), e.let(b)
            finish_uniform(e, op, f"{x} if {x} {'>' if larger else '<'} {y} else {y}")
        elif unsigned:
            finish_uniform(e, op, f"scalar_{name}({a}, {b}, {bits})")
        else:
            finish_uniform(e, op, f"scalar_{name}({a}, {b})")
        return
    x, y = (_as_tensor(e, value) for value in (left, right))
    match name:
        case "maxsi" | "maximumf":
            code = f"maximum({x}, {y})"
        case "minsi" | "minimumf":
            code = f"minimum({x}, {y})"
        case "maxnumf":
            code = f"fmax({x}, {y})"
        case "minnumf":
            code = f"fmin({x}, {y})"
        case _:
            code = f"combine('u{name[:3]}', {x}, {y})"
    e.result_dense(op, code)


for _name in ("maxsi", "minsi", "maxui", "minui", "maxnumf", "minnumf", "maximumf", "minimumf"):
    emits(f"arith.{_name}")(_min_max)
