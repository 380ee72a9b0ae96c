"""`arith`: integer and float arithmetic, comparisons, conversions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tlxviz.ir.numbers import Dense as DenseConstant
from tlxviz.ir.operation import Operation, Value
from tlxviz.ir.types import PointerType, ScalarType, TensorType, Type, bytes_of, element_of
from tlxviz.sim import costs
from tlxviz.sim.dtypes import TORCH
from tlxviz.sim.emitter import Emitter, emits, parts_code
from tlxviz.sim.representation import (
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

_INT_MIN, _INT_MAX = -(2**31), 2**31 - 1


def scalar_type(type_: Type) -> ScalarType:
    """The element type of a value, which is a number."""
    element = element_of(type_)
    return element if isinstance(element, ScalarType) else ScalarType("i64")


def literal(value: float, type_: ScalarType) -> str:
    """A Python literal, or a name of the generated code for infinities and NaN."""
    if type_.is_float:
        number = float(value)
        if number != number:
            return "nan"
        if number in (float("inf"), float("-inf")):
            return "inf" if number > 0 else "-inf"
        return repr(number)
    if type_.name == "i1":
        return repr(bool(value))
    return repr(int(value))


@emits("arith.constant")
def constant(e: Emitter, op: Operation) -> None:
    value = op.attributes["value"]
    type_ = op.result.type
    element = scalar_type(type_)
    if isinstance(type_, TensorType):
        if isinstance(value, DenseConstant) and not value.is_splat:
            import torch

            tensor = torch.tensor(value.values, dtype=TORCH[element.name]).view(type_.shape)
            e.set(op.result, Dense(e.constant(tensor)))
            return
        number = value.splat if isinstance(value, DenseConstant) else value
        e.set(op.result, Uniform(literal(number, element)))
        return
    e.set(op.result, Scalar(literal(value, element)))


def wrapped(e: Emitter, code: str, type_: ScalarType) -> str:
    """A variable for an integer expression, wrapped to the type's width."""
    name = e.let(code)
    match type_.name:
        case "i32":
            if not name.lstrip("-").isdigit():
                e.line(f"if not {_INT_MIN} <= {name} <= {_INT_MAX}: {name} = wrap({name}, 32)")
        case "index":
            pass
        case "i1":
            e.line(f"{name} = bool({name} & 1)")
        case _:
            e.line(f"{name} = wrap({name}, {type_.bits})")
    return name


def rounded(code: str, type_: ScalarType) -> str:
    """A float expression rounded to the type."""
    match type_.name:
        case "f64":
            return code
        case "f32":
            return f"round_f32({code})"
        case "f16":
            return f"round_f16({code})"
        case _:
            return f"round_scalar({code}, {type_.name!r})"


def skip(e: Emitter, op: Operation) -> bool:
    """Whether nothing needs the results: then only the cost remains."""
    return not any(e.alive(result) for result in op.results)


def uniform(e: Emitter, value: Value) -> str | None:
    """The expression of a value that is the same for all elements, else None."""
    match e.get(value):
        case Scalar(code) | Uniform(code):
            return code
        case _:
            return None


def operand_code(e: Emitter, value: Value) -> str:
    """A tensor, or the scalar of a splat, which torch broadcasts."""
    code = uniform(e, value)
    return code if code is not None else e.dense(value)


def finish_uniform(e: Emitter, op: Operation, code: str) -> None:
    """Gives the result one value for all elements."""
    name = e.let(code)
    e.set(op.result, Uniform(name) if isinstance(op.result.type, TensorType) else Scalar(name))


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
    held = _index_binary(e, op, symbol) or _mask_binary(e, op, symbol)
    if held is not None:
        e.set(op.result, held)
        return
    e.result_dense(op, f"{operand_code(e, left)} {symbol} {operand_code(e, right)}")


_OF_BITS = {"+": "^", "-": "^", "*": "&"}
"""Arithmetic of single bits."""


def _shift_left(e: Emitter, op: Operation, by: str | None, type_: ScalarType) -> None:
    left, right = op.operands
    held = e.get(left)
    if by is not None and by.isdigit() and int(by) < type_.bits:
        if isinstance(held, Index):
            e.set(op.result, _scale(e, held.offset, held.parts, str(1 << int(by))))
        else:
            e.result_dense(op, f"{e.dense(left)} << {by}")
        return
    e.result_dense(op, f"tensor_shli({operand_code(e, left)}, {operand_code(e, right)}, {e.dtype(type_)})")


