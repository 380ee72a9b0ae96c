"""The floating-point and comparison instructions of PTX, and the table of all instructions that compute a value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from tlxviz.sim.ptx import convert, integer, rounding
from tlxviz.sim.ptx.types import PRED, TYPES, IntArray, Opcode, PtxType, Refusal, Value, from_array, where

_MODES = "rn rz rm rp"
_Apply = Callable[..., Any]


@dataclass(frozen=True)
class Operation:
    """A compiled instruction: the types that its operands are written and read as, and the function between them."""

    results: tuple[PtxType, ...]
    sources: tuple[PtxType, ...]
    apply: _Apply


def _finished(op: Opcode, ptx_type: PtxType, apply: _Apply) -> _Apply:
    """Add the modifiers that any floating-point instruction may carry to `apply`."""
    if "ftz" in op.modifiers and ptx_type.dtype in (torch.float32, torch.float16):
        inner = apply

        def flushed(*sources: torch.Tensor) -> torch.Tensor:
            return rounding.flush(inner(*(rounding.flush(source) for source in sources)))

        apply = flushed
    if "sat" in op.modifiers:
        unclamped = apply

        def saturated(*sources: torch.Tensor) -> torch.Tensor:
            return rounding.saturate(unclamped(*sources))

        apply = saturated
    if "relu" in op.modifiers:
        unbounded = apply

        def rectified(*sources: torch.Tensor) -> torch.Tensor:
            return rounding.quiet_nan(torch.clamp(unbounded(*sources), min=0.0))

        apply = rectified
    return apply


def _float(op: Opcode, count: int, apply: _Apply, allowed: str) -> Operation:
    op.only(allowed)
    if len(op.types) != 1 or not op.type.is_float:
        raise Refusal(f"{op.name} is supported for f16, bf16, f32, f64 and the packed forms")
    return Operation((op.type,), (op.type,) * count, _finished(op, op.type, apply))


def _integer(op: Opcode, count: int) -> Operation:
    results, sources, apply = integer.build(op, count)
    return Operation(results, sources, apply)


def _rounded(count: int, function: Callable[..., torch.Tensor], extra: str = "") -> Callable[[Opcode, int], Operation]:
    """An instruction with a rounding mode; integers of the same name go to the integer table."""

    def build(op: Opcode, operands: int) -> Operation:
        if not op.type.is_float and op.type.kind != "m":
            return _integer(op, operands)
        mode = op.one_of(_MODES, "rn")

        def apply(*sources: torch.Tensor) -> torch.Tensor:
            return function(*sources, mode)

        return _float(op, count, function if mode == "rn" else apply, f"{_MODES} ftz sat {extra}")

    return build


def _unary(function: _Apply) -> Callable[[Opcode, int], Operation]:
    """An approximate function. The simulator computes it to full accuracy, so the low bits differ from the GPU's."""

    def build(op: Opcode, _operands: int) -> Operation:
        return _float(op, 1, function, "approx ftz")

    return build


def _sign(function: _Apply) -> Callable[[Opcode, int], Operation]:
    def build(op: Opcode, operands: int) -> Operation:
        return _float(op, 1, function, "ftz") if op.type.is_float else _integer(op, operands)

    return build


