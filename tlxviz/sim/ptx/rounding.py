"""Floating-point arithmetic with the four rounding modes of PTX, and a fused multiply-add that rounds once.

The host rounds to nearest only. Every operation here is computed in float64 together with the exact error of that
result; the pair then decides how the result rounds to the wanted format. Between float64 and a narrower format the
value is first rounded to odd, which keeps the second rounding from going wrong at ties.
"""

from __future__ import annotations

import torch

from tlxviz.sim.ptx.types import SIGNED, raw, where

_SPLIT = float(2**27 + 1)
_F64 = torch.float64


def two_sum(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """`a + b` rounded to nearest, and what the rounding lost."""
    total = a + b
    part = total - a
    return total, torch.nan_to_num((a - (total - part)) + (b - part), 0.0, 0.0, 0.0)


def two_product(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """`a * b` rounded to nearest, and what the rounding lost."""
    product = a * b
    a_high, a_low = _halves(a)
    b_high, b_low = _halves(b)
    lost = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    return product, torch.nan_to_num(lost, 0.0, 0.0, 0.0)


def _halves(a: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    scaled = a * _SPLIT
    high = scaled - (scaled - a)
    return high, a - high


def _step(x: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    """The neighbour of `x` in its own format, towards plus infinity where `up` is true."""
    bits = raw(x)
    away = (bits >= 0) == up
    stepped = where(away, bits + 1, bits - 1)
    smallest = where(up, torch.ones_like(bits), torch.full_like(bits, torch.iinfo(bits.dtype).min + 1))
    return where(x == 0, smallest, stepped).view(x.dtype)


def _to_odd(x: torch.Tensor, lost: torch.Tensor) -> torch.Tensor:
    inexact = (lost != 0) & torch.isfinite(x) & ((raw(x) & 1) == 0)
    return where(inexact, _step(x, lost > 0), x)


def _directed(x: torch.Tensor, lost: torch.Tensor, mode: str) -> torch.Tensor:
    """Correct `x`, which was rounded to nearest and lost `lost`, to the rounding `mode`."""
    if mode == "rn":
        return x
    down, up = lost < 0, lost > 0
    if mode == "rz":
        negative = torch.signbit(x)
        down, up = down & ~negative, up & negative
    elif mode == "rm":
        up = torch.zeros_like(up)
    else:
        down = torch.zeros_like(down)
    # Zero lost something only by underflow, and towards zero it stays.
    wrong = (down | up) if mode != "rz" else (down | up) & (x != 0)
    return where(wrong, _step(x, up), x)


def narrow(x: torch.Tensor, dtype: torch.dtype, mode: str = "rn") -> torch.Tensor:
    """The exact or rounded-to-odd float64 values `x` rounded to `dtype`."""
    if dtype == _F64:
        return x
    result = x.to(torch.float32)
    if dtype != torch.float32:
        lost = torch.nan_to_num(x - result.to(_F64), 0.0, 0.0, 0.0)
        result = _to_odd(result, lost).to(dtype)
    if mode == "rn":
        return result
    lost = x - result.to(_F64)
    return _directed(result, where(torch.isnan(lost) | torch.isinf(x), 0.0, lost), mode)


def finish(x: torch.Tensor, lost: torch.Tensor, dtype: torch.dtype, mode: str) -> torch.Tensor:
    """`x + lost` rounded to `dtype`."""
    return _directed(x, lost, mode) if dtype == _F64 else narrow(_to_odd(x, lost), dtype, mode)


def add(a: torch.Tensor, b: torch.Tensor, mode: str = "rn") -> torch.Tensor:
    """`a + b`, rounded by `mode`."""
    return a + b if mode == "rn" else finish(*two_sum(a.to(_F64), b.to(_F64)), a.dtype, mode)


def sub(a: torch.Tensor, b: torch.Tensor, mode: str = "rn") -> torch.Tensor:
    """`a - b`, rounded by `mode`."""
    return a - b if mode == "rn" else finish(*two_sum(a.to(_F64), -b.to(_F64)), a.dtype, mode)


def mul(a: torch.Tensor, b: torch.Tensor, mode: str = "rn") -> torch.Tensor:
    """`a * b`, rounded by `mode`."""
    return a * b if mode == "rn" else finish(*two_product(a.to(_F64), b.to(_F64)), a.dtype, mode)


def div(a: torch.Tensor, b: torch.Tensor, mode: str = "rn") -> torch.Tensor:
    """`a / b`, rounded by `mode`."""
    if mode == "rn":
        return a / b
    wide_a, wide_b = a.to(_F64), b.to(_F64)
    quotient = wide_a / wide_b
    product, lost = two_product(quotient, wide_b)
    return finish(quotient, torch.nan_to_num(((wide_a - product) - lost) / wide_b, 0.0, 0.0, 0.0), a.dtype, mode)


def rcp(a: torch.Tensor, mode: str = "rn") -> torch.Tensor:
    """`1 / a`, rounded by `mode`."""
    return div(torch.ones_like(a), a, mode)


def sqrt(a: torch.Tensor, mode: str = "rn") -> torch.Tensor:
    """The square root, rounded by `mode`."""
    if mode == "rn":
        return torch.sqrt(a)
    wide = a.to(_F64)
    root = torch.sqrt(wide)
    product, lost = two_product(root, root)
    return finish(root, torch.nan_to_num(((wide - product) - lost) / root, 0.0, 0.0, 0.0), a.dtype, mode)


def fma(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor, mode: str = "rn") -> torch.Tensor:
    """`a * b + c` rounded once."""
    if a.dtype != _F64:
        return finish(*two_sum(a.to(_F64) * b.to(_F64), c.to(_F64)), a.dtype, mode)
    product, product_lost = two_product(a, b)
    low, low_lost = two_sum(c, product_lost)
    high, high_lost = two_sum(product, low)
    rest = _to_odd(*two_sum(high_lost, low_lost))
    total = high + rest
    lost = torch.nan_to_num((high - total) + rest, 0.0, 0.0, 0.0)
    return where(torch.isfinite(total), _directed(total, lost, mode), a * b + c)


def flush(x: torch.Tensor) -> torch.Tensor:
    """Subnormal numbers as zeros of the same sign, which is what .ftz does."""
    return where(x.abs() < torch.finfo(x.dtype).tiny, torch.copysign(torch.zeros_like(x), x), x)


def saturate(x: torch.Tensor) -> torch.Tensor:
    """Clamped to [0, 1], not-a-number as zero, which is what .sat does."""
    return torch.nan_to_num(x, 0.0).clamp(0.0, 1.0)


def quiet_nan(x: torch.Tensor) -> torch.Tensor:
    """Every not-a-number as the one with all bits set but the sign, which is what NVIDIA GPUs produce."""
    bits = SIGNED[8 * x.element_size()]
    return where(torch.isnan(x), torch.iinfo(bits).max, raw(x)).to(bits).view(x.dtype)
