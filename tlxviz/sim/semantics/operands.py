"""What the semantics of most operations share: operands as expressions, and results that are one number."""

from __future__ import annotations

from tlxviz.ir.operation import Operation, Value
from tlxviz.ir.types import ScalarType, TensorType, Type, element_of
from tlxviz.sim.emitter import Emitter
from tlxviz.sim.expressions import tuple_code
from tlxviz.sim.representation import Mask, Scalar, Uniform

_INT_MIN, _INT_MAX = -(2**31), 2**31 - 1


def scalar_type(type_: Type) -> ScalarType:
    """The element type of a value, which is a number."""
    element = element_of(type_)
    return element if isinstance(element, ScalarType) else ScalarType("i64")


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


def wrap_i32(e: Emitter, name: str) -> None:
    """Wraps an integer variable to 32 bits; a literal is in range already."""
    if not is_integer_literal(name):
        e.line(f"if not {_INT_MIN} <= {name} <= {_INT_MAX}: {name} = wrap({name}, 32)")


def wrapped(e: Emitter, code: str, type_: ScalarType) -> str:
    """A variable for an integer expression, wrapped to the type's width."""
    name = e.let(code)
    match type_.name:
        case "i32":
            wrap_i32(e, name)
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


def is_integer_literal(code: str) -> bool:
    """Whether an expression is an integer that is known while compiling."""
    return code.lstrip("-").isdigit()
