"""The types of TTGIR values, as immutable data."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Any

_WIDTH = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Encoding:
    """A layout or memory-space attribute, such as `#ttg.nvmma_shared<{swizzlingByteWidth = 128}>`."""

    name: str
    """The attribute's own name without the dialect: `blocked`, `nvidia_mma`, `slice`, `nvmma_shared`."""
    parameters: dict[str, Any] = field(default_factory=dict[str, Any], hash=False)


@dataclass(frozen=True, slots=True)
class ScalarType:
    """`i32`, `i1`, `index`, `f16`, `bf16`, `f8E4M3FN`, ..."""

    name: str

    @property
    def bits(self) -> int:
        """Width in bits; `index` counts as 64, `i1` as 1."""
        if self.name == "index":
            return 64
        found = _WIDTH.search(self.name)
        return int(found[0]) if found else 0

    @property
    def bytes(self) -> int:
        """Bytes that one element takes in memory."""
        return max(1, self.bits // 8)

    @property
    def is_float(self) -> bool:
        return self.name[0] in "fb" or self.name.startswith("tf")

    @property
    def is_integer(self) -> bool:
        return not self.is_float


@dataclass(frozen=True, slots=True)
class PointerType:
    pointee: Type
    address_space: int = 1

    @property
    def bytes(self) -> int:
        return 8


@dataclass(frozen=True, slots=True)
class TensorType:
    shape: tuple[int, ...]
    element: Type
    encoding: Encoding | None = None

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)


@dataclass(frozen=True, slots=True)
class MemDescType:
    """A view of shared or tensor memory."""

    shape: tuple[int, ...]
    element: Type
    encoding: Encoding | None = None
    space: str = "shared_memory"
    """`shared_memory`, `shared_cluster_memory` (that of another CTA) or `tensor_memory`."""
    mutable: bool = False
    alloc_shape: tuple[int, ...] = ()
    """Shape of the allocation that this is a view of; equals `shape` unless the type prints another."""

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)


@dataclass(frozen=True, slots=True)
class TensorDescType:
    """A TMA descriptor; its block is what one copy moves."""

    block: TensorType


@dataclass(frozen=True, slots=True)
class TokenType:
    """`!ttg.async.token`: orders asynchronous operations, carries no value."""


@dataclass(frozen=True, slots=True)
class OpaqueType:
    """A type that the reader does not know; kept as written."""

    text: str


Type = ScalarType | PointerType | TensorType | MemDescType | TensorDescType | TokenType | OpaqueType


def element_of(type_: Type) -> Type:
    """The element type of a tensor, memdesc or descriptor; the type itself for a scalar or pointer."""
    match type_:
        case TensorType() | MemDescType():
            return type_.element
        case TensorDescType():
            return type_.block.element
        case _:
            return type_


def bytes_of(type_: Type) -> int:
    """Bytes that a value of the type takes in memory; 0 for tokens and unknown types."""
    match type_:
        case ScalarType() | PointerType():
            return type_.bytes
        case TensorType() | MemDescType():
            return type_.size * bytes_of(type_.element)
        case TensorDescType():
            return bytes_of(type_.block)
        case _:
            return 0
