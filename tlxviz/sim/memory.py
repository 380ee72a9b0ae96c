"""Global memory: pointers as (flat tensor, element offset), tiles of it, and TMA descriptors.

A tile whose index has nothing but strides for its parts (see `parts`) is a strided view of memory: no index is ever
computed.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

import torch

from tlxviz.sim.dtypes import cast
from tlxviz.sim.errors import MemoryAccessError, SimulationError
from tlxviz.sim.parts import MaskPart, Part, indices, mask_tensor


def flat(tensor: torch.Tensor) -> torch.Tensor:
    """All of the storage that `tensor` is a view of, as one dimension of its dtype."""
    storage = tensor.untyped_storage()
    return torch.empty(0, dtype=tensor.dtype).set_(storage, 0, (storage.nbytes() // tensor.element_size(),), (1,))


def _strided(part: Sequence[Part], shape: Sequence[int]) -> list[int] | None:
    """Strides of a tile whose parts are all non-negative strides, else None."""
    strides: list[int] = []
    for value in part:
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
    strides = _strided(parts, shape)
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
    strides = _strided(parts, shape)
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
    strides = _strided(parts, shape)
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


def _checked(what: str, base: torch.Tensor, chosen: torch.Tensor) -> None:
    if chosen.numel():
        low, high = (int(bound) for bound in torch.aminmax(chosen))
        if low < 0 or high >= base.numel():
            raise _out_of_bounds(what, base, low, high)


def load_dense(base: torch.Tensor, offsets: torch.Tensor, mask: torch.Tensor | None, other: Any) -> torch.Tensor:
    """`tt.load` by an index tensor."""
    if mask is None:
        _checked("load", base, offsets)
        return base[offsets]
    mask = mask.expand(offsets.shape)
    safe = torch.where(mask, offsets, 0)
    if bool(mask.any()):
        _checked("load", base, safe)
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
    _checked("store", base, offsets)
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


class AddressSpace:
    """The allocations that a launch can reach, for pointers that travel as integers."""

    def __init__(self, tensors: Sequence[torch.Tensor]) -> None:
        storages = {
            tensor.untyped_storage().data_ptr(): tensor.untyped_storage() for tensor in tensors if tensor.numel()
        }
        self._starts = sorted(storages)
        self._storages = [storages[start] for start in self._starts]

    def resolve(self, address: int, dtype: torch.dtype) -> tuple[torch.Tensor, int]:
        """The allocation that holds `address`, flat in `dtype`, and the element offset within it."""
        at = bisect_right(self._starts, address) - 1
        if at < 0 or address >= self._starts[at] + self._storages[at].nbytes():
            raise MemoryAccessError(
                f"address {address:#x} belongs to none of the tensors that the launch was given: pass the tensor "
                "itself, or keep it alive in an argument"
            )
        storage = self._storages[at]
        base = torch.empty(0, dtype=dtype)
        base.set_(storage, 0, (storage.nbytes() // dtype.itemsize,), (1,))
        return base, (address - self._starts[at]) // dtype.itemsize


def address_of(base: torch.Tensor, offset: int) -> int:
    """The address of an element, as `tt.ptr_to_int` gives it."""
    return base.data_ptr() + offset * base.element_size()


def bitcast_pointer(base: torch.Tensor, offset: int, dtype: torch.dtype) -> tuple[torch.Tensor, int]:
    """A pointer to the same place with another pointee."""
    if base.dtype == dtype:
        return base, offset
    storage = base.untyped_storage()
    other = torch.empty(0, dtype=dtype)
    other.set_(storage, 0, (storage.nbytes() // dtype.itemsize,), (1,))
    return other, offset * base.element_size() // dtype.itemsize


def bitcast_pointers(
    base: torch.Tensor, offsets: torch.Tensor, dtype: torch.dtype
) -> tuple[torch.Tensor, torch.Tensor]:
    """Pointers to the same places with another pointee."""
    other, _ = bitcast_pointer(base, 0, dtype)
    return other, torch.div(offsets * base.element_size(), dtype.itemsize, rounding_mode="floor")


def select_pointers(
    condition: torch.Tensor, first: torch.Tensor, x: torch.Tensor, second: torch.Tensor, y: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Pointers chosen by element.

    Raises:
        SimulationError: some point into one allocation and some into another.
    """
    if first.data_ptr() != second.data_ptr():
        if bool(condition.all()):
            return first, x
        if bool(condition.any()):
            raise SimulationError("a tensor of pointers into two allocations: select between loaded values instead")
        return second, y
    return first, torch.where(condition, x, y)


