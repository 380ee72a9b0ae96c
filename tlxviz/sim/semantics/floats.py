"""`arith`: arithmetic of floats."""

from __future__ import annotations

from collections.abc import Callable

from tlxviz.ir.operation import Operation
from tlxviz.sim import costs
from tlxviz.sim.emitter import Emitter, emits
from tlxviz.sim.semantics.operands import finish_uniform, operand_code, rounded, scalar_type, skip, uniform


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


def _product_cost(e: Emitter, op: Operation) -> None:
    """None for a product that is only added to something: that is one multiply-add, and the sum counts it."""
    users = e.unit.users(op.result)
    if len(users) != 1 or users[0].name not in ("arith.addf", "arith.subf"):
        costs.elementwise(e, op)


@emits("arith.mulf")
def mulf(e: Emitter, op: Operation) -> None:
    float_binary(e, op, "*", _product_cost)


def _division_cost(e: Emitter, op: Operation) -> None:
    """A reciprocal, of a divisor brought to where it has one, and products; the divisor's part once for all elements
    that it divides."""
    divisor = op.operands[1]
    while isinstance(divisor.owner, Operation) and divisor.owner.name in _REPEATING:
        divisor = divisor.owner.operands[0]
    costs.special(e, divisor.type)
    costs.issue(e, divisor.type, 4.0)
    costs.issue(e, op.result.type, 3.0)


_REPEATING = frozenset({"tt.splat", "tt.broadcast", "tt.expand_dims"})


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