def _index_binary(e: Emitter, op: Operation, symbol: str) -> Held | None:
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
            return Index(e.let(f"{x} - {y}"), tuple(b and _scaled(e, b, "-1") for b in q))
        case Index(x, p), "*", Uniform(k):
            return _scale(e, x, p, k)
        case Uniform(k), "*", Index(x, p):
            return _scale(e, x, p, k)
        case _:
            return None


def _scale(e: Emitter, offset: str, parts: tuple[Part | None, ...], factor: str) -> Held:
    return Index(e.let(f"{offset} * {factor}"), tuple(part and _scaled(e, part, factor) for part in parts))


def _scaled(e: Emitter, part: Part, factor: str) -> Part:
    if part.code == "1":
        return Part(factor, True)
    return Part(e.let(f"{part.code} * {factor}"), part.stride)


def add_index_parts(e: Emitter, a: Part | None, b: Part | None, size: int, symbol: str = "+") -> Part | None:
    """The sum (or difference) of two parts of an index along a dimension of `size`."""
    if b is None:
        return a
    if symbol == "-":
        b = _scaled(e, b, "-1")
    if a is None:
        return b
    if a.stride and b.stride:
        return Part(e.let(f"{a.code} + {b.code}"), True)
    return Part(e.let(f"add_parts({a.code}, {b.code}, {size})"), False)


def _mask_binary(e: Emitter, op: Operation, symbol: str) -> Held | None:
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
    costs.issue(e, op.result.type, 8.0)
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
    costs.issue(e, op.result.type, 1.0 if "shr" in op.name else 8.0)
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
    x, y = e.dense(left), e.dense(right)
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


def float_binary(e: Emitter, op: Operation, symbol: str, slots: Callable[[Emitter, Operation], None]) -> None:
    """`+ - * /` of floats."""
    slots(e, op)
    if skip(e, op):
        return
    left, right = op.operands
    a, b = uniform(e, left), uniform(e, right)
    if a is not None and b is not None:
        type_ = scalar_type(op.result.type)
        code = f"scalar_divf({a}, {b})" if symbol == "/" else f"{a} {symbol} {b}"
        finish_uniform(e, op, rounded(code, type_))
        return
    # torch divides a number by a tensor as its product with the reciprocal
    dividend = e.dense(left) if symbol == "/" else operand_code(e, left)
    e.result_dense(op, f"{dividend} {symbol} {operand_code(e, right)}")


@emits("arith.addf")
def addf(e: Emitter, op: Operation) -> None:
    float_binary(e, op, "+", costs.elementwise)


@emits("arith.subf")
def subf(e: Emitter, op: Operation) -> None:
    float_binary(e, op, "-", costs.elementwise)


@emits("arith.mulf")
def mulf(e: Emitter, op: Operation) -> None:
    float_binary(e, op, "*", costs.elementwise)


def _division_cost(e: Emitter, op: Operation) -> None:
    costs.special(e, op.result.type)
    costs.issue(e, op.result.type, 2.0)


@emits("arith.divf", "tt.precise_divf")
def divf(e: Emitter, op: Operation) -> None:
    float_binary(e, op, "/", _division_cost)


@emits("arith.remf")
def remf(e: Emitter, op: Operation) -> None:
    costs.issue(e, op.result.type, 12.0)
    if skip(e, op):
        return
    left, right = op.operands
    a, b = uniform(e, left), uniform(e, right)
    if a is not None and b is not None:
        finish_uniform(e, op, rounded(f"scalar_remf({a}, {b})", scalar_type(op.result.type)))
        return
    e.result_dense(op, f"fmod({e.dense(left)}, {e.dense(right)})")


@emits("arith.negf")
def negf(e: Emitter, op: Operation) -> None:
    costs.elementwise(e, op)
    if skip(e, op):
        return
    a = uniform(e, op.operands[0])
    if a is not None:
        finish_uniform(e, op, f"-({a})")
    else:
        e.result_dense(op, f"-{e.dense(op.operands[0])}")


_PREDICATES = {"eq": "==", "ne": "!=", "slt": "<", "sle": "<=", "sgt": ">", "sge": ">="}
_UNSIGNED = {"ult": "<", "ule": "<=", "ugt": ">", "uge": ">="}


