"""The types of an operation's results, from what it prints."""

from __future__ import annotations

from collections.abc import Sequence

from tlxviz.ir.errors import Mismatch
from tlxviz.ir.reader import Signature
from tlxviz.ir.types import PointerType, ScalarType, TensorType, TokenType, Type, element_of

_FIXED: dict[str, Type] = {
    "index": ScalarType("index"),
    "i32": ScalarType("i32"),
    "i64": ScalarType("i64"),
}


def result_types(rule: str, signature: Signature | None, count: int) -> Sequence[Type]:
    """The types of `count` results.

    Args:
        rule: `auto`: what stands after the arrow, else the printed types; `first` or `last` of the printed types;
            `compare`: i1 shaped like the operands; `pointee`: what a load yields; `element` of a tensor; `token`:
            always a token, also where a type that is not the result's stands after the arrow; `token_last`: a token
            after the printed ones; else a fixed scalar type.
        signature: The printed types; None if there are none.
        count: How many results the operation has.
    """
    if rule == "token":
        return (TokenType(),) * count
    if signature is None:
        fixed = _FIXED.get(rule)
        if fixed is None:
            raise Mismatch("expected ` : ` and the types", -1)
        return (fixed,) * count
    inputs, outputs = signature
    if outputs is not None and len(outputs) == count:
        return outputs
    if rule == "token_last" and outputs is not None and len(outputs) == count - 1:
        return (*outputs, TokenType())
    if outputs is not None and len(outputs) == 1:
        # tt.split prints the type of its two results once
        return outputs * count
    if outputs is None and inputs:
        return _from_inputs(rule, inputs, count)
    raise Mismatch(f"expected the types of {count} results", -1)


def _from_inputs(rule: str, inputs: tuple[Type, ...], count: int) -> Sequence[Type]:
    match rule:
        case "compare":
            return (_boolean_like(inputs[0]),) * count
        case "pointee":
            return (_pointee(inputs[0]),) * count
        case "element":
            return (element_of(inputs[0]),) * count
        case "first":
            return (inputs[0],) * count
        case "last":
            return (inputs[-1],) * count
        case _:
            if len(inputs) == count:
                return inputs
            if len(set(map(repr, inputs))) == 1:
                return (inputs[0],) * count
            raise Mismatch(f"expected one type or {count}", -1)


def _boolean_like(type_: Type) -> Type:
    """The type of a comparison of two values of `type_`."""
    boolean = ScalarType("i1")
    return TensorType(type_.shape, boolean, type_.encoding) if isinstance(type_, TensorType) else boolean


def _pointee(type_: Type) -> Type:
    """What a load through pointers of `type_` yields."""
    match type_:
        case PointerType():
            return type_.pointee
        case TensorType(shape, PointerType() as pointer, encoding):
            return TensorType(shape, pointer.pointee, encoding)
        case _:
            raise Mismatch("expected a pointer type", -1)
