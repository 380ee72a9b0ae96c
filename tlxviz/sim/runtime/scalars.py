"""Arithmetic of numbers that generated code calls."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from tlxviz.sim.dtypes import truncating_div, unsigned, wrap
from tlxviz.sim.ptx import rounding


def scalar_divf(a: float, b: float) -> float:
    """IEEE division."""
    if b != 0.0:
        return a / b
    if a == 0.0 or a != a:
        return math.nan
    return math.copysign(math.inf, a) * math.copysign(1.0, b)


def scalar_remf(a: float, b: float) -> float:
    """`fmod`; NaN for a zero divisor."""
    return math.fmod(a, b) if b != 0.0 and not math.isinf(a) else math.nan


def scalar_cmpf(predicate: str, a: float, b: float) -> bool:
    """One float comparison; `o...` are false and `u...` true when an operand is NaN."""
    if predicate in ("true", "false"):
        return predicate == "true"
    if a != a or b != b:
        return predicate.startswith("u")
    match predicate[1:]:
        case "eq":
            return a == b
        case "ne":
            return a != b
        case "gt":
            return a > b
        case "ge":
            return a >= b
        case "lt":
            return a < b
        case "le":
            return a <= b
        case _:
            return predicate == "ord"


def scalar_maxnumf(a: float, b: float) -> float:
    """The larger one; a number wins over NaN."""
    return b if a != a else a if b != b else max(a, b)


def scalar_minnumf(a: float, b: float) -> float:
    """The smaller one; a number wins over NaN."""
    return b if a != a else a if b != b else min(a, b)


def scalar_maximumf(a: float, b: float) -> float:
    """The larger one; NaN wins."""
    return math.nan if a != a or b != b else max(a, b)


def scalar_minimumf(a: float, b: float) -> float:
    """The smaller one; NaN wins."""
    return math.nan if a != a or b != b else min(a, b)


def scalar_maxui(a: int, b: int, bits: int) -> int:
    """The larger one without signs."""
    return a if unsigned(a, bits) > unsigned(b, bits) else b


def scalar_minui(a: int, b: int, bits: int) -> int:
    """The smaller one without signs."""
    return a if unsigned(a, bits) < unsigned(b, bits) else b


def scalar_divui(a: int, b: int, bits: int) -> int:
    """Unsigned division; a zero divisor gives all bits set."""
    divisor = unsigned(b, bits)
    return wrap(unsigned(a, bits) // divisor, bits) if divisor else -1


def scalar_remui(a: int, b: int, bits: int) -> int:
    """Unsigned remainder; that of a zero divisor is the dividend."""
    divisor = unsigned(b, bits)
    return wrap(unsigned(a, bits) % divisor, bits) if divisor else a


def scalar_shrui(a: int, b: int, bits: int) -> int:
    """Logical shift to the right; by the width or more it leaves nothing."""
    return wrap(unsigned(a, bits) >> b, bits) if 0 <= b < bits else 0


def scalar_shrsi(a: int, b: int, bits: int) -> int:
    """Arithmetic shift to the right; by the width or more it leaves the sign."""
    return a >> min(max(b, 0), bits - 1)


def scalar_divsi(a: int, b: int, bits: int) -> int:
    """Truncating division, wrapped."""
    return wrap(truncating_div(a, b), bits)


def scalar_ceildivsi(a: int, b: int, bits: int) -> int:
    """Division that rounds up; a zero divisor gives -1."""
    return wrap(-(-a // b), bits) if b else -1


def scalar_floordivsi(a: int, b: int, bits: int) -> int:
    """Division that rounds down; a zero divisor gives -1."""
    return wrap(a // b, bits) if b else -1


def scalar_ceildivui(a: int, b: int, bits: int) -> int:
    """Unsigned division that rounds up; a zero divisor gives -1."""
    return wrap(-(-unsigned(a, bits) // unsigned(b, bits)), bits) if b else -1


def scalar_clampf(value: float, low: float, high: float) -> float:
    """`clamp` to `low` where the value is NaN."""
    return scalar_minnumf(scalar_maxnumf(value, low), high)


def scalar_clampf_nan(value: float, low: float, high: float) -> float:
    """`clamp` that keeps NaN."""
    return scalar_minimumf(scalar_maximumf(value, low), high)


def scalar_fma(a: float, b: float, c: float, dtype: torch.dtype) -> float:
    """a * b + c with one rounding."""
    x, y, z = (torch.tensor(number, dtype=dtype) for number in (a, b, c))
    return rounding.fma(x, y, z).item()


def scalar_unary(function: Callable[[torch.Tensor], torch.Tensor], value: float, dtype: torch.dtype) -> Any:
    """A function of one number, through torch so that it agrees with tensors."""
    return function(torch.tensor(value, dtype=dtype)).item()


def bitcast_scalar(value: float, before: torch.dtype, after: torch.dtype) -> Any:
    """The same bits as another type."""
    return torch.tensor(value, dtype=before).view(after).item()
