"""TTGIR element types as torch dtypes, and exact scalar arithmetic for them."""

from __future__ import annotations

import struct

import numpy as np
import torch

from tlxviz.ir.types import PointerType, ScalarType, Type
from tlxviz.sim.errors import UnsupportedOperation
from tlxviz.sim.ptx.rounding import narrow

TORCH = {
    "f64": torch.float64,
    "f32": torch.float32,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "f8E4M3FN": torch.float8_e4m3fn,
    "f8E5M2": torch.float8_e5m2,
    "f8E4M3FNUZ": torch.float8_e4m3fnuz,
    "f8E5M2FNUZ": torch.float8_e5m2fnuz,
    "i64": torch.int64,
    "i32": torch.int32,
    "i16": torch.int16,
    "i8": torch.int8,
    "i1": torch.bool,
    "index": torch.int64,
}
TORCH.update({f"{sign}{name}": TORCH[name] for sign in "su" for name in ("i64", "i32", "i16", "i8")})
LARGEST_FP8 = {torch.float8_e4m3fn: 448.0, torch.float8_e5m2: 57344.0}
_FLOAT = struct.Struct("f")
_HALF = struct.Struct("e")


def torch_dtype(type_: Type) -> torch.dtype:
    """The dtype that holds `type_`; pointers are int64 addresses."""
    if isinstance(type_, PointerType):
        return torch.int64
    if isinstance(type_, ScalarType) and type_.name in TORCH:
        return TORCH[type_.name]
    raise UnsupportedOperation(f"the simulator has no values of type {type_}")


def wrap(value: int, bits: int) -> int:
    """`value` as a signed integer of `bits` bits."""
    half = 1 << (bits - 1)
    return ((value + half) & ((1 << bits) - 1)) - half


def unsigned(value: int, bits: int) -> int:
    """The unsigned reading of a signed integer of `bits` bits."""
    return value & ((1 << bits) - 1)


def truncating_div(a: int, b: int) -> int:
    """Signed division that rounds towards zero, as hardware does; a zero divisor gives -1, as on NVIDIA GPUs."""
    if b == 0:
        return -1
    quotient = abs(a) // abs(b)
    return quotient if (a >= 0) == (b >= 0) else -quotient


def truncating_rem(a: int, b: int) -> int:
    """The remainder that belongs to `truncating_div`."""
    if b == 0:
        return a
    remainder = abs(a) % abs(b)
    return remainder if a >= 0 else -remainder


def shift_left(value: int, by: int, bits: int) -> int:
    """`shl`: a shift by the width or more leaves nothing."""
    return wrap(value << by, bits) if 0 <= by < bits else 0


def round_f32(value: float) -> float:
    """The nearest f32."""
    try:
        return _FLOAT.unpack(_FLOAT.pack(value))[0]
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def round_f16(value: float) -> float:
    """The nearest f16."""
    try:
        return _HALF.unpack(_HALF.pack(value))[0]
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def round_scalar(value: float, name: str) -> float:
    """The nearest value of the float type `name`."""
    match name:
        case "f64":
            return value
        case "f32":
            return round_f32(value)
        case "f16":
            return round_f16(value)
        case _:
            return float(cast(torch.tensor(value, dtype=torch.float64), TORCH[name]).float())