@emits("arith.cmpi")
def cmpi(e: Emitter, op: Operation) -> None:
    costs.issue(e, op.operands[0].type)
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
        mask = _index_mask(e, op, predicate, bits)
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


_MIRRORED = {"slt": "sgt", "sle": "sge", "sgt": "slt", "sge": "sle"}


def _index_mask(e: Emitter, op: Operation, predicate: str, bits: int) -> Mask | None:
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


_ORDERED = {"oeq": "==", "ogt": ">", "oge": ">=", "olt": "<", "ole": "<=", "one": "!=", "une": "!="}
_UNORDERED = {"ueq": "==", "ugt": "<=", "uge": "<", "ult": ">=", "ule": ">"}


@emits("arith.cmpf")
def cmpf(e: Emitter, op: Operation) -> None:
    costs.issue(e, op.operands[0].type)
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
        from tlxviz.sim.representation import codes

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


# ---------------------------------------------------------------------- conversions


@emits("arith.extsi", "arith.index_cast", "arith.index_castui")
def extsi(e: Emitter, op: Operation) -> None:
    costs.issue(e, op.result.type)
    if skip(e, op):
        return
    (source,) = op.operands
    held = e.get(source)
    signed_bool = scalar_type(source.type).name == "i1" and op.name == "arith.extsi"
    match held:
        case Scalar(code) | Uniform(code):
            target = scalar_type(op.result.type)
            if scalar_type(source.type).bits > target.bits:
                code = f"wrap({code}, {target.bits})"
            finish_uniform(e, op, f"-int({code})" if signed_bool else code)
        case Index() if scalar_type(source.type).name == "i32":
            e.set(op.result, narrow_index(e, held, e.shape(op.result)))
        case _:
            code = f"{e.dense(source)}.to({e.dtype(scalar_type(op.result.type))})"
            e.result_dense(op, f"-{code}" if signed_bool else code)


def narrow_index(e: Emitter, held: Index, shape: tuple[int, ...]) -> Index:
    """An i32 index whose value is what 32 bits hold of it: arithmetic on an index does not wrap by itself."""
    literal_parts = [int(part.code) if _is_int(part.code) else None for part in held.parts if part]
    name = e.let(held.offset)
    if all(stride is not None and abs(stride) < 1 << 20 for stride in literal_parts):
        if not _is_int(name):
            e.line(f"if not {_INT_MIN} <= {name} <= {_INT_MAX}: {name} = wrap({name}, 32)")
        return Index(name, held.parts)
    offset, found = e.fresh(), e.fresh()
    e.line(f"{offset}, {found} = narrow_index({name}, {parts_code(held.parts)}, {shape})")
    parts = tuple(part and Part(e.let(f"{found}[{i}]"), False) for i, part in enumerate(held.parts))
    return Index(offset, parts)


def _is_int(code: str) -> bool:
    return code.lstrip("-").isdigit()


def _counts_up(held: Index) -> bool:
    """Whether no element is negative or large for sure."""
    codes = [held.offset, *(part.code for part in held.parts if part)]
    return all(code.isdigit() and int(code) < 1 << 16 for code in codes)


@emits("arith.extui")
def extui(e: Emitter, op: Operation) -> None:
    costs.issue(e, op.result.type)
    if skip(e, op):
        return
    (source,) = op.operands
    type_ = scalar_type(source.type)
    code = uniform(e, source)
    if code is not None:
        finish_uniform(e, op, f"int({code})" if type_.name == "i1" else f"unsigned({code}, {type_.bits})")
        return
    held = e.get(source)
    if isinstance(held, Index) and _counts_up(held):
        e.set(op.result, held)
        return
    wide = e.dtype(scalar_type(op.result.type))
    e.result_dense(
        op, f"as_unsigned({e.dense(source)}).to({wide})" if type_.name != "i1" else f"{e.dense(source)}.to({wide})"
    )


@emits("arith.trunci")
def trunci(e: Emitter, op: Operation) -> None:
    costs.issue(e, op.result.type)
    if skip(e, op):
        return
    (source,) = op.operands
    type_ = scalar_type(op.result.type)
    code = uniform(e, source)
    if code is not None:
        finish_uniform(e, op, f"bool({code} & 1)" if type_.name == "i1" else f"wrap({code}, {type_.bits})")
        return
    if type_.name == "i1":
        e.result_dense(op, f"({e.dense(source)} & 1).bool()")
    else:
        e.result_dense(op, f"{e.dense(source)}.to({e.dtype(type_)})")