class TileStore:
    """Tiles that were read before, converted to the type in which shared memory holds them, up to a number of bytes."""

    __slots__ = ("bytes_left",)

    def __init__(self, bytes_left: int = 1 << 29) -> None:
        self.bytes_left = bytes_left


class TileDescriptor:
    """A TMA descriptor: a tensor in global memory and the block that one copy moves.

    Args:
        base: All of the memory, flat.
        offset: Element of `base` at which the tensor starts.
        shape: Of the tensor.
        strides: In elements.
        block: Shape of the block.
        padding: What lies outside the tensor reads as.
        store: Where tiles may be kept, for memory that does not change during the launch; None for other memory.
    """

    __slots__ = ("_tiles", "base", "block", "offset", "padding", "shape", "store_of_tiles", "strides")

    def __init__(
        self,
        base: torch.Tensor,
        offset: int,
        shape: Sequence[int],
        strides: Sequence[int],
        block: Sequence[int],
        padding: float = 0.0,
        store: TileStore | None = None,
    ) -> None:
        self.base = base
        self.offset = offset
        self.shape = tuple(shape)
        self.strides = tuple(strides)
        self.block = tuple(block)
        self.padding = padding
        self.store_of_tiles = store
        self._tiles: dict[Any, torch.Tensor] = {}

    def _clip(self, at: Sequence[int]) -> tuple[list[int], list[slice], int, bool]:
        shape: list[int] = []
        inside: list[slice] = []
        offset = self.offset
        whole = True
        for start, size, block, stride in zip(at, self.shape, self.block, self.strides, strict=True):
            low = start if start > 0 else 0
            high = start + block
            if high > size:
                high = size
            if high - low != block:
                whole = False
                if high < low:
                    high = low
            shape.append(high - low)
            inside.append(slice(low - start, high - start))
            offset += low * stride
        return shape, inside, offset, whole

    def load(self, at: tuple[int, ...], target: torch.Tensor) -> None:
        """Fills shared memory with the block at `at`; what lies outside the tensor reads as the padding."""
        tile = self.kept(at, target)
        if tile is None:
            tile = self._read(at, target)
        target.copy_(tile)

    def kept(self, at: tuple[int, ...], target: torch.Tensor) -> torch.Tensor | None:
        """The tile at `at` in the type and shape of `target`, if it may be kept; nobody may write it."""
        tile = self._tiles.get(at)
        if tile is not None and tile.dtype == target.dtype:
            return tile
        store = self.store_of_tiles
        size = target.numel() * target.element_size()
        if store is None or store.bytes_left < size:
            return None
        store.bytes_left -= size
        tile = self._tiles[at] = self._read(at, target).to(target.dtype).contiguous()
        return tile

    def _read(self, at: tuple[int, ...], target: torch.Tensor) -> torch.Tensor:
        shape, inside, offset, whole = self._clip(at)
        if whole:
            return self.base.as_strided(self.block, self.strides, offset).reshape(target.shape)
        padded = torch.full(self.block, self.padding, dtype=target.dtype)
        if 0 not in shape:
            padded[tuple(inside)] = self.base.as_strided(shape, self.strides, offset).to(target.dtype)
        return padded.reshape(target.shape)

    def read(self, at: tuple[int, ...]) -> torch.Tensor:
        """The block at `at` as a new tensor."""
        result = torch.empty(self.block, dtype=self.base.dtype)
        self.load(at, result)
        return result

    def store(self, at: Sequence[int], source: torch.Tensor) -> None:
        """Writes a block; what lies outside the tensor is dropped."""
        shape, inside, offset, whole = self._clip(at)
        if 0 in shape:
            return
        if source.shape != self.block:
            source = source.reshape(self.block)
        view = self.base.as_strided(shape, self.strides, offset)
        view.copy_(source if whole else source[tuple(inside)])

    def reduce(self, at: Sequence[int], source: torch.Tensor, kind: str) -> None:
        """Combines a block with what is there."""
        shape, inside, offset, _ = self._clip(at)
        if 0 in shape:
            return
        view = self.base.as_strided(shape, self.strides, offset)
        value = cast(source.reshape(self.block)[tuple(inside)], self.base.dtype)
        view.copy_(combine(kind, view, value))

    def gather(self, rows: torch.Tensor, column: int, target: torch.Tensor) -> None:
        """Fills shared memory with one block row per entry of `rows`, from `column` on."""
        width = self.block[-1]
        flat_target = target.view(-1, width)
        for number, row in enumerate(rows.tolist()):
            piece = TileDescriptor(self.base, self.offset, self.shape, self.strides, (1, width), self.padding)
            piece.load((row, column), flat_target[number : number + 1])

    def scatter(self, rows: torch.Tensor, column: int, source: torch.Tensor) -> None:
        """The reverse of `gather`."""
        width = self.block[-1]
        flat_source = source.reshape(-1, width)
        for number, row in enumerate(rows.tolist()):
            piece = TileDescriptor(self.base, self.offset, self.shape, self.strides, (1, width), self.padding)
            piece.store((row, column), flat_source[number : number + 1])


