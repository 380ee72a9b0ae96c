"""The layouts that TTGIR's attributes describe, each as a value of its own type."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from tlxviz.ir.linear import Basis
from tlxviz.ir.types import Encoding

Sizes = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Blocked:
    """Each thread has a block, warps have blocks of threads; what is left is repeated in registers."""

    size_per_thread: Sizes
    threads_per_warp: Sizes
    warps_per_cta: Sizes
    order: Sizes
    """Dimensions, fastest first."""


@dataclass(frozen=True, slots=True)
class NvidiaMma:
    """What a tensor core's instruction leaves in registers."""

    version: int
    """2: `mma.sync`, 3: `wgmma`."""
    warps_per_cta: Sizes
    instruction: Sizes
    """M, N and, where it is printed, K of one warp's part of the instruction."""


@dataclass(frozen=True, slots=True)
class DotOperand:
    """An operand of a product in registers."""

    index: int
    """0: A, 1: B."""
    parent: Layout
    k_width: int
    """Neighbours along K that a thread has; 0 where the parent is no tensor core's layout."""


@dataclass(frozen=True, slots=True)
class Slice:
    """The parent's layout without one dimension, as what a reduction leaves has it."""

    dimension: int
    parent: Layout


@dataclass(frozen=True, slots=True)
class Linear:
    """A layout of threads that is given by its bases."""

    register: tuple[Basis, ...]
    lane: tuple[Basis, ...]
    warp: tuple[Basis, ...]


@dataclass(frozen=True, slots=True)
class SwizzledShared:
    """Rows in shared memory whose vectors are exchanged by XOR with the row's phase."""

    vec: int
    """Elements that stay together."""
    per_phase: int
    """Rows of one phase."""
    max_phase: int
    """1: nothing is exchanged."""
    order: Sizes


@dataclass(frozen=True, slots=True)
class NvmmaShared:
    """What TMA, `wgmma` and `tcgen05` read and write: tiles of 8 rows of `swizzle` bytes."""

    swizzle: int
    """Bytes; 0: rows are as they are."""
    transposed: bool
    element_bits: int
    fp4_padded: bool = False


@dataclass(frozen=True, slots=True)
class PaddedShared:
    """Rows in shared memory with gaps: after every `interval` elements `padding` are left free."""

    intervals: tuple[tuple[int, int], ...]
    """Interval and padding, in elements."""
    order: Sizes
    """Empty where `offset` says where elements are."""
    offset: tuple[Basis, ...] = ()


@dataclass(frozen=True, slots=True)
class SharedLinear:
    """Shared memory that is given by its bases."""

    offset: tuple[Basis, ...]
    alignment: int


@dataclass(frozen=True, slots=True)
class TensorMemory:
    """Tensor memory in blocks of lanes and columns."""

    block_m: int
    block_n: int
    column_stride: int
    """Columns from an element to its neighbour: 1, or more where 16-bit elements are not packed."""
    two_ctas: bool = False


@dataclass(frozen=True, slots=True)
class TensorMemoryScales:
    """Scales of block-scaled products in tensor memory: 32 lanes, repeated for the four warps."""


@dataclass(frozen=True, slots=True)
class Other:
    """A layout that is not taken apart."""

    name: str
    text: str = ""


Distributed = Blocked | NvidiaMma | DotOperand | Slice | Linear
Shared = SwizzledShared | NvmmaShared | PaddedShared | SharedLinear
Layout = Distributed | Shared | TensorMemory | TensorMemoryScales | Other


def layout_of(encoding: Encoding | None) -> Layout | None:
    """What an attribute describes; `Other` for what is not known or spread over several CTAs, None for no attribute."""
    if encoding is None:
        return None
    parameters = encoding.parameters
    read = _READERS.get(encoding.name)
    if read is None or any(parameters.get(key) for key in ("CGALayout", "block")):
        return Other(encoding.name, str(parameters.get("text", "")))
    try:
        return read(parameters)
    except (KeyError, TypeError, ValueError, SyntaxError):  # damaged, or of a version that says it differently
        return Other(encoding.name, str(parameters.get("text", "")))


def _sizes(value: object) -> Sizes:
    return tuple(int(each) for each in cast("list[Any]", value))


def _bases(value: object) -> tuple[Basis, ...]:
    return tuple(_sizes(each) for each in cast("list[Any]", value))


def _powers(value: object) -> Sizes:
    """Sizes that are powers of two. Raises ValueError for others."""
    sizes = _sizes(value)
    if any(size <= 0 or size & (size - 1) for size in sizes):
        raise ValueError("no powers of two")
    return sizes