@emits("arith.sitofp", "arith.uitofp")
def int_to_float(e: Emitter, op: Operation) -> None:
    costs.conversion(e, op)
    if skip(e, op):
        return
    (source,) = op.operands
    type_ = scalar_type(op.result.type)
    bits = scalar_type(source.type).bits
    unsigned = op.name == "arith.uitofp"
    code = uniform(e, source)
    if code is not None:
        number = f"unsigned({code}, {bits})" if unsigned else f"-int({code})" if bits == 1 else code
        finish_uniform(e, op, f"int_to_float_scalar({number}, {type_.name!r})")
        return
    function = "unsigned_to_float" if unsigned else "int_to_float"
    sign = "-" if bits == 1 and not unsigned else ""
    e.result_dense(op, f"{sign}{function}({e.dense(source)}, {e.dtype(type_)})")


@emits("arith.fptosi", "arith.fptoui")
def float_to_int(e: Emitter, op: Operation) -> None:
    costs.conversion(e, op)
    if skip(e, op):
        return
    (source,) = op.operands
    type_ = scalar_type(op.result.type)
    code = uniform(e, source)
    unsigned = op.name == "arith.fptoui"
    if code is not None:
        name = scalar_type(source.type).name
        finish_uniform(e, op, f"float_to_int_scalar({code}, {name!r}, {type_.bits}, {unsigned})")
    elif unsigned:
        e.result_dense(op, f"float_to_unsigned({e.dense(source)}, {e.dtype(type_)})")
    else:
        e.result_dense(op, f"float_to_int({e.dense(source)}, {e.dtype(type_)})")


@emits("arith.truncf", "arith.extf", "tt.fp_to_fp")
def float_to_float(e: Emitter, op: Operation) -> None:
    costs.conversion(e, op)
    if skip(e, op):
        return
    source = op.operands[0]
    type_ = scalar_type(op.result.type)
    code = uniform(e, source)
    dtype = e.dtype(type_)
    before = scalar_type(source.type)
    if str(op.attributes.get("rounding", "rtne")) == "rtz" or op.attributes.get("rounding") == 0:
        if code is not None:
            finish_uniform(e, op, f"cast_towards_zero(tensor({code}, dtype={e.dtype(before)}), {dtype}).item()")
            return
        e.result_dense(op, f"cast_towards_zero({e.dense(source)}, {dtype})")
    elif code is not None:
        finish_uniform(e, op, rounded(code, type_))
    elif type_.name.startswith("f8") or (before.name == "f64" and type_.bytes == 2):
        e.result_dense(op, f"cast({e.dense(source)}, {dtype})")
    else:
        e.result_dense(op, f"{e.dense(source)}.to({dtype})")


@emits("arith.bitcast", "tt.bitcast")
def bitcast(e: Emitter, op: Operation) -> None:
    if skip(e, op):
        return
    (source,) = op.operands
    held = e.get(source)
    match held:
        case Pointer(base, offset):
            element = element_of(op.result.type)
            assert isinstance(element, PointerType)
            x, y = e.fresh(), e.fresh()
            e.line(f"{x}, {y} = bitcast_pointer({base}, {offset}, {e.dtype(element.pointee)})")
            e.set(op.result, Pointer(x, y))
        case Pointers() | DensePointers():
            before, after = element_of(source.type), element_of(op.result.type)
            assert isinstance(before, PointerType)
            assert isinstance(after, PointerType)
            if bytes_of(before.pointee) == bytes_of(after.pointee):
                e.set(
                    op.result,
                    replace(held, base=e.let(f"bitcast_pointer({held.base}, 0, {e.dtype(after.pointee)})[0]")),
                )
                return
            base, offsets = e.convert(held, DensePointers("", ""), source.type)
            x, y = e.fresh(), e.fresh()
            e.line(f"{x}, {y} = bitcast_pointers({base}, {offsets}, {e.dtype(after.pointee)})")
            e.set(op.result, DensePointers(x, y))
        case Scalar(code) | Uniform(code):
            a, b = scalar_type(source.type).name, scalar_type(op.result.type).name
            finish_uniform(e, op, f"bitcast_scalar({code}, {e.dtype(ScalarType(a))}, {e.dtype(ScalarType(b))})")
        case _:
            e.result_dense(op, f"bitcast({e.dense(source)}, {e.dtype(scalar_type(op.result.type))})")