def combine(kind: str, old: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """One atomic or TMA reduction: `add`, `fadd`, `max`, `min`, `umax`, `umin`, `and`, `or`, `xor`, `exch`."""
    match kind:
        case "add" | "fadd":
            return old + value
        case "max":
            return torch.maximum(old, value)
        case "min":
            return torch.minimum(old, value)
        case "and":
            return old & value
        case "or":
            return old | value
        case "xor":
            return old ^ value
        case "exch":
            return value
        case "umax" | "umin":
            bits = old.element_size() * 8
            flip = -(1 << (bits - 1))
            better = (value ^ flip) > (old ^ flip) if kind == "umax" else (value ^ flip) < (old ^ flip)
            return torch.where(better, value, old)
        case "inc":
            return torch.where(old >= value, torch.zeros_like(old), old + 1)
        case "dec":
            return torch.where((old == 0) | (old > value), value, old - 1)
        case _:
            raise SimulationError(f"atomic operation {kind!r} is not known: expected add, max, min, and, or, xor, exch")


def atomic_dense(
    kind: str, base: torch.Tensor, offsets: torch.Tensor, value: torch.Tensor, mask: torch.Tensor | None
) -> torch.Tensor:
    """`tt.atomic_rmw` of a tensor, element by element where places repeat; returns what was there."""
    shape = offsets.shape
    value = value.expand(shape).to(base.dtype)
    old = torch.zeros(shape, dtype=base.dtype)
    chosen = torch.ones(shape, dtype=torch.bool) if mask is None else mask.expand(shape)
    places, values = offsets[chosen], value[chosen]
    _checked("atomic", base, places)
    if places.unique().numel() == places.numel():
        before = base[places]
        base[places] = combine(kind, before, values)
        old[chosen] = before
        return old
    seen: list[torch.Tensor] = []
    for place, item in zip(places.tolist(), values, strict=True):
        before = base[place].clone()
        base[place] = combine(kind, before, item)
        seen.append(before)
    old[chosen] = torch.stack(seen)
    return old