def _extremum(largest: bool) -> Callable[[Opcode, int], Operation]:
    ordered, strict = (torch.fmax, torch.maximum) if largest else (torch.fmin, torch.minimum)

    def build(op: Opcode, operands: int) -> Operation:
        if not op.type.is_float:
            return _integer(op, operands)
        choose = strict if "NaN" in op.modifiers else ordered
        by_size = "abs" in op.modifiers or "xorsign" in op.modifiers

        def two(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
            if by_size:
                sign = where(torch.signbit(a) ^ torch.signbit(b), -1.0, 1.0).to(a.dtype)
                chosen = choose(a.abs(), b.abs())
                return torch.copysign(chosen, sign) if "xorsign" in op.modifiers else chosen
            chosen = choose(a, b)
            # Plus zero is above minus zero here, but the host may return either; the sum and the negated sum know.
            zero = a + b if largest else -((-a) + (-b))
            return where((a == 0) & (b == 0), zero, chosen)

        def apply(*sources: torch.Tensor) -> torch.Tensor:
            result = two(sources[0], sources[1])
            for source in sources[2:]:
                result = two(result, source)
            return rounding.quiet_nan(result)

        return _float(op, max(2, operands), apply, "ftz NaN xorsign abs relu")

    return build


def _divide(op: Opcode, operands: int) -> Operation:
    return _rounded(2, rounding.div, "approx full")(op, operands)


def _copysign(op: Opcode, _operands: int) -> Operation:
    def apply(sign: torch.Tensor, size: torch.Tensor) -> torch.Tensor:
        return torch.copysign(size, sign)

    return _float(op, 2, apply, "")


_COMPARISONS = "eq ne lt le gt ge lo ls hi hs equ neu ltu leu gtu geu num nan"


def _comparison(op: Opcode, ptx_type: PtxType) -> _Apply:
    name = op.one_of(_COMPARISONS, "")
    if not name:
        raise Refusal(f"{op.text} names no comparison (supported: {_COMPARISONS})")
    name = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}.get(name, name)
    if not ptx_type.is_float and name.removesuffix("u") != name:
        raise Refusal(f"the comparison .{name} is for floating-point types")
    base = name.removesuffix("u")
    flush = "ftz" in op.modifiers and ptx_type.dtype == torch.float32

    def compare(a: Any, b: Any) -> Any:
        if flush:
            a, b = rounding.flush(a), rounding.flush(b)
        if name in ("num", "nan"):
            unordered = torch.isnan(a) | torch.isnan(b)
            return ~unordered if name == "num" else unordered
        result = {
            "eq": lambda: a == b, "ne": lambda: a != b, "lt": lambda: a < b,
            "le": lambda: a <= b, "gt": lambda: a > b, "ge": lambda: a >= b,
        }[base]()  # fmt: skip
        if ptx_type.is_float and (name == "ne" or name.endswith("u")):
            unordered = torch.isnan(a) | torch.isnan(b)
            return result & ~unordered if name == "ne" else result | unordered
        return np.asarray(result) if not ptx_type.is_float else result

    return compare


def _combine(op: Opcode, result: Any, other: Any) -> Any:
    """The `.and`, `.or`, `.xor` of setp with a third predicate."""
    if other is None:
        return result
    how = op.one_of("and or xor", "")
    return result & other if how == "and" else result | other if how == "or" else result ^ other


def _setp(op: Opcode, operands: int) -> Operation:
    op.only(f"{_COMPARISONS} and or xor ftz")
    ptx_type = op.type
    compare = _comparison(op, ptx_type)
    combined = bool(op.one_of("and or xor", ""))
    if operands != 2 + combined:
        raise Refusal("setp takes two operands, and a predicate with .and, .or or .xor")

    def apply(a: Value, b: Value, *rest: Any) -> tuple[Any, Any]:
        result = np.asarray(compare(a, b))
        other = rest[0] if rest else None
        if ptx_type.lanes == 2:
            return _combine(op, result[..., 0], other), _combine(op, result[..., 1], other)
        return np.asarray(_combine(op, result, other)), np.asarray(_combine(op, ~result, other))

    return Operation((PRED, PRED), (ptx_type, ptx_type) + (PRED,) * combined, apply)


def _set(op: Opcode, _operands: int) -> Operation:
    op.only(f"{_COMPARISONS} ftz")
    if len(op.types) != 2:
        raise Refusal("set names the type of the result and the type of the operands")
    result_type, ptx_type = op.types
    compare = _comparison(op, ptx_type)

    def apply(a: Value, b: Value) -> Value:
        result = np.asarray(compare(a, b))
        if result_type.is_float:
            return from_array(result).to(result_type.dtype)
        return np.where(result, -1, 0).astype(f"i{result_type.lane_bits // 8}").view(result_type.numpy_dtype)

    return Operation((result_type,), (ptx_type, ptx_type), apply)