def _order(value: object, rank: int = 0) -> Sizes:
    """Dimensions, each once. Raises ValueError for anything else, and where they are not `rank`."""
    order = _sizes(value)
    if sorted(order) != list(range(rank or len(order))):
        raise ValueError("no order")
    return order


def _parent(value: object) -> Layout:
    made = layout_of(value) if isinstance(value, Encoding) else None
    if made is None:
        raise ValueError("no parent")
    return made


def _blocked(given: dict[str, Any]) -> Layout:
    sizes, lanes, warps = (_powers(given[key]) for key in ("sizePerThread", "threadsPerWarp", "warpsPerCTA"))
    if not len(sizes) == len(lanes) == len(warps) > 0:
        raise ValueError("different ranks")
    return Blocked(sizes, lanes, warps, _order(given["order"], len(sizes)))


def _mma(given: dict[str, Any]) -> Layout:
    warps, instruction = _powers(given["warpsPerCTA"]), _sizes(given["instrShape"])
    if len(warps) < 2 or len(instruction) < 2 or min(instruction) < 1:
        raise ValueError("no instruction")
    return NvidiaMma(int(given["versionMajor"]), warps, instruction)


def _operand(given: dict[str, Any]) -> Layout:
    index, width = int(given["opIdx"]), int(given.get("kWidth", 0))
    if index not in (0, 1) or width < 0 or width & (width - 1):
        raise ValueError("no operand")
    return DotOperand(index, _parent(given["parent"]), width)


def _slice(given: dict[str, Any]) -> Layout:
    return Slice(int(given["dim"]), _parent(given["parent"]))


def _linear(given: dict[str, Any]) -> Layout:
    return Linear(_bases(given["register"]), _bases(given["lane"]), _bases(given["warp"]))


def _swizzled(given: dict[str, Any]) -> Layout:
    vec, per_phase, max_phase = _powers([given["vec"], given["perPhase"], given["maxPhase"]])
    return SwizzledShared(vec, per_phase, max_phase, _order(given["order"]))


def _nvmma(given: dict[str, Any]) -> Layout:
    swizzle, bits = int(given["swizzlingByteWidth"]), int(given["elementBitWidth"])
    if swizzle not in (0, 32, 64, 128) or bits not in (8, 16, 32, 64):
        raise ValueError("no swizzle")
    return NvmmaShared(swizzle, bool(given["transposed"]), bits, bool(given.get("fp4Padded", False)))


# the [32:+4, 64:+8] of  padded_shared<[32:+4] {order = [1, 0], shape = [64, 64]}>
_INTERVAL = re.compile(r"(\d+)\s*:\s*\+\s*(\d+)")
# order = [1, 0]   offset = [[0, 1], [0, 2]]   alignment = 16
_ENTRY = re.compile(r"(\w+)\s*=\s*(\[[\d\s,\[\]]*\]|\d+)")


def _entries(text: str) -> dict[str, Any]:
    return {key: ast.literal_eval(value) for key, value in _ENTRY.findall(text)}


def _padded(given: dict[str, Any]) -> Layout:
    entries = _entries(given["text"])
    if entries.get("block"):
        raise ValueError("spread over several CTAs")
    intervals = tuple((int(a), int(b)) for a, b in _INTERVAL.findall(given["text"]))
    if not all(interval for interval, _ in intervals):
        raise ValueError("no interval")
    return PaddedShared(intervals, _order(entries.get("order", ())), _bases(entries.get("offset", ())))


def _shared_linear(given: dict[str, Any]) -> Layout:
    entries = _entries(given["text"]) if "text" in given else given
    if entries.get("block"):
        raise ValueError("spread over several CTAs")
    return SharedLinear(_bases(entries["offset"]), int(entries.get("alignment", 16)))


def _tensor_memory(given: dict[str, Any]) -> Layout:
    stride = given.get("colStride")
    if stride is None:  # older versions print whether neighbours have columns of their own
        stride = 2 if given.get("unpacked") else 1
    return TensorMemory(int(given["blockM"]), int(given["blockN"]), int(stride), bool(given.get("twoCTAs", False)))


_READERS: dict[str, Callable[[dict[str, Any]], Layout]] = {
    "blocked": _blocked,
    "nvidia_mma": _mma,
    "dot_op": _operand,
    "slice": _slice,
    "linear": _linear,
    "swizzled_shared": _swizzled,
    "nvmma_shared": _nvmma,
    "padded_shared": _padded,
    "shared_linear": _shared_linear,
    "tensor_memory_encoding": _tensor_memory,
    "tensor_memory_scales_encoding": lambda given: TensorMemoryScales(),
}
