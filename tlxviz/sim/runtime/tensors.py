"""Arithmetic of tensors that generated code calls, where torch has none or does it otherwise than a GPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from tlxviz.sim.dtypes import as_unsigned, int_to_float
from tlxviz.sim.ptx import rounding


def _both(a: Any, b: Any) -> tuple[torch.Tensor, torch.Tensor]:
    if not isinstance(a, torch.Tensor):
        a = torch.tensor(a, dtype=b.dtype)
    if not isinstance(b, torch.Tensor):
        b = torch.tensor(b, dtype=a.dtype)
    return a, b


def divide_int(a: Any, b: Any) -> torch.Tensor:
    """Truncating division; a zero divisor gives -1."""
    a, b = _both(a, b)
    # the host traps where the quotient does not fit
    special = (b == 0) | (b == -1)
    if not bool(special.any()):
        return torch.div(a, b, rounding_mode="trunc")
    quotient = torch.div(a, torch.where(special, 1, b), rounding_mode="trunc")
    return torch.where(special, torch.where(b == 0, -1, -a), quotient)


def remainder_int(a: Any, b: Any) -> torch.Tensor:
    """The remainder of `divide_int`."""
    a, b = _both(a, b)
    special = (b == 0) | (b == -1)
    if not bool(special.any()):
        return torch.fmod(a, b)
    return torch.where(special, torch.where(b == 0, a, 0), torch.fmod(a, torch.where(special, 1, b)))


def tensor_divui(a: Any, b: Any, dtype: torch.dtype) -> torch.Tensor:
    """Unsigned division; a zero divisor gives all bits set."""
    a, b = _both(a, b)
    if dtype.itemsize == 8:
        return _by_numpy(lambda x, y: np.where(y == 0, np.uint64(2**64 - 1), x // np.where(y == 0, 1, y)), a, b)
    return divide_int(as_unsigned(a), as_unsigned(b)).to(dtype)


def tensor_remui(a: Any, b: Any, dtype: torch.dtype) -> torch.Tensor:
    """Unsigned remainder; that of a zero divisor is the dividend."""
    a, b = _both(a, b)
    if dtype.itemsize == 8:
        return _by_numpy(lambda x, y: np.where(y == 0, x, x % np.where(y == 0, 1, y)), a, b)
    return remainder_int(as_unsigned(a), as_unsigned(b)).to(dtype)


def _by_numpy(function: Callable[..., Any], a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """A function of unsigned 64-bit integers, which torch does not compute with."""
    x, y = (operand.contiguous().numpy().view(np.uint64) for operand in (a, b))
    return torch.from_numpy(np.ascontiguousarray(function(x, y)).view(np.int64))


def _shift(a: Any, b: Any) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, int]:
    """Both operands, which shifts are by the width or more (the host masks those, a GPU does not), and the width."""
    a, b = _both(a, b)
    bits = 8 * a.element_size()
    return a, b, (b < 0) | (b >= bits), bits


def tensor_shli(a: Any, b: Any, dtype: torch.dtype) -> torch.Tensor:
    """Shift to the left; by the width or more it leaves nothing."""
    a, b, over, bits = _shift(a, b)
    return torch.where(over, 0, a << (b & (bits - 1)))


def tensor_shrui(a: Any, b: Any, dtype: torch.dtype) -> torch.Tensor:
    """Logical shift to the right; by the width or more it leaves nothing."""
    a, b, over, bits = _shift(a, b)
    by = b & (bits - 1)
    if bits < 64:
        return torch.where(over, 0, as_unsigned(a) >> by.long()).to(dtype)
    keep = torch.where(by == 0, -1, (1 << (64 - by.clamp(min=1))) - 1)
    return torch.where(over, 0, (a >> by) & keep)


def tensor_shrsi(a: Any, b: Any, dtype: torch.dtype) -> torch.Tensor:
    """Arithmetic shift to the right; by the width or more it leaves the sign."""
    a, b, over, bits = _shift(a, b)
    return a >> torch.where(over, bits - 1, b)


def tensor_floordivsi(a: Any, b: Any, dtype: torch.dtype) -> torch.Tensor:
    """Division that rounds down; a zero divisor gives -1."""
    a, b = _both(a, b)
    rest = remainder_int(a, b)
    return divide_int(a, b) - ((rest != 0) & ((rest < 0) != (b < 0)) & (b != 0)).to(dtype)


def tensor_ceildivsi(a: Any, b: Any, dtype: torch.dtype) -> torch.Tensor:
    """Division that rounds up; a zero divisor gives -1."""
    a, b = _both(a, b)
    rest = remainder_int(a, b)
    return divide_int(a, b) + ((rest != 0) & ((rest < 0) == (b < 0)) & (b != 0)).to(dtype)


def tensor_ceildivui(a: Any, b: Any, dtype: torch.dtype) -> torch.Tensor:
    """Unsigned division that rounds up; a zero divisor gives -1."""
    a, b = _both(a, b)
    return tensor_divui(a, b, dtype) + ((tensor_remui(a, b, dtype) != 0) & (b != 0)).to(dtype)


def compare_unsigned(symbol: str, a: Any, b: Any) -> torch.Tensor:
    """`ult`, `ule`, `ugt` or `uge` of tensors or numbers of one type."""
    a, b = _both(a, b)
    if a.dtype == torch.bool:
        a, b = a.to(torch.int8), b.to(torch.int8)
    else:
        lowest = torch.iinfo(a.dtype).min
        a, b = a ^ lowest, b ^ lowest
    return {"ult": torch.lt, "ule": torch.le, "ugt": torch.gt, "uge": torch.ge}[symbol](a, b)


def unsigned_to_float(a: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Unsigned integer to float, rounded once."""
    if a.dtype != torch.int64 or not bool((a < 0).any()):
        return int_to_float(as_unsigned(a), dtype)
    # half of it, with a last bit that stands for what was lost
    half = int_to_float(((a >> 1) & 0x7FFFFFFFFFFFFFFF) | (a & 1), dtype) * 2
    return torch.where(a < 0, half, int_to_float(a, dtype))


