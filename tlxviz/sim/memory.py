"""Global memory: tiles and elements of it.

A tile whose index has nothing but strides for its parts (see `parts`) is a strided view of memory: no index is ever
computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from tlxviz.sim.errors import MemoryAccessError
from tlxviz.sim.parts import MaskPart, Part, indices, mask_tensor


def _strided(parts: Sequence[Part]) -> list[int] | None:
    """Strides of a tile whose parts are all non-negative strides, else None."""
    strides: list[int] = []
    for value in parts:
        if value is None:
            strides.append(0)
        elif isinstance(value, int) and value >= 0:
            strides.append(value)
        else:
            return None
    return strides


def _box(mask: Sequence[MaskPart], shape: Sequence[int]) -> list[tuple[int, int]] | None:
    """(low, high) per dimension of a mask that is a box, else None."""
    box: list[tuple[int, int]] = []
    for part, size in zip(mask, shape, strict=True):
        if part is None:
            box.append((0, size))
        elif isinstance(part, tuple):
            box.append(part)
        else:
            return None
    return box


def _out_of_bounds(what: str, base: torch.Tensor, low: int, high: int) -> MemoryAccessError:
    name = str(base.dtype).removeprefix("torch.")
    return MemoryAccessError(
        f"{what} of {name} elements {low} to {high} of an allocation that has {base.numel()}: "
        "mask the access or mend the offsets"
    )


def tile_view(
    what: str, base: torch.Tensor, offset: int, strides: Sequence[int], box: Sequence[tuple[int, int]]
) -> torch.Tensor:
    """The part of a strided tile that lies in `box`, as a view of memory."""
    start, last = offset, 0
    shape: list[int] = []
    for (low, high), stride in zip(box, strides, strict=True):
        shape.append(high - low)
        start += low * stride
        last += (high - low - 1) * stride
    if start < 0 or start + last >= base.numel():
        raise _out_of_bounds(what, base, start, start + last)
    return base.as_strided(shape, strides, start)


def load_tile(
    base: torch.Tensor,
    offset: int,
    parts: Sequence[Part],
    shape: Sequence[int],
    mask: Sequence[MaskPart] | torch.Tensor | None,
    other: Any,
) -> torch.Tensor:
    """`tt.load` of a tile; `other` is a scalar or a tensor, zero where the kernel gives none."""
    strides = _strided(parts)
    box = None
    if strides is not None and not isinstance(mask, torch.Tensor):
        box = [(0, size) for size in shape] if mask is None else _box(mask, shape)
    if strides is None or box is None:
        dense = mask_tensor(mask, shape) if mask is not None and not isinstance(mask, torch.Tensor) else mask
        return load_dense(base, indices(offset, parts, shape), dense, other)
    if all(high - low == size for (low, high), size in zip(box, shape, strict=True)):
        return tile_view("load", base, offset, strides, box).clone()
    result = other.clone() if isinstance(other, torch.Tensor) else torch.full(list(shape), other or 0, dtype=base.dtype)
    if all(low < high for low, high in box):
        result[tuple(slice(low, high) for low, high in box)] = tile_view("load", base, offset, strides, box)
    return result


def copy_tile(
    target: torch.Tensor,
    base: torch.Tensor,
    offset: int,
    parts: Sequence[Part],
    mask: Sequence[MaskPart] | torch.Tensor | None,
    other: Any,
) -> None:
    """Copies a tile of global memory into shared memory, converting where that is held in f32."""
    shape = target.shape
    strides = _strided(parts)
    if strides is not None and not isinstance(mask, torch.Tensor):
        box = [(0, size) for size in shape] if mask is None else _box(mask, shape)
        if box is not None and all(high - low == size for (low, high), size in zip(box, shape, strict=True)):
            target.copy_(tile_view("load", base, offset, strides, box))
            return
    target.copy_(load_tile(base, offset, parts, shape, mask, other))


def store_tile(
    base: torch.Tensor,
    offset: int,
    parts: Sequence[Part],
    shape: Sequence[int],
    value: Any,
    mask: Sequence[MaskPart] | torch.Tensor | None,
) -> None:
    """`tt.store` of a tile."""
    strides = _strided(parts)
    box = None
    if strides is not None and not isinstance(mask, torch.Tensor):
        box = [(0, size) for size in shape] if mask is None else _box(mask, shape)
    if (
        strides is None
        or box is None
        or any(stride == 0 and size > 1 for stride, size in zip(strides, shape, strict=True))
    ):
        dense = mask_tensor(mask, shape) if mask is not None and not isinstance(mask, torch.Tensor) else mask
        store_dense(base, indices(offset, parts, shape), value, dense)
        return
    if any(low >= high for low, high in box):
        return
    view = tile_view("store", base, offset, strides, box)
    if isinstance(value, torch.Tensor) and value.dim():
        if value.shape != view.shape:
            value = value[tuple(slice(low, high) for low, high in box)]
        view.copy_(value)
    else:
        view.fill_(value)


def check_offsets(what: str, base: torch.Tensor, chosen: torch.Tensor) -> None:
    """Refuses offsets outside the allocation; `what` is the verb of the message."""
    if chosen.numel():
        low, high = (int(bound) for bound in torch.aminmax(chosen))
        if low < 0 or high >= base.numel():
            raise _out_of_bounds(what, base, low, high)


def load_dense(base: torch.Tensor, offsets: torch.Tensor, mask: torch.Tensor | None, other: Any) -> torch.Tensor:
    """`tt.load` by an index tensor."""
    if mask is None:
        check_offsets("load", base, offsets)
        return base[offsets]
    mask = mask.expand(offsets.shape)
    safe = torch.where(mask, offsets, 0)
    if bool(mask.any()):
        check_offsets("load", base, safe)
    else:
        return (
            other.clone()
            if isinstance(other, torch.Tensor)
            else torch.full(offsets.shape, other or 0, dtype=base.dtype)
        )
    loaded = base[safe]
    filler = other if isinstance(other, torch.Tensor) else torch.tensor(other or 0, dtype=base.dtype)
    return torch.where(mask, loaded, filler)


def store_dense(base: torch.Tensor, offsets: torch.Tensor, value: Any, mask: torch.Tensor | None) -> None:
    """`tt.store` by an index tensor."""
    shape = offsets.shape
    if not isinstance(value, torch.Tensor):
        value = torch.full(shape, value, dtype=base.dtype)
    value = value.expand(shape).to(base.dtype)
    if mask is not None:
        mask = mask.expand(shape)
        offsets, value = offsets[mask], value[mask]
    check_offsets("store", base, offsets)
    base[offsets.reshape(-1)] = value.reshape(-1)


def load_scalar(base: torch.Tensor, offset: int) -> Any:
    """One element."""
    if not 0 <= offset < base.numel():
        raise _out_of_bounds("load", base, offset, offset)
    return base[offset].item()


def store_scalar(base: torch.Tensor, offset: int, value: Any) -> None:
    """One element."""
    if not 0 <= offset < base.numel():
        raise _out_of_bounds("store", base, offset, offset)
    base[offset] = value
