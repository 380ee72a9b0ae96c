"""Tensor memory as the generated code sees it: views of lanes and 32-bit columns, whatever type the elements have.

All views of an allocation are views of the same cells, so that what is written as one type is read as another: a
product's fp32 columns hold packed fp16 afterwards, as on the hardware.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tlxviz.sim.dtypes import cast
from tlxviz.sim.errors import MemoryAccessError
from tlxviz.sim.tensor_layout import COLUMN_BYTES, LANES, Axes, Piece, TensorLayout, part

_MATRIX = 2
"""Dimensions of an allocation without slots."""


class TensorMemoryView:
    """A view of one allocation of tensor memory.

    `cells` is None when values are off. `slot` is which of the allocation's slots the view is in, -1 for the whole, and
    where the allocation has no slots.
    """

    __slots__ = (
        "_axes", "_origin", "_span", "_steps", "_views", "_window", "buffer", "cells", "dtype", "home", "shape", "slot",
    )  # fmt: skip

    def __init__(
        self,
        buffer: int,
        shape: tuple[int, ...],
        dtype: torch.dtype,
        cells: torch.Tensor | None,
        axes: Axes,
        *,
        origin: tuple[int, int] = (0, 0),
        slot: int = -1,
        span: int = 0,
        steps: tuple[Callable[[TensorMemoryView], TensorMemoryView], ...] = (),
        home: Any = None,
    ) -> None:
        self.buffer = buffer
        self.shape = shape
        self.dtype = dtype
        self.cells = cells
        self.slot = slot
        self.home = home
        """In a cluster: the CTA that it belongs to."""
        self._axes = axes
        self._origin = origin
        """Lane and element along it of the first element."""
        self._span = span
        """Columns of a slot of the allocation; 0 where it has none."""
        self._steps = steps
        """How it is made from its allocation."""
        self._views: dict[Any, TensorMemoryView] = {}
        self._window: torch.Tensor | None = None

    def _view(
        self,
        key: Any,
        again: Callable[[TensorMemoryView], TensorMemoryView],
        shape: tuple[int, ...],
        axes: Axes,
        *,
        off: tuple[int, int] = (0, 0),
        dtype: torch.dtype | None = None,
        slot: int | None = None,
    ) -> TensorMemoryView:
        """A view of this view, `off` so many lanes and elements of the new type."""
        lane, element = self._origin
        if dtype is not None:
            element = element * self.dtype.itemsize // dtype.itemsize
        found = self._views[key] = TensorMemoryView(
            self.buffer,
            shape,
            self.dtype if dtype is None else dtype,
            self.cells,
            axes,
            origin=(lane + off[0], element + off[1]),
            slot=self.slot if slot is None else slot,
            span=self._span,
            steps=(*self._steps, again),
            home=self.home,
        )
        return found

    def at(self, index: int, layout: TensorLayout | None = None) -> TensorMemoryView:
        """One slot, in a layout of its own where one is given: then slots are as far apart as that is wide."""
        key = index if layout is None else (index, layout)
        found = self._views.get(key)
        if found is None:
            (piece,), *rest = self._axes
            off, axes = (index * piece.lanes, index * piece.elements), tuple(rest)
            if layout is not None:
                off, axes = (0, index * layout.columns * COLUMN_BYTES // self.dtype.itemsize), layout.axes
            # of the allocation, in which a view as another type may have other slots
            column = (self._origin[1] + off[1]) * self.dtype.itemsize // COLUMN_BYTES
            slot = column // self._span if self._span else self.slot
            found = self._view(key, lambda view: view.at(index, layout), self.shape[1:], axes, off=off, slot=slot)
        return found

    def transposed(self, order: tuple[int, ...]) -> TensorMemoryView:
        """The same elements with dimensions in another order."""
        found = self._views.get(order)
        if found is None:
            shape, axes = tuple(self.shape[axis] for axis in order), tuple(self._axes[axis] for axis in order)
            found = self._view(order, lambda view: view.transposed(order), shape, axes)
        return found

    def columns(self, start: int, count: int) -> TensorMemoryView:
        """`count` elements of each row from `start` on."""
        key = ("columns", start, count)
        found = self._views.get(key)
        if found is None:
            *leading, last = self._axes
            pieces, lanes, elements = part(last, start, count)
            shape, axes = (*self.shape[:-1], count), (*leading, pieces)
            found = self._view(key, lambda view: view.columns(start, count), shape, axes, off=(lanes, elements))
        return found

    def reinterpreted(self, layout: TensorLayout, dtype: torch.dtype) -> TensorMemoryView:
        """The same columns, from the first on, as another type and shape."""
        key = (layout, dtype)
        found = self._views.get(key)
        if found is None:
            again = lambda view: view.reinterpreted(layout, dtype)  # noqa: E731
            found = self._view(key, again, layout.shape, layout.axes, dtype=dtype)
        return found

    def within(self, allocation: TensorMemoryView) -> TensorMemoryView:
        """The same view of another allocation of the same kind."""
        view = allocation
        for step in self._steps:
            view = step(view)
        return view

    def twin(self) -> TensorMemoryView:
        """A new allocation like this one."""
        cells = None if self.cells is None else torch.zeros_like(self.cells)
        return TensorMemoryView(self.buffer, self.shape, self.dtype, cells, self._axes, span=self._span)

    def outline(self) -> tuple[tuple[int, ...], tuple[int, ...], int]:
        """How the view lies in tensor memory if its allocation began there: how often it goes on in each direction, how
        far, and where it begins. Bytes are counted along the lanes first: those of a column follow on each other."""
        size = self.dtype.itemsize
        lane, element = self._origin
        pieces = [piece for axis in self._axes for piece in axis]
        strides = (LANES, *(piece.lanes + piece.elements * size * LANES for piece in pieces))
        return (size, *(piece.count for piece in pieces)), strides, lane + element * size * LANES

    def _opened(self) -> torch.Tensor:
        """The cells of the view, with a dimension for each piece, or for several that go on from each other."""
        assert self.cells is not None
        found = self._window
        if found is None:
            typed = self.cells.view(self.dtype)
            width = typed.shape[1]
            sizes: list[int] = []
            strides: list[int] = []
            for pieces in self._axes:
                for piece in _joined(pieces, width):
                    sizes.append(piece.count)
                    strides.append(piece.lanes * width + piece.elements)
            lane, element = self._origin
            start = lane * width + element
            last = start + sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True))
            if last >= typed.numel():
                raise MemoryAccessError("a view of tensor memory that ends behind its allocation")
            found = self._window = typed.as_strided(sizes, strides, start)
        return found

    @property
    def tensor(self) -> torch.Tensor:
        """The elements: the cells themselves, or a copy where a dimension jumps."""
        return self._opened().reshape(self.shape)

    @property
    def plain(self) -> torch.Tensor | None:
        """The cells themselves as a matrix; None where a dimension jumps."""
        opened = self._opened()
        return opened if opened.shape == self.shape else None

    def store(self, value: torch.Tensor) -> None:
        """Writes all elements."""
        opened = self._opened()
        if opened.element_size() == 1 and opened.is_floating_point():
            value = cast(value, opened.dtype)
        opened.copy_(value.expand(self.shape).reshape(opened.shape))


def _joined(pieces: tuple[Piece, ...], width: int) -> list[Piece]:
    """Pieces of which each is as long as a step of the one before count as one."""
    found: list[Piece] = []
    for piece in pieces:
        if found and piece.count == 1:
            continue
        if found:
            before = found[-1]
            step = piece.lanes * width + piece.elements
            if before.count == 1 or before.lanes * width + before.elements == piece.count * step:
                found[-1] = Piece(before.count * piece.count, piece.lanes, piece.elements)
                continue
        found.append(piece)
    return found


def allocate_tensor(buffer: int, layout: TensorLayout, dtype: torch.dtype, values: bool) -> TensorMemoryView:
    """A new allocation, zeroed."""
    cells = torch.zeros((LANES, layout.columns), dtype=torch.int32) if values else None
    span = layout.columns // layout.shape[0] if len(layout.shape) > _MATRIX else 0
    return TensorMemoryView(buffer, layout.shape, dtype, cells, layout.axes, span=span)
