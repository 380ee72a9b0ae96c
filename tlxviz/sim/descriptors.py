"""TMA descriptors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from tlxviz.sim.atomics import combine
from tlxviz.sim.dtypes import cast
from tlxviz.sim.engine import Cta
from tlxviz.sim.errors import MemoryAccessError


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

    __slots__ = ("base", "block", "made_at", "offset", "padding", "shape", "store_of_tiles", "strides", "tiles")

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
        self.made_at: tuple[int, int] | None = None
        """Where in memory the kernel has written it: see `find_descriptor`; None where it has not."""
        self.tiles: dict[Any, torch.Tensor] = {}
        """Tiles that are kept, by where they are."""

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
        tile = self.tiles.get(at)
        if tile is not None and tile.dtype == target.dtype:
            return tile
        store = self.store_of_tiles
        size = target.numel() * target.element_size()
        if store is None or store.bytes_left < size:
            return None
        store.bytes_left -= size
        tile = self.tiles[at] = self._read(at, target).to(target.dtype).contiguous()
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


def make_descriptor(
    base: torch.Tensor, offset: int, box: Sequence[int], dims: Sequence[int], strides: Sequence[int], fill: int
) -> TileDescriptor:
    """What `tensormap_create` writes: dimensions from the innermost on, strides in bytes of all but the innermost."""
    size = base.element_size()
    return TileDescriptor(
        base,
        offset,
        tuple(reversed(dims)),
        (*(stride // size for stride in reversed(strides)), 1),
        tuple(reversed(box)),
        math.nan if fill else 0.0,
    )


def find_descriptor(cta: Cta, base: torch.Tensor, offset: int, block: tuple[int, ...]) -> TileDescriptor:
    """The descriptor that was made at a place in memory."""
    found = cta.tensormaps.get((base.data_ptr(), offset))
    if found is None:
        raise MemoryAccessError(
            "a TMA descriptor is used where none was made: make_tensor_descriptor has to come first"
        )
    descriptor = TileDescriptor(found.base, found.offset, found.shape, found.strides, block, found.padding)
    descriptor.made_at = base.data_ptr(), offset
    return descriptor
