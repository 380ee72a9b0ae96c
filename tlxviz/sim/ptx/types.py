"""The types of PTX, and how the bits of a register are read and written as each of them.

A register holds a torch tensor whose element size is the width of the register; which dtype of that size it has does
not matter, because every read reinterprets the bits. Floating-point instructions see torch tensors. Integer and bit
instructions see numpy arrays, because torch has no arithmetic for unsigned integers wider than 8 bits. A packed type
(f16x2) adds a last dimension with one entry per lane.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import numpy as np
import torch
from numpy.typing import NDArray

from tlxviz._errors import TlxvizError

IntArray: TypeAlias = NDArray[Any]
Value: TypeAlias = torch.Tensor | IntArray

# These lack complete annotations in torch.
from_array: Callable[[IntArray], torch.Tensor] = cast(Any, torch).from_numpy
broadcast_all: Callable[..., tuple[torch.Tensor, ...]] = cast(Any, torch).broadcast_tensors
where: Callable[..., torch.Tensor] = cast(Any, torch).where


def broadcast_shape(*shapes: Sequence[int]) -> torch.Size:
    """The common shape of tensors of these shapes; torch's own function takes half a second when first called."""
    return torch.Size(np.broadcast_shapes(*map(tuple, shapes)))


SIGNED: dict[int, torch.dtype] = {8: torch.int8, 16: torch.int16, 32: torch.int32, 64: torch.int64}


class UnsupportedAsm(TlxvizError):
    """Inline assembly with something that the interpreter does not know."""


class Refusal(Exception):
    """Why one instruction is refused; the compiler adds the instruction and the assembly to it."""


@dataclass(frozen=True)
class PtxType:
    """One PTX type. `bits` is the width of the register that holds it, so it counts all lanes of a packed type."""

    name: str
    bits: int
    kind: str  # "b", "s", "u", "f" (torch can compute in it), "m" (only cvt knows it), "p" (predicate)
    lanes: int = 1
    dtype: torch.dtype = torch.int64  # of a lane, for kind "f"

    @property
    def is_float(self) -> bool:
        """Whether lanes are floats."""
        return self.kind == "f"

    @property
    def lane_bits(self) -> int:
        """Bits of one lane."""
        return self.bits // self.lanes

    @property
    def numpy_dtype(self) -> np.dtype[Any]:
        """The integers that hold the bits of a lane."""
        return np.dtype(f"{'i' if self.kind == 's' else 'u'}{self.lane_bits // 8}")


def _all_types() -> dict[str, PtxType]:
    types = [PtxType(f"{kind}{bits}", bits, kind) for kind in "bsu" for bits in (8, 16, 32, 64)]
    types.append(PtxType("pred", 1, "p"))
    types += [PtxType(name, 32, name[0], 2) for name in ("s16x2", "u16x2")]
    for name, dtype in (("f16", torch.float16), ("bf16", torch.bfloat16), ("f32", torch.float32)):
        types.append(PtxType(name, 8 * dtype.itemsize, "f", 1, dtype))
        types.append(PtxType(name + "x2", 16 * dtype.itemsize, "f", 2, dtype))
    types.append(PtxType("f64", 64, "f", 1, torch.float64))
    types += [PtxType(name, 16, "m", 2) for name in ("e4m3x2", "e5m2x2", "e2m3x2", "e3m2x2", "ue8m0x2")]
    types += [PtxType("e2m1x2", 8, "m", 2), PtxType("tf32", 32, "m")]
    return {ptx_type.name: ptx_type for ptx_type in types}


TYPES = _all_types()
PRED = TYPES["pred"]
U32 = TYPES["u32"]


@dataclass(frozen=True)
class Opcode:
    """`cvt.rn.f16x2.f32` as the name, the types among the suffixes, and the other suffixes, in order."""

    text: str
    name: str
    types: tuple[PtxType, ...]
    modifiers: tuple[str, ...]

    @staticmethod
    def parse(text: str) -> Opcode:
        """Splits a mnemonic at its dots."""
        name, *suffixes = text.split(".")
        types = tuple(TYPES[suffix] for suffix in suffixes if suffix in TYPES)
        return Opcode(text, name, types, tuple(suffix for suffix in suffixes if suffix not in TYPES))

    def only(self, allowed: str) -> None:
        """Refuse modifiers outside of `allowed` (space-separated): ignoring one would compute something else."""
        unknown = [modifier for modifier in self.modifiers if modifier not in allowed.split()]
        if unknown:
            raise Refusal(f"the modifier .{unknown[0]} of {self.name} is not supported (supported: {allowed})")

    def one_of(self, choices: str, default: str) -> str:
        """The one modifier from `choices` that is present."""
        return next((modifier for modifier in self.modifiers if modifier in choices.split()), default)

    @property
    def type(self) -> PtxType:
        """The only type, or the first of several."""
        if not self.types:
            raise Refusal(f"{self.text} names no type that is supported")
        return self.types[0]