def cast(tensor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Float conversion as `cvt` does it: to nearest even, FP8 saturating."""
    largest = LARGEST_FP8.get(dtype)
    if largest is not None:
        if tensor.dtype == torch.float64:
            return narrow(tensor.clamp(-largest, largest), dtype)
        return tensor.float().clamp(-largest, largest).to(dtype)
    # torch would round to f32 first
    return narrow(tensor, dtype) if tensor.dtype == torch.float64 else tensor.to(dtype)


def int_to_float(tensor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Integer to float, rounded once."""
    if dtype in (torch.float32, torch.float64) or tensor.element_size() < 4:
        return tensor.to(dtype)
    if tensor.element_size() == 8:
        # only its leading bits, and that there are others, matter to a type this narrow
        tensor = torch.where(tensor.abs() < 1 << 53, tensor, tensor & -8192 | ((tensor & 8191) != 0).long() << 13)
    return narrow(tensor.double(), dtype)


def int_to_float_scalar(value: int, name: str) -> float:
    """Integer to float, rounded once."""
    if abs(value) <= 1 << 53:
        return round_scalar(float(value), name)
    if name == "f64":
        return float(value)
    # only its leading bits, and that there are others, matter to a type this narrow
    return round_scalar(float(value >> 13 << 13 | (value & 8191 != 0) << 13), name)


SIGNED = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
"""The integer dtype of a size in bytes."""


def cast_towards_zero(tensor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Float conversion that truncates."""
    nearest = cast(tensor, dtype)
    wide = tensor.double()
    over = nearest.double().abs() > wide.abs()
    if not bool(over.any()):
        return nearest
    bits = SIGNED[nearest.element_size()]
    return torch.where(over, nearest.view(bits) - 1, nearest.view(bits)).view(dtype)


def float_to_int(tensor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """`cvt.rzi.s`: towards zero, saturating.

    Eight bits are the lower half of a conversion to 16, which is how the compiler makes them.
    """
    bits = 8 * max(2, dtype.itemsize)
    low, high = -(2.0 ** (bits - 1)), 2.0 ** (bits - 1)
    nan = low if _nan_is_large(tensor.dtype, bits) else 0.0
    wide = torch.nan_to_num(tensor.double(), nan=nan)
    if bits == 64:
        return torch.where(wide >= high, torch.iinfo(dtype).max, wide.clamp(low, high - 1024.0).long())
    return wide.clamp(low, high - 1.0).long().to(dtype)


def float_to_unsigned(tensor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """`cvt.rzi.u`; the result holds the bits in the signed dtype."""
    bits = 8 * max(2, dtype.itemsize)
    nan = 2.0 ** (bits - 1) if _nan_is_large(tensor.dtype, bits) else 0.0
    wide = torch.nan_to_num(tensor.double(), nan=nan)
    if bits < 64:
        return wide.clamp(0.0, 2.0**bits - 1.0).long().to(dtype)
    exact = torch.from_numpy(wide.clamp(0.0, 2.0**64 - 2048.0).contiguous().numpy().astype(np.uint64).view(np.int64))
    return torch.where(wide >= 2.0**64, -1, exact)


def _nan_is_large(dtype: torch.dtype, bits: int) -> bool:
    """Whether NaN becomes the value with only the highest bit set instead of 0 (PTX, `cvt`)."""
    return dtype == torch.float64 or bits == 64


def float_to_int_scalar(value: float, source: str, bits: int, is_unsigned: bool) -> int:
    """`float_to_int` and `float_to_unsigned` of one number of the type `source`."""
    wide = max(16, bits)
    if value != value:
        return wrap(1 << (wide - 1), bits) if source == "f64" or wide == 64 else 0
    low, high = (0, (1 << wide) - 1) if is_unsigned else (-(1 << (wide - 1)), (1 << (wide - 1)) - 1)
    return wrap(high if value >= high else low if value <= low else int(value), bits)


def as_unsigned(tensor: torch.Tensor) -> torch.Tensor:
    """An int64 tensor with the unsigned reading of each element; 64-bit elements do not fit and stay as they are."""
    size = tensor.element_size()
    if tensor.dtype == torch.bool or size == 8:
        return tensor.long()
    return tensor.long() & ((1 << (8 * size)) - 1)


def tf32(tensor: torch.Tensor) -> torch.Tensor:
    """An f32 tensor as the tensor core reads it in TF32 mode: the low 13 bits of the mantissa are ignored."""
    return (tensor.contiguous().view(torch.int32) & -8192).view(torch.float32)


_FP4 = torch.tensor([sign * value for sign in (1.0, -1.0) for value in (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)])
"""E2M1 of the OCP Microscaling Formats: what each of the 16 patterns stands for."""


def fp4_to_float(packed: torch.Tensor, axis: int, dtype: torch.dtype) -> torch.Tensor:
    """Bytes of two E2M1 numbers, the lower half first, as floats; `axis` becomes twice as long."""
    bits = packed.to(torch.int64)
    pairs = torch.stack([_FP4[bits & 15], _FP4[bits >> 4 & 15]], dim=axis + 1)
    shape = list(packed.shape)
    shape[axis] *= 2
    return pairs.reshape(shape).to(dtype)
