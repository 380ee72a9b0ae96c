"""TTGIR element types as torch dtypes, and exact scalar arithmetic for them."""

from __future__ import annotations

import struct

import torch

from tlxviz.ir.types import PointerType, ScalarType, Type
from tlxviz.sim.errors import UnsupportedOperation

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
            return float(cast(torch.tensor(value, dtype=torch.float32), TORCH[name]).float())


def cast(tensor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Float conversion as `cvt` does it: to nearest even, FP8 saturating."""
    largest = LARGEST_FP8.get(dtype)
    if largest is not None:
        return tensor.float().clamp(-largest, largest).to(dtype)
    return tensor.to(dtype)


def cast_towards_zero(tensor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Float conversion that truncates."""
    nearest = cast(tensor, dtype)
    wide = tensor.double()
    over = nearest.double().abs() > wide.abs()
    if not bool(over.any()):
        return nearest
    bits = {1: torch.int8, 2: torch.int16, 4: torch.int32}[nearest.element_size()]
    return torch.where(over, nearest.view(bits) - 1, nearest.view(bits)).view(dtype)


def float_to_int(tensor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """`cvt.rzi`: towards zero, saturating, NaN to 0."""
    info = torch.iinfo(dtype)
    clean = torch.nan_to_num(tensor.double(), nan=0.0).clamp(float(info.min), float(info.max))
    if dtype == torch.int64:
        return torch.where(clean >= 2.0**63, torch.tensor(info.max), clean.to(dtype))
    return clean.to(dtype)


def as_unsigned(tensor: torch.Tensor) -> torch.Tensor:
    """An int64 tensor with the unsigned reading of each element; 64-bit elements stay as they are."""
    size = tensor.element_size()
    if tensor.dtype == torch.bool or size == 8:
        return tensor.long()
    return tensor.long() & ((1 << (8 * size)) - 1)


def tf32(tensor: torch.Tensor) -> torch.Tensor:
    """An f32 tensor as the tensor core reads it in TF32 mode: the low 13 bits of the mantissa are ignored."""
    return (tensor.contiguous().view(torch.int32) & -8192).view(torch.float32)
