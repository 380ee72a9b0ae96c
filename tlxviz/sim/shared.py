"""Shared memory as the generated code sees it: views whose tensors are made once and found again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from tlxviz.sim.dtypes import cast


class SharedView:
    """A view of one shared-memory allocation.

    `tensor` is None when values are off. `slot` is the leading index of a multi-buffered allocation, -1 for the whole.
    A buffer of narrow floats that nobody reinterprets is held in f32, which is exact and what the tensor core model reads.
    """

    __slots__ = ("_views", "buffer", "shape", "slot", "slots", "tensor")

    tensor: torch.Tensor
    slots: list[SharedView]

    def __init__(self, buffer: int, shape: Sequence[int], tensor: torch.Tensor | None, slot: int = -1) -> None:
        self.buffer = buffer
        self.shape = tuple(shape)
        self.tensor = tensor  # type: ignore[assignment]
        self.slot = slot
        self._views: dict[Any, SharedView] = {}

    def __getattr__(self, name: str) -> list[SharedView]:
        if name != "slots":
            raise AttributeError(name)
        whole = self.slot < 0
        self.slots = [
            SharedView(self.buffer, self.shape[1:], self._part(index), index if whole else self.slot)
            for index in range(self.shape[0])
        ]
        return self.slots

    def _part(self, index: int) -> torch.Tensor | None:
        return None if self.tensor is None else self.tensor[index]

    def _view(self, key: Any, shape: Sequence[int], tensor: torch.Tensor | None) -> SharedView:
        view = self._views[key] = SharedView(self.buffer, shape, tensor, self.slot)
        return view

    def transposed(self, order: tuple[int, ...]) -> SharedView:
        """The same elements with dimensions in another order."""
        found = self._views.get(order)
        if found is not None:
            return found
        shape = [self.shape[axis] for axis in order]
        return self._view(order, shape, None if self.tensor is None else self.tensor.permute(order))

    def subslice(self, offsets: tuple[int, ...], shape: tuple[int, ...]) -> SharedView:
        """A box of the elements."""
        key = ("subslice", offsets, shape)
        found = self._views.get(key)
        if found is not None:
            return found
        tensor = self.tensor
        if tensor is not None:
            tensor = tensor[tuple(slice(low, low + size) for low, size in zip(offsets, shape, strict=True))]
        return self._view(key, shape, tensor)

    def reshaped(self, shape: tuple[int, ...]) -> SharedView:
        """The same elements in another shape."""
        key = ("reshape", shape)
        found = self._views.get(key)
        if found is not None:
            return found
        return self._view(key, shape, None if self.tensor is None else self.tensor.view(shape))

    def reinterpreted(self, shape: tuple[int, ...], dtype: torch.dtype) -> SharedView:
        """The same bytes as another type and shape."""
        key = ("reinterpret", shape, dtype)
        found = self._views.get(key)
        if found is not None:
            return found
        tensor = self.tensor
        if tensor is not None:
            wanted = dtype.itemsize
            for size in shape:
                wanted *= size
            tensor = tensor.reshape(-1).view(torch.uint8)[:wanted].view(dtype).view(shape)
        return self._view(key, shape, tensor)

    def store(self, value: torch.Tensor) -> None:
        """Writes all elements."""
        tensor = self.tensor
        if tensor.element_size() == 1 and tensor.is_floating_point():
            value = cast(value, tensor.dtype)
        tensor.copy_(value)


def allocate(buffer: int, shape: Sequence[int], dtype: torch.dtype, values: bool) -> SharedView:
    """A new allocation, zeroed."""
    return SharedView(buffer, shape, torch.zeros(list(shape), dtype=dtype) if values else None)