def round_away(a: torch.Tensor) -> torch.Tensor:
    """The nearest integer, ties away from zero."""
    whole = a.trunc()
    return torch.copysign(whole.abs() + ((a - whole).abs() >= 0.5), a)


def bitcast(a: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """The same bits as another type of the same size."""
    return a.contiguous().view(dtype)


def fma(a: torch.Tensor, b: Any, c: Any) -> torch.Tensor:
    """a * b + c with one rounding."""
    return rounding.fma(a, _both(b, a)[0], _both(c, a)[0])


def multiply_high(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The upper half of the unsigned product."""
    if a.element_size() == 8:
        low = (1 << 32) - 1
        a1, a0, b1, b0 = (a >> 32) & low, a & low, (b >> 32) & low, b & low
        middle = a1 * b0 + ((tensor_shrui(a0 * b0, 32, torch.int64)) & low)
        other = a0 * b1 + (middle & low)
        return a1 * b1 + ((middle >> 32) & low) + ((other >> 32) & low)
    product = as_unsigned(a) * as_unsigned(b)
    return (
        tensor_shrui(product, 32, torch.int64).to(a.dtype)
        if a.element_size() == 4
        else ((product >> (8 * a.element_size())).to(a.dtype))
    )


def has_nan(values: Any) -> bool:
    """Whether an element is no number."""
    held = torch.as_tensor(values)
    return held.is_floating_point() and bool(held.float().isnan().any())  # types of eight bits cannot tell


def ballot(mask: int, flags: torch.Tensor, warps: int) -> torch.Tensor:
    """`vote.ballot` of each warp: 32 consecutive flags as bits, given to every thread."""
    bits = (flags.reshape(-1, 32).long() << torch.arange(32)).sum(1) & mask
    return torch.where(bits >= 2**31, bits - 2**32, bits).to(torch.int32).repeat_interleave(32).view(flags.shape)


def histogram(values: torch.Tensor, mask: torch.Tensor | None = None, *, bins: int) -> torch.Tensor:
    """How many of the chosen values fall into each bin; those outside count nowhere."""
    chosen = values if mask is None else values[mask]
    inside = chosen[(chosen >= 0) & (chosen < bins)]
    return torch.bincount(inside.long().reshape(-1), minlength=bins)
