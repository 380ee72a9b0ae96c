"""The `cvt` instruction of PTX: between integers, floating point, and the packed 8-, 6- and 4-bit formats."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias

import numpy as np
import torch

from tlxviz.sim.ptx import rounding
from tlxviz.sim.ptx.types import TYPES, IntArray, Opcode, PtxType, Refusal, broadcast_all, from_array, raw

Built: TypeAlias = tuple[tuple[PtxType, ...], tuple[PtxType, ...], Callable[..., Any]]

_ALLOWED = "rn rz rm rp rna rni rzi rmi rpi ftz sat satfinite relu"
_F64 = torch.float64

# exponent bits, mantissa bits, bias, largest finite code, code of not-a-number
_SMALL: dict[str, tuple[int, int, int, int, int]] = {
    "e4m3x2": (4, 3, 7, 0x7E, 0x7F),
    "e5m2x2": (5, 2, 15, 0x7B, 0x7F),
    "e2m3x2": (2, 3, 1, 0x1F, 0x1F),
    "e3m2x2": (3, 2, 3, 0x1F, 0x1F),
    "e2m1x2": (2, 1, 1, 0x7, 0x7),
}


@cache
def _values(name: str) -> IntArray:
    """The value of every code without a sign, as float64, in order."""
    exponent_bits, mantissa_bits, bias, largest, _nan = _SMALL[name]
    codes = np.arange(1 << (exponent_bits + mantissa_bits))
    exponent, mantissa = codes >> mantissa_bits, codes & ((1 << mantissa_bits) - 1)
    scale = np.exp2(np.maximum(exponent, 1) - bias - mantissa_bits)
    values = np.where(exponent > 0, mantissa + (1 << mantissa_bits), mantissa) * scale
    values[largest + 1 :] = np.nan
    if name == "e5m2x2":
        values[0x7C] = np.inf
    return values


def _encode_small(name: str, x: torch.Tensor, relu: bool) -> IntArray:
    """`x` as codes of a small format: to nearest, ties to even, saturating."""
    exponent_bits, mantissa_bits, _bias, largest, nan_code = _SMALL[name]
    values = x.to(_F64).numpy()
    finite = _values(name)[: largest + 1]
    size = np.minimum(np.abs(values), finite[-1])
    # A code stands for its value up to the middle to the next one; the middle itself goes to the even code.
    middles = (finite[1:] + finite[:-1]) / 2
    code = np.searchsorted(middles, size, side="left")
    tie = (code < largest) & (size == middles[np.minimum(code, largest - 1)])
    code = np.where(tie & (code % 2 == 1), code + 1, code)
    code = np.where(np.signbit(values), code | 1 << (exponent_bits + mantissa_bits), code)
    if relu:
        code = np.where(np.signbit(values), 0, code)
    return np.where(np.isnan(values), nan_code, code).astype(np.uint8)


def _encode_scale(x: torch.Tensor, up: bool) -> IntArray:
    """`x` as ue8m0, a power of two: towards zero, or up; saturating."""
    bits = raw(x.to(torch.float32)).numpy().view(np.uint32)
    exponent, mantissa = (bits >> np.uint32(23)) & np.uint32(0xFF), bits & np.uint32(0x7FFFFF)
    if up:
        # Code 0 is 2**-127, which is subnormal in f32.
        above = (mantissa > 0) & ~((exponent == 0) & (mantissa <= 0x400000))
        exponent = exponent + above.astype(np.uint32)
    return np.where(torch.isnan(x).numpy(), 0xFF, np.minimum(exponent, 0xFE)).astype(np.uint8)


def _decode(source: PtxType, code: IntArray) -> torch.Tensor:
    """Packed codes as float64 with a last dimension for the two lanes."""
    pair = np.stack(np.broadcast_arrays(code & _lane_mask(source), code >> code.dtype.type(source.bits // 2)), -1)
    if source.name == "ue8m0x2":
        return from_array(np.where(pair == 0xFF, np.nan, np.exp2(pair.astype(np.float64) - 127)))
    width = sum(_SMALL[source.name][:2])
    size = _values(source.name)[pair & ((1 << width) - 1)]
    return from_array(np.where(pair >> width & 1, -size, size))


def _lane_mask(packed: PtxType) -> Any:
    return np.dtype(f"u{packed.bits // 8}").type((1 << (packed.bits // 2)) - 1)


def _to_small(op: Opcode, target: PtxType, source: PtxType, operands: int) -> Built:
    relu, up = "relu" in op.modifiers, "rp" in op.modifiers
    if "satfinite" not in op.modifiers:
        raise Refusal(f"a conversion to .{target.name} needs .satfinite")
    packed = source.lanes == 2
    if operands != (1 if packed else 2):
        raise Refusal(f"a conversion to .{target.name} takes two f32 operands or one packed operand")

    def encode(x: torch.Tensor) -> IntArray:
        return _encode_scale(x, up) if target.name == "ue8m0x2" else _encode_small(target.name, x, relu)

    def apply(*sources: torch.Tensor) -> IntArray:
        if packed:
            low, high = encode(sources[0][..., 0]), encode(sources[0][..., 1])
        else:
            high, low = encode(sources[0]), encode(sources[1])
        if target.bits == 8:
            return low | (high << np.uint8(4))
        return low.astype(np.uint16) | (high.astype(np.uint16) << np.uint16(8))

    result = TYPES[f"b{target.bits}"]
    return (result,), (source,) * operands, apply


def _from_small(op: Opcode, target: PtxType, source: PtxType) -> Built:
    if not (target.is_float and target.lanes == 2):
        raise Refusal(f"a conversion from .{source.name} gives f16x2 or bf16x2")
    finish = _float_finish(op, target)

    def apply(code: IntArray) -> torch.Tensor:
        return finish(rounding.narrow(_decode(source, code), target.dtype))

    return (target,), (source,), apply


def _float_finish(op: Opcode, target: PtxType) -> Callable[[torch.Tensor], torch.Tensor]:
    """The clamps that follow the rounding to a floating-point type."""

    def finish(x: torch.Tensor) -> torch.Tensor:
        if "sat" in op.modifiers:
            x = rounding.saturate(x)
        if "relu" in op.modifiers:
            x = torch.clamp(x, min=0.0)
        if "satfinite" in op.modifiers:
            limit = torch.finfo(x.dtype).max
            x = x.clamp(-limit, limit)
        if "ftz" in op.modifiers and target.dtype == torch.float32:
            x = rounding.flush(x)
        return rounding.quiet_nan(x) if target.bits < 64 else x

    return finish


def _whole(mode: str, x: torch.Tensor) -> torch.Tensor:
    functions = {"rni": torch.round, "rzi": torch.trunc, "rmi": torch.floor, "rpi": torch.ceil}
    return functions[mode](x)


def _float_to_float(op: Opcode, target: PtxType, source: PtxType, operands: int) -> Built:
    finish = _float_finish(op, target)
    whole = op.one_of("rni rzi rmi rpi", "")
    mode = op.one_of("rn rz rm rp", "rn")

    def one(x: torch.Tensor) -> torch.Tensor:
        if "ftz" in op.modifiers and x.dtype == torch.float32:
            x = rounding.flush(x)
        if whole:
            x = _whole(whole, x)
        if mode == "rn" and x.dtype != _F64:
            return finish(x.to(target.dtype))
        return finish(rounding.narrow(x.to(_F64), target.dtype, mode))

    if target.lanes == 2 and source.lanes == 1:
        if operands != 2:
            raise Refusal(f"a conversion to .{target.name} takes two operands")

        def pair(high: torch.Tensor, low: torch.Tensor) -> torch.Tensor:
            return torch.stack(broadcast_all(one(low), one(high)), -1)

        return (target,), (source, source), pair
    if target.lanes != source.lanes:
        raise Refusal(f"no conversion from .{source.name} to .{target.name}")
    return (target,), (source,), one


def _to_tf32(op: Opcode, source: PtxType) -> Built:
    mode = op.one_of("rna rn rz", "rna")

    def apply(x: torch.Tensor) -> IntArray:
        x = torch.clamp(x, min=0.0) if "relu" in op.modifiers else x
        bits = raw(x).numpy().view(np.uint32)
        half = {"rz": np.uint32(0), "rna": np.uint32(0x1000)}.get(mode, np.uint32(0xFFF) + (bits >> np.uint32(13) & 1))
        rounded = (bits + half) & np.uint32(0xFFFFE000)
        if "satfinite" in op.modifiers:
            infinite = (rounded & np.uint32(0x7FFFFFFF)) == 0x7F800000
            rounded = np.where(infinite, (rounded & np.uint32(0x80000000)) | np.uint32(0x7F7FE000), rounded)
        return np.where(torch.isnan(x).numpy(), np.uint32(0x7FFFFFFF), rounded)

    return (TYPES["b32"],), (source,), apply


def _float_to_int(op: Opcode, target: PtxType, source: PtxType) -> Built:
    mode = op.one_of("rni rzi rmi rpi", "")
    if not mode:
        raise Refusal("a conversion from floating point to an integer needs .rni, .rzi, .rmi or .rpi")
    info = np.iinfo(target.numpy_dtype)
    # A not-a-number gives zero, but the sign bit as soon as 64 bits are involved.
    wide = source.bits == 64 or target.bits == 64
    invalid = (info.min if target.kind == "s" else 1 << (target.bits - 1)) if wide else 0

    def apply(x: torch.Tensor) -> IntArray:
        if "ftz" in op.modifiers and x.dtype == torch.float32:
            x = rounding.flush(x)
        values = _whole(mode, x.to(_F64)).numpy()
        # The largest 64-bit integers are no float64, so the comparison is with the power of two above.
        high, low = values >= float(info.max), values <= float(info.min)
        result = np.where(high | low | np.isnan(values), 0.0, values).astype(target.numpy_dtype)
        result = np.where(low, target.numpy_dtype.type(info.min), result)
        result = np.where(high, target.numpy_dtype.type(info.max), result)
        return np.where(np.isnan(values), target.numpy_dtype.type(invalid), result)

    return (target,), (source,), apply


def _int_to_float(op: Opcode, target: PtxType, source: PtxType) -> Built:
    finish, mode = _float_finish(op, target), op.one_of("rn rz rm rp", "rn")
    kind = f"{'i' if source.kind == 's' else 'u'}8"

    def apply(x: IntArray) -> torch.Tensor:
        if source.bits < 64:
            return finish(rounding.narrow(from_array(np.asarray(x.astype(np.float64))), target.dtype, mode))
        wide = np.asarray(x).view(kind)
        half = wide.dtype.type(32)
        upper = np.ldexp((wide >> half).astype(np.float64), 32)
        lower = np.asarray((wide & wide.dtype.type(0xFFFFFFFF)).astype(np.float64))
        total, lost = rounding.two_sum(from_array(np.asarray(upper)), from_array(lower))
        return finish(rounding.finish(total, lost, target.dtype, mode))

    return (target,), (source,), apply


def _int_to_int(op: Opcode, target: PtxType, source: PtxType) -> Built:
    def apply(x: IntArray) -> IntArray:
        if "sat" in op.modifiers:
            info, own = np.iinfo(target.numpy_dtype), np.iinfo(x.dtype)
            lowest, highest = max(info.min, own.min), min(info.max, own.max)
            x = np.clip(x, x.dtype.type(lowest), x.dtype.type(highest))
        return np.asarray(x).astype(target.numpy_dtype)

    return (target,), (source,), apply


def build(op: Opcode, operands: int) -> Built:
    """The types of the results, the types of the sources, and the function, for a `cvt`."""
    op.only(_ALLOWED)
    if len(op.types) != 2:
        raise Refusal("cvt names two types that are supported")
    target, source = op.types
    if source.kind == "p" or target.kind == "p":
        raise Refusal("cvt does not take predicates")
    if target.name == "tf32":
        return _to_tf32(op, source)
    if target.kind == "m":
        if not source.is_float:
            raise Refusal(f"no conversion from .{source.name} to .{target.name}")
        return _to_small(op, target, source, operands)
    if source.kind == "m":
        return _from_small(op, target, source)
    if target.is_float and source.is_float:
        return _float_to_float(op, target, source, operands)
    if target.is_float:
        return _int_to_float(op, target, source)
    return _float_to_int(op, target, source) if source.is_float else _int_to_int(op, target, source)
