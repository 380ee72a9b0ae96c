"""`arith.constant`, and values that nobody uses."""

from __future__ import annotations

import torch

from tlxviz.ir.numbers import Dense as DenseConstant
from tlxviz.ir.operation import Operation
from tlxviz.ir.types import ScalarType, TensorType
from tlxviz.sim.dtypes import TORCH
from tlxviz.sim.emitter import Emitter, emits
from tlxviz.sim.representation import Dense, Scalar, Uniform
from tlxviz.sim.semantics.operands import scalar_type


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
            tensor = torch.tensor(value.values, dtype=TORCH[element.name]).view(type_.shape)
            e.set(op.result, Dense(e.constant(tensor)))
            return
        number = value.splat if isinstance(value, DenseConstant) else value
        e.set(op.result, Uniform(literal(number, element)))
        return
    e.set(op.result, Scalar(literal(value, element)))


@emits("ub.poison")
def poison(e: Emitter, op: Operation) -> None:
    """Any value will do, since what depends on it is never looked at."""
    zero = literal(0, scalar_type(op.result.type))
    e.set(op.result, Uniform(zero) if isinstance(op.result.type, TensorType) else Scalar(zero))