def _bits_of(ptx_type: PtxType) -> PtxType:
    return TYPES[f"b{ptx_type.bits}"]


def _selp(op: Opcode, _operands: int) -> Operation:
    op.only("")
    kept = op.type if op.type.dtype in (torch.float32, torch.float64) else _bits_of(op.type)

    def apply(a: Value, b: Value, chosen: Any) -> Value:
        if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
            return where(from_array(np.asarray(chosen)), a, b)
        return np.where(chosen, a, b)

    return Operation((kept,), (kept, kept, PRED), apply)


def _slct(op: Opcode, _operands: int) -> Operation:
    op.only("ftz")
    if len(op.types) != 2:
        raise Refusal("slct names two types")
    kept, by = _bits_of(op.types[0]), op.types[1]

    def apply(a: IntArray, b: IntArray, c: Any) -> IntArray:
        return np.where(np.asarray(c >= 0), a, b)

    return Operation((kept,), (kept, kept, by), apply)


def _testp(op: Opcode, _operands: int) -> Operation:
    tests: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
        "finite": torch.isfinite,
        "infinite": torch.isinf,
        "number": lambda x: ~torch.isnan(x),
        "notanumber": torch.isnan,
        "normal": lambda x: torch.isfinite(x) & (x.abs() >= torch.finfo(x.dtype).tiny),
        "subnormal": lambda x: (x != 0) & (x.abs() < torch.finfo(x.dtype).tiny),
    }
    op.only(" ".join(tests))
    name = op.one_of(" ".join(tests), "")
    if not name or not op.type.is_float:
        raise Refusal(f"testp needs a floating-point type and one of {', '.join(tests)}")
    return Operation((PRED,), (op.type,), tests[name])


def _convert(op: Opcode, operands: int) -> Operation:
    return Operation(*convert.build(op, operands))


def _copy(op: Opcode, _operands: int) -> Operation:
    kept = op.types[-1] if op.types else TYPES["b64"]

    def apply(address: Value) -> Value:
        return address

    return Operation((kept,), (kept,), apply)


def _policy(op: Opcode, operands: int) -> Operation:
    """A cache eviction policy means nothing here: any value does."""
    result = TYPES["b64"]

    def apply(*_sources: Value) -> IntArray:
        return np.zeros((), np.uint64)

    return Operation((result,), (TYPES["b32"],) * operands, apply)


BUILDERS: dict[str, Callable[[Opcode, int], Operation]] = {
    "add": _rounded(2, rounding.add),
    "sub": _rounded(2, rounding.sub),
    "mul": _rounded(2, rounding.mul),
    "mad": _rounded(3, rounding.fma),
    "fma": _rounded(3, rounding.fma, "relu"),
    "div": _divide,
    "rcp": _rounded(1, rounding.rcp, "approx"),
    "sqrt": _rounded(1, rounding.sqrt, "approx"),
    "neg": _sign(torch.neg),
    "abs": _sign(torch.abs),
    "min": _extremum(largest=False),
    "max": _extremum(largest=True),
    "rsqrt": _unary(torch.rsqrt),
    "ex2": _unary(torch.exp2),
    "lg2": _unary(torch.log2),
    "sin": _unary(torch.sin),
    "cos": _unary(torch.cos),
    "tanh": _unary(torch.tanh),
    "copysign": _copysign,
    "setp": _setp,
    "set": _set,
    "selp": _selp,
    "slct": _slct,
    "testp": _testp,
    "cvt": _convert,
    "cvta": lambda op, operands: _copy(Opcode(op.text, op.name, op.types, ()), operands),
    "createpolicy": _policy,
    **dict.fromkeys(integer.NAMES, _integer),
}
