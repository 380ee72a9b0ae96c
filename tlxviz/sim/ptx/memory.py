"""What inline PTX asks of the machine around it: memory, atomics, special registers, and time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, cast

import numpy as np
import torch

from tlxviz.sim.ptx import integer
from tlxviz.sim.ptx.types import (
    SIGNED,
    TYPES,
    Opcode,
    PtxType,
    Refusal,
    broadcast_shape,
    from_array,
    int_tensor,
    read_bits,
    write_bits,
)

_ORDERS = ("weak", "relaxed", "acquire", "release", "acq_rel", "volatile", "mmio")
_SCOPES = ("cta", "cluster", "gpu", "sys")
_SPACES = ("global", "shared", "shared::cta", "shared::cluster", "local")
_IGNORED = ("nc", "ca", "cg", "cs", "lu", "cv", "wb", "wt", "noftz")
_VECTORS = {"v2": 2, "v4": 4, "v8": 8}
ATOMICS = ("add", "min", "max", "inc", "dec", "and", "or", "xor", "exch", "cas")


@dataclass(frozen=True)
class MemoryAccess:
    """How an address is accessed. Values travel as the bits of one `type`, an unsigned integer of `bytes` bytes."""

    type: str  # of PTX, such as "u32" or "f32"
    bytes: int
    space: str  # "global", "shared", "shared::cta", "shared::cluster", "local" or "generic"
    order: str  # "weak" when the instruction names none
    scope: str  # "cta", "cluster", "gpu", "sys", or "" when the instruction names none


class AsmEnvironment(Protocol):
    """The machine. Every call is for one element; addresses are absolute."""

    def special(self, name: str) -> int | torch.Tensor:
        """A special register, with the percent sign: "%smid", "%tid.x"."""
        ...

    def load(self, address: int, access: MemoryAccess) -> int:
        """The bits at `address`."""
        ...

    def store(self, address: int, value: int, access: MemoryAccess) -> None:
        """Write the bits `value`."""
        ...

    def atomic(self, op: str, address: int, value: int, access: MemoryAccess, compare: int | None) -> int:
        """Do one of `ATOMICS` and return the bits from before; `atomic_result` computes the new ones."""
        ...

    def sleep(self, nanoseconds: int) -> None:
        """nanosleep."""
        ...

    def fence(self, name: str) -> None:
        """A fence or barrier instruction, or griddepcontrol, by its full opcode."""
        ...

    def spin(self) -> None:
        """Called on each branch backwards, so that a loop that waits can let others run, or be given up."""
        ...


@dataclass(frozen=True)
class MemoryOpcode:
    """A parsed ld, st, atom or red."""

    access: MemoryAccess
    type: PtxType
    count: int
    operation: str


def parse_memory(op: Opcode) -> MemoryOpcode:
    """Sort the suffixes of a memory instruction."""
    parts = [part for part in op.text.split(".")[1:] if part not in TYPES]
    ptx_type = op.type
    if len(op.types) != 1 or ptx_type.kind in ("p", "m") or ptx_type.bits not in SIGNED:
        raise Refusal(f"{op.name} is supported for types of 8 to 64 bits")
    space, order, scope, count, operation = "generic", "weak", "", 1, ""
    for part in parts:
        if part in _SPACES:
            space = part
        elif part in _ORDERS:
            order = part
        elif part in _SCOPES:
            scope = part
        elif part in _VECTORS and op.name in ("ld", "st"):
            count = _VECTORS[part]
        elif part in ATOMICS and op.name in ("atom", "red"):
            operation = part
        elif part not in _IGNORED and not part.startswith(("L1::", "L2::", "level::")):
            raise Refusal(f"the modifier .{part} of {op.name} is not supported")
    if op.name in ("atom", "red"):
        order = "relaxed" if order == "weak" else order
        if not operation:
            raise Refusal(f"{op.name} names none of the operations that are supported: {', '.join(ATOMICS)}")
    return MemoryOpcode(
        MemoryAccess(ptx_type.name, ptx_type.bits // 8, space, order, scope), ptx_type, count, operation
    )


def atomic_result(op: str, type_name: str, old: int, value: int, compare: int | None = None) -> int:
    """The bits that an atomic operation leaves where `old` was."""
    ptx_type = TYPES[type_name]
    if op == "exch":
        return value
    if op == "cas":
        return value if old == compare else old
    if op == "inc":
        return 0 if old >= value else old + 1
    if op == "dec":
        return value if old == 0 or old > value else old - 1
    a, b = (read_bits(int_tensor(bits, ptx_type.bits), ptx_type) for bits in (old, value))
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        functions: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
            "add": torch.add, "min": torch.fmin, "max": torch.fmax,
        }  # fmt: skip
        if op not in functions:
            raise Refusal(f"atomic {op} is not supported for .{type_name}")
        return to_bits(write_bits(functions[op](a, b), ptx_type, ptx_type.bits))
    name = f"{op}.{ptx_type.name if ptx_type.kind != 'b' else 'u' + str(ptx_type.bits)}"
    _results, _sources, apply = integer.build(Opcode.parse(name), 2)
    with np.errstate(over="ignore"):
        return to_bits(write_bits(np.asarray(apply(a, b)), ptx_type, ptx_type.bits))


def to_bits(value: torch.Tensor) -> int:
    """The bits of a tensor without dimensions, as an unsigned integer."""
    width = 8 * value.element_size()
    return int(value.view(SIGNED[width]).item()) & ((1 << width) - 1)


Visit = Callable[[int, tuple[int, ...]], "int | None"]


def each(
    visit: Visit, address: torch.Tensor, values: tuple[torch.Tensor, ...], mask: torch.Tensor | None, result: PtxType
) -> torch.Tensor:
    """Call `visit` with the address and the bits of the values of every element that `mask` lets through."""
    operands = (address, *values) if mask is None else (address, *values, mask)
    shape = broadcast_shape(*(operand.shape for operand in operands))
    columns: list[list[Any]] = [cast(Any, operand.broadcast_to(shape).reshape(-1)).tolist() for operand in operands]
    limits = [(1 << 8 * operand.element_size()) - 1 for operand in operands]
    bits: list[int] = []
    for row in zip(*columns, strict=True):
        masked = mask is not None and not row[-1]
        unsigned = [int(item) & limit for item, limit in zip(row, limits, strict=True)]
        got = None if masked else visit(unsigned[0], tuple(unsigned[1 : 1 + len(values)]))
        bits.append(0 if got is None else got & ((1 << result.bits) - 1))
    array = np.array(bits, dtype=f"u{result.bits // 8}").view(f"i{result.bits // 8}")
    return from_array(array).reshape(shape)
