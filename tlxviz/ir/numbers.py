"""Numbers as MLIR prints them: decimal, or the bits of a float in hexadecimal; and dense elements."""

from __future__ import annotations

import struct
from dataclasses import dataclass

Number = int | float | bool

# (bits of the exponent, bits of the mantissa, bias, has infinities)
_FORMATS: dict[str, tuple[int, int, int, bool]] = {
    "f64": (11, 52, 1023, True),
    "f32": (8, 23, 127, True),
    "tf32": (8, 10, 127, True),
    "f16": (5, 10, 15, True),
    "bf16": (8, 7, 127, True),
    "f8E5M2": (5, 2, 15, True),
    "f8E4M3": (4, 3, 7, True),
    "f8E4M3FN": (4, 3, 7, False),
    "f8E5M2FNUZ": (5, 2, 16, False),
    "f8E4M3FNUZ": (4, 3, 8, False),
    "f8E4M3B11FNUZ": (4, 3, 11, False),
}


def is_float_type(name: str) -> bool:
    """Whether numbers of the scalar type `name` are floats."""
    return name[0] in "fb" or name.startswith("tf")


def float_from_bits(bits: int, type_name: str) -> float | None:
    """The float of scalar type `type_name` that `bits` encode; None for a type that is not known."""
    layout = _FORMATS.get(type_name)
    if layout is None:
        return None
    exponent_bits, mantissa_bits, bias, infinities = layout
    sign = -1.0 if bits >> (exponent_bits + mantissa_bits) & 1 else 1.0
    exponent = bits >> mantissa_bits & (1 << exponent_bits) - 1
    mantissa = bits & (1 << mantissa_bits) - 1
    top = (1 << exponent_bits) - 1
    if exponent == top and infinities:
        return float("nan") if mantissa else sign * float("inf")
    if type_name.endswith("FNUZ") and sign < 0 and not exponent and not mantissa:
        return float("nan")
    if type_name == "f8E4M3FN" and exponent == top and mantissa == 7:
        return float("nan")
    if exponent == 0:
        return sign * mantissa * 2.0 ** (1 - bias - mantissa_bits)
    return sign * (1 + mantissa / (1 << mantissa_bits)) * 2.0 ** (exponent - bias)


def number(text: str, type_name: str) -> Number | None:
    """The value of a printed number of scalar type `type_name`; None where the text is none.

    `0xFF800000` of `f32` is minus infinity; `true` is a bool.
    """
    if text in ("true", "false"):
        return text == "true"
    try:
        if text.lower().lstrip("-").startswith("0x"):
            bits = int(text, 16)
            return float_from_bits(bits, type_name) if is_float_type(type_name) else bits
        if is_float_type(type_name) or any(mark in text for mark in ".eE"):
            return float(text)
        return int(text)
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class Dense:
    """`dense<...>`: the elements of a constant tensor in row-major order; one element where all are equal."""

    values: tuple[Number, ...]
    shape: tuple[int, ...]
    is_splat: bool

    @property
    def splat(self) -> Number:
        """The value of every element; only where `is_splat`."""
        if not self.is_splat:
            raise ValueError("the elements differ")
        return self.values[0]


def blob(hexadecimal: str, type_name: str, bits: int) -> tuple[Number, ...] | None:
    """The elements of `dense<"0x...">`, little-endian; None where the text is no such blob."""
    code = {8: "B", 16: "H", 32: "I", 64: "Q"}.get(bits)
    try:
        data = bytes.fromhex(hexadecimal.removeprefix("0x"))
    except ValueError:
        return None
    if code is None or len(data) * 8 % bits:
        return None
    patterns = struct.unpack(f"<{len(data) * 8 // bits}{code}", data)
    if not is_float_type(type_name):
        half = 1 << (bits - 1)
        return tuple(pattern - 2 * half if pattern >= half else pattern for pattern in patterns)
    values = tuple(float_from_bits(pattern, type_name) for pattern in patterns)
    return None if None in values else tuple(value for value in values if value is not None)