@dataclass(frozen=True)
class Immediate:
    """A constant. `float_bits` and `float_width` are set for the 0f and 0d forms, which spell out the bits."""

    value: int | float
    float_bits: int = 0
    float_width: int = 0

    def as_value(self, ptx_type: PtxType) -> Value:
        """The constant as an operand of type `ptx_type`."""
        if ptx_type.kind == "p":
            return np.asarray(bool(self.value))
        if ptx_type.dtype in (torch.float32, torch.float64) and ptx_type.is_float and ptx_type.lanes == 1:
            if self.float_width == ptx_type.bits:
                return int_tensor(self.float_bits, ptx_type.bits).view(ptx_type.dtype)
            return torch.tensor(float(self.value), dtype=ptx_type.dtype)
        return read_bits(int_tensor(self._bits(ptx_type.bits), ptx_type.bits), ptx_type)

    def _bits(self, width: int) -> int:
        if isinstance(self.value, int):
            return self.value
        if self.float_width == width:
            return self.float_bits
        if width not in (32, 64):
            raise Refusal(f"a floating-point constant does not fit a type of {width} bits")
        pack, unpack = ("<f", "<I") if width == 32 else ("<d", "<Q")
        return int(struct.unpack(unpack, struct.pack(pack, self.value))[0])


def int_tensor(value: int, bits: int) -> torch.Tensor:
    """A tensor without dimensions that holds the low `bits` bits of `value`."""
    low = value & ((1 << bits) - 1)
    return torch.tensor(low - (1 << bits) if low >> (bits - 1) else low, dtype=SIGNED[bits])


def raw(value: torch.Tensor) -> torch.Tensor:
    """The bits of `value` as signed integers of the same width."""
    if value.dtype == torch.bool:
        return value.to(torch.int8)
    dtype = SIGNED[8 * value.element_size()]
    return value if value.dtype == dtype else value.view(dtype)


def resize(value: torch.Tensor, bits: int, signed: bool = False) -> torch.Tensor:
    """The bits of `value` cut or extended to `bits` bits."""
    value = raw(value)
    width = 8 * value.element_size()
    if bits <= width or signed:
        return value if bits == width else value.to(SIGNED[bits])
    return value.to(SIGNED[bits]) & ((1 << width) - 1)


def read_bits(value: torch.Tensor, ptx_type: PtxType) -> Value:
    """What an instruction sees that reads the register `value` as `ptx_type`."""
    if ptx_type.kind == "p":
        return (value if value.dtype == torch.bool else raw(value) != 0).numpy()
    if ptx_type.is_float and value.dtype == ptx_type.dtype and ptx_type.lanes == 1:
        return value
    value = resize(value, ptx_type.bits)
    if ptx_type.is_float:
        return (value.unsqueeze(-1) if ptx_type.lanes > 1 else value).view(ptx_type.dtype)
    if ptx_type.lanes > 1 and ptx_type.kind != "m":
        value = value.unsqueeze(-1).view(SIGNED[ptx_type.lane_bits])
        return value.numpy().view(ptx_type.numpy_dtype)
    return value.numpy().view(f"{'i' if ptx_type.kind == 's' else 'u'}{ptx_type.bits // 8}")


def write_bits(value: Value, ptx_type: PtxType, bits: int) -> torch.Tensor:
    """The content of a register of `bits` bits (1: a predicate) after `value` of type `ptx_type` was written to it."""
    if not isinstance(value, torch.Tensor):
        array = np.asarray(value)
        if array.dtype != np.bool_:
            array = array.view(f"i{array.dtype.itemsize}")
        value = from_array(array if array.flags.writeable else array.copy())
    if ptx_type.lanes > 1 and ptx_type.kind != "m":
        value = value.contiguous().view(SIGNED[ptx_type.bits]).squeeze(-1)
    if bits == 1:
        return value if value.dtype == torch.bool else raw(value) != 0
    if 8 * value.element_size() == bits and value.dtype != torch.bool:
        return value
    return resize(value, bits, signed=ptx_type.kind == "s")
