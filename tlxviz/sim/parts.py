"""Index tensors and masks as one part per dimension.

An index tensor is kept as what it nearly always is: an offset plus one part per dimension, `offset + f(i) + g(j)`. A
part is None (constant along the dimension), an int (the stride along it) or a 1-D tensor. Masks likewise: a part is
None, a (low, high) pair or a 1-D bool tensor.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from tlxviz.sim.dtypes import wrap
from tlxviz.sim.errors import SimulationError

Part = int | torch.Tensor | None
MaskPart = tuple[int, int] | torch.Tensor | None


def along(vector: torch.Tensor, dimension: int, rank: int) -> torch.Tensor:
    """A 1-D tensor laid along one of `rank` dimensions."""
    shape = [1] * rank
    shape[dimension] = -1
    return vector.view(shape)


def indices(offset: int, parts: Sequence[Part], shape: Sequence[int]) -> torch.Tensor:
    """The int64 tensor that offset and parts stand for; expanded, not contiguous."""
    rank = len(shape)
    total: torch.Tensor | None = None
    for dimension, part in enumerate(parts):
        if part is None:
            continue
        vector = torch.arange(shape[dimension]) * wrap(part, 64) if isinstance(part, int) else part.long()
        piece = along(vector, dimension, rank)
        total = piece if total is None else total + piece
    offset = wrap(offset, 64)
    total = torch.full([1] * rank, offset) if total is None else total + offset
    return total.expand(list(shape))


def mask_tensor(parts: Sequence[MaskPart], shape: Sequence[int]) -> torch.Tensor:
    """The bool tensor that the parts of a mask stand for."""
    rank = len(shape)
    total: torch.Tensor | None = None
    for dimension, part in enumerate(parts):
        if part is None:
            continue
        if isinstance(part, tuple):
            vector = torch.zeros(shape[dimension], dtype=torch.bool)
            vector[part[0] : part[1]] = True
        else:
            vector = part
        piece = along(vector, dimension, rank)
        total = piece if total is None else total & piece
    if total is None:
        total = torch.ones([1] * rank, dtype=torch.bool)
    return total.expand(list(shape))


def add_parts(a: Part, b: Part, size: int) -> Part:
    """The sum of two parts along a dimension of `size`."""
    if a is None or b is None:
        return a if b is None else b
    if isinstance(a, int) and isinstance(b, int):
        return a + b
    if isinstance(a, int):
        a = torch.arange(size) * a
    if isinstance(b, int):
        b = torch.arange(size) * b
    return a + b


def _vector(offset: int, part: Part, size: int, bits: int) -> torch.Tensor:
    """The int64 elements `offset + part` along a dimension, wrapped to `bits`."""
    offset = wrap(offset, bits)
    if isinstance(part, torch.Tensor):
        vector = part.long() + offset
    else:
        vector = torch.arange(size) * wrap(part or 0, bits) + offset
    return vector.to(torch.int32).long() if bits == 32 else vector


def _range(offset: int, part: Part, size: int) -> tuple[int, int]:
    """The least and the largest element, unwrapped."""
    if part is None:
        return offset, offset
    if isinstance(part, torch.Tensor):
        low, high = (int(bound) for bound in torch.aminmax(part))
        return offset + low, offset + high
    last = offset + part * (size - 1)
    return (offset, last) if part >= 0 else (last, offset)


def _fits(low: int, high: int, bits: int) -> bool:
    return -(1 << (bits - 1)) <= low and high < 1 << (bits - 1)


def narrow_index(offset: int, parts: Sequence[Part], shape: Sequence[int]) -> tuple[int, list[Part]]:
    """What 32 bits hold of an index.

    Raises:
        SimulationError: the sum wraps, but not for all rows alike.
    """
    for retry in (False, True):
        low = high = offset
        for part, size in zip(parts, shape, strict=True):
            first, last = _range(0, part, size)
            low, high = low + first, high + last
        if _fits(low, high, 32):
            return offset, [part.long() if isinstance(part, torch.Tensor) else part for part in parts]
        varying = [i for i, part in enumerate(parts) if part is not None]
        if len(varying) == 1:
            at = varying[0]
            vector = _vector(offset, parts[at], shape[at], 32)
            return 0, [vector if i == at else None for i in range(len(parts))]
        if not retry:
            parts = [
                _vector(0, part, size, 32) if part is not None else None
                for part, size in zip(parts, shape, strict=True)
            ]
            offset = wrap(offset, 32)
    raise SimulationError(
        f"index arithmetic in 32 bits reaches {low if low < -(1 << 31) else high} and wraps: "
        "widen an operand to int64 first"
    )


def rem_part(offset: int, part: Part, size: int, divisor: int, bits: int) -> tuple[int, Part]:
    """`(offset + part) % divisor` (truncating); keeps the stride where nothing wraps."""
    if isinstance(part, int) and divisor > 0:
        first, last = _range(offset, part, size)
        if first >= 0 and first // divisor == last // divisor and _fits(first, last, bits):
            return offset % divisor, part
    vector = _vector(offset, part, size, bits)
    return 0, torch.fmod(vector, divisor) if divisor else vector


def div_part(offset: int, part: Part, size: int, divisor: int, bits: int) -> tuple[int, Part]:
    """`(offset + part) / divisor` (truncating); -1 for a zero divisor."""
    if not divisor:
        return -1, 0
    if isinstance(part, int) and divisor > 0:
        first, last = _range(offset, part, size)
        if first >= 0 and first // divisor == last // divisor and _fits(first, last, bits):
            return first // divisor, 0
    vector = _vector(offset, part, size, bits)
    return 0, -vector if divisor == -1 else torch.div(vector, divisor, rounding_mode="trunc")


_COMPARE = {
    "eq": torch.eq,
    "ne": torch.ne,
    "slt": torch.lt,
    "sle": torch.le,
    "sgt": torch.gt,
    "sge": torch.ge,
}


def compare_part(predicate: str, left: int, a: Part, right: int, b: Part, size: int, bits: int) -> MaskPart:
    """`left + a <predicate> right + b` along one dimension, in integers of `bits`."""
    if isinstance(a, torch.Tensor) or isinstance(b, torch.Tensor):
        return _COMPARE[predicate](_vector(left, a, size, bits), _vector(right, b, size, bits))
    if not (_fits(*_range(left, a, size), bits) and _fits(*_range(right, b, size), bits)):
        return _COMPARE[predicate](_vector(left, a, size, bits), _vector(right, b, size, bits))
    offset, part = left - right, (a or 0) - (b or 0)
    match predicate:
        case "slt":
            low, high = _below(offset, part, size)
        case "sle":
            low, high = _below(offset - 1, part, size)
        case "sgt":
            low, high = _below(-offset, -part, size)
        case "sge":
            low, high = _below(-offset - 1, -part, size)
        case _:
            return _COMPARE[predicate](torch.arange(size) * part + offset, 0)
    return (low, high) if low < high else (0, 0)


def _below(offset: int, stride: int, size: int) -> tuple[int, int]:
    """The range of i in [0, size) with offset + stride * i < 0."""
    if stride == 0:
        return (0, size) if offset < 0 else (0, 0)
    if stride > 0:
        return 0, min(size, max(0, -(offset // stride)))
    return _first_below(offset, stride), size


def _first_below(offset: int, stride: int) -> int:
    """The least i >= 0 with offset + stride * i < 0, for a negative stride."""
    return 0 if offset < 0 else offset // -stride + 1


def and_parts(a: MaskPart, b: MaskPart, size: int) -> MaskPart:
    """Both masks along a dimension of `size`."""
    if a is None or b is None:
        return a if b is None else b
    if isinstance(a, tuple) and isinstance(b, tuple):
        low, high = max(a[0], b[0]), min(a[1], b[1])
        return (low, high) if low < high else (0, 0)
    return mask_tensor([a], [size]) & mask_tensor([b], [size])


def where_part(condition: bool, part: MaskPart) -> MaskPart:
    """`part` under a condition that is the same for all elements."""
    return part if condition else (0, 0)


def first_of(part: Part) -> int:
    """The first element of a part."""
    return int(part[0]) if isinstance(part, torch.Tensor) else 0


def spread_part(part: tuple[int, int] | torch.Tensor, size: int) -> tuple[int, int]:
    """A condition on one element as a condition on `size` of them."""
    holds = part[0] == 0 and part[1] > 0 if isinstance(part, tuple) else bool(part.reshape(-1)[0])
    return (0, size) if holds else (0, 0)
