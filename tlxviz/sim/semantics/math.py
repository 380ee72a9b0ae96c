"""`math` and Triton's elementwise functions."""

from __future__ import annotations

from dataclasses import dataclass

from tlxviz.ir.operation import Operation
from tlxviz.sim import costs
from tlxviz.sim.emitter import Emitter, emits
from tlxviz.sim.semantics.operands import finish_uniform, operand_code, scalar_type, skip, uniform


@dataclass(frozen=True, slots=True)
class _Function:
    torch: str
    """Name in the generated code."""
    mufu: float = 0.0
    instructions: float = 1.0


_UNARY = {
    "exp2": _Function("exp2", mufu=1),
    "exp": _Function("exp", mufu=1, instructions=5),  # a product, and small results by a detour
    "log2": _Function("log2", mufu=1, instructions=4),
    "log": _Function("log", mufu=1, instructions=5),
    "log10": _Function("log10", mufu=1, instructions=5),
    "log1p": _Function("log1p", mufu=1, instructions=12),
    "expm1": _Function("expm1", mufu=1, instructions=12),
    "sqrt": _Function("sqrt", mufu=1, instructions=2),
    "rsqrt": _Function("rsqrt", mufu=1, instructions=2),
    "sin": _Function("sin", mufu=1, instructions=20),
    "cos": _Function("cos", mufu=1, instructions=20),
    "tan": _Function("tan", mufu=2, instructions=30),
    "tanh": _Function("tanh", mufu=2, instructions=12),
    "erf": _Function("erf", mufu=1, instructions=25),
    "atan": _Function("atan", instructions=25),
    "floor": _Function("floor"),
    "ceil": _Function("ceil"),
    "trunc": _Function("trunc"),
    "round": _Function("round_away", instructions=3),
    "roundeven": _Function("round"),
    "absf": _Function("abs"),
    "absi": _Function("abs"),
}


def _unary(e: Emitter, op: Operation) -> None:
    function = _UNARY[op.name.split(".")[1].removeprefix("precise_")]
    type_ = op.result.type
    if function.mufu:
        costs.special(e, type_, function.mufu)
    costs.issue(e, type_, max(0.0, function.instructions - 1) if function.mufu else function.instructions)
    if skip(e, op):
        return
    (source,) = op.operands
    code = uniform(e, source)
    if code is not None:
        element = scalar_type(type_)
        scalar = f"scalar_unary({function.torch}, {code}, {e.dtype(element)})"
        finish_uniform(e, op, scalar)
        return
    e.result_dense(op, f"{function.torch}({e.dense(source)})")


for _name in _UNARY:
    emits(f"math.{_name}")(_unary)
emits("tt.precise_sqrt")(_unary)


@emits("math.fma")
def fma(e: Emitter, op: Operation) -> None:
    costs.elementwise(e, op)
    if skip(e, op):
        return
    a, b, c = op.operands
    x, y, z = uniform(e, a), uniform(e, b), uniform(e, c)
    type_ = scalar_type(op.result.type)
    if x is not None and y is not None and z is not None:
        finish_uniform(e, op, f"scalar_fma({x}, {y}, {z}, {e.dtype(type_)})")
        return
    e.result_dense(op, f"fma({e.dense(a)}, {operand_code(e, b)}, {operand_code(e, c)})")


@emits("tt.clampf")
def clampf(e: Emitter, op: Operation) -> None:
    costs.issue(e, op.result.type, 2.0)
    if skip(e, op):
        return
    x, low, high = op.operands
    propagate = str(op.attributes.get("propagateNan", "none")) in ("all", "1", "65535")
    smaller, larger = ("minimum", "maximum") if propagate else ("fmin", "fmax")
    dense = [e.dense(value) for value in (x, low, high)]
    if uniform(e, x) is not None and uniform(e, low) is not None and uniform(e, high) is not None:
        name = "scalar_clampf_nan" if propagate else "scalar_clampf"
        finish_uniform(e, op, f"{name}({uniform(e, x)}, {uniform(e, low)}, {uniform(e, high)})")
        return
    e.result_dense(op, f"{smaller}({larger}({dense[0]}, {dense[1]}), {dense[2]})")


@emits("tt.mulhiui")
def mulhiui(e: Emitter, op: Operation) -> None:
    costs.issue(e, op.result.type, 2.0)
    if skip(e, op):
        return
    a, b = op.operands
    bits = scalar_type(op.result.type).bits
    x, y = uniform(e, a), uniform(e, b)
    if x is not None and y is not None:
        finish_uniform(e, op, f"wrap((unsigned({x}, {bits}) * unsigned({y}, {bits})) >> {bits}, {bits})")
        return
    e.result_dense(op, f"multiply_high({e.dense(a)}, {e.dense(b)})")
