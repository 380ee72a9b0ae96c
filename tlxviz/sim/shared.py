"""Shared memory as the generated code sees it: views whose tensors are made once and found again."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from tlxviz.sim.descriptors import TileDescriptor
from tlxviz.sim.dtypes import cast


class SharedView:
    """A view of one shared-memory allocation.

    `tensor` is None when values are off. `slot` is the leading index of a multi-buffered allocation, -1 for the whole.
    A buffer of narrow floats that nobody reinterprets is held in f32, which is exact and what the tensor core model
    reads. A slot that only TMA loads write may stand for a tile that its descriptor keeps, instead of a copy of it.
    """

    __slots__ = ("_derive", "_own", "_steps", "_views", "_whole", "buffer", "home", "shape", "slot", "slots", "tensor")

    tensor: torch.Tensor | None
    slots: list[SharedView]

    def __init__(
        self,
        buffer: int,
        shape: Sequence[int],
        tensor: torch.Tensor | None,
        slot: int = -1,
        derive: Callable[[torch.Tensor], torch.Tensor] | None = None,
        steps: tuple[Callable[[SharedView], SharedView], ...] = (),
        home: Any = None,
        whole: tuple[tuple[int, ...], torch.dtype] = ((), torch.uint8),
    ) -> None:
        self.buffer = buffer
        self.shape = tuple(shape)
        self.tensor = tensor
        self._own = tensor
        self.home = home
        """In a cluster: the CTA that it belongs to."""
        self.slot = slot
        self._derive = derive
        self._whole = whole
        """Shape and type of its allocation."""
        self._steps = steps
        """How it is made from its allocation, which it must not hold: nobody collects cycles now."""
        self._views: dict[Any, SharedView] = {}

    def __getattr__(self, name: str) -> list[SharedView]:
        if name != "slots":
            raise AttributeError(name)
        whole = self.slot < 0
        self.slots = [
            SharedView(
                self.buffer,
                self.shape[1:],
                self._part(index),
                index if whole else self.slot,
                steps=(*self._steps, lambda view, index=index: view.slots[index]),
                home=self.home,
                whole=self._whole,
            )
            for index in range(self.shape[0])
        ]
        return self.slots

    def _part(self, index: int) -> torch.Tensor | None:
        return None if self.tensor is None else self.tensor[index]

    def _view(self, key: Any, shape: Sequence[int], derive: Callable[[torch.Tensor], torch.Tensor]) -> SharedView:
        found = self._views.get(key)
        if found is None:
            tensor = self.tensor
            derived = None if tensor is None else derive(tensor)
            steps = (*self._steps, lambda view: view._view(key, shape, derive))
            found = self._views[key] = SharedView(
                self.buffer, shape, derived, self.slot, derive, steps, self.home, self._whole
            )
        return found

    def within(self, allocation: SharedView) -> SharedView:
        """The same view of another allocation of the same kind."""
        view = allocation
        for step in self._steps:
            view = step(view)
        return view

    def outline(self) -> torch.Tensor:
        """A tensor without contents that lies in its storage as the view lies in its allocation."""
        shape, dtype = self._whole
        allocation = SharedView(self.buffer, shape, torch.empty(shape, dtype=dtype, device="meta"))
        return self.within(allocation).filled

    def twin(self) -> SharedView:
        """A new allocation like this one."""
        return allocate(self.buffer, *self._whole, self.tensor is not None)

    def transposed(self, order: tuple[int, ...]) -> SharedView:
        """The same elements with dimensions in another order."""
        return self._view(order, [self.shape[axis] for axis in order], lambda tensor: tensor.permute(order))

    def subslice(self, offsets: tuple[int, ...], shape: tuple[int, ...]) -> SharedView:
        """A box of the elements."""
        box = tuple(slice(low, low + size) for low, size in zip(offsets, shape, strict=True))
        return self._view(("subslice", offsets, shape), shape, lambda tensor: tensor[box])

    def reshaped(self, shape: tuple[int, ...]) -> SharedView:
        """The same elements in another shape."""
        return self._view(("reshape", shape), shape, lambda tensor: tensor.view(shape))

    def reinterpreted(self, shape: tuple[int, ...], dtype: torch.dtype) -> SharedView:
        """The same bytes as another type and shape."""
        size = math.prod(shape) * dtype.itemsize

        def derive(tensor: torch.Tensor) -> torch.Tensor:
            return tensor.reshape(-1).view(torch.uint8)[:size].view(dtype).view(shape)

        return self._view(("reinterpret", shape, dtype), shape, derive)

    def receive(self, descriptor: TileDescriptor, at: tuple[int, ...]) -> None:
        """A TMA load arrives in a slot that nothing else writes."""
        own = self._own
        assert own is not None
        tile = descriptor.kept(at, own)
        if tile is None:
            if self.tensor is not own:
                self.refer(own)
            descriptor.load(at, own)
        else:
            self.refer(tile)

    def refer(self, tensor: torch.Tensor) -> None:
        """Stands for `tensor` from now on, and so do the views of this view."""
        self.tensor = tensor
        for view in self._views.values():
            assert view._derive is not None
            view.refer(view._derive(tensor))

    @property
    def filled(self) -> torch.Tensor:
        """The elements, where values are on."""
        assert self.tensor is not None
        return self.tensor

    def store(self, value: torch.Tensor) -> None:
        """Writes all elements."""
        tensor = self.tensor
        assert tensor is not None
        if tensor.element_size() == 1 and tensor.is_floating_point():
            value = cast(value, tensor.dtype)
        tensor.copy_(value)


def allocate(buffer: int, shape: Sequence[int], dtype: torch.dtype, values: bool) -> SharedView:
    """A new allocation, zeroed."""
    contents = torch.zeros(list(shape), dtype=dtype) if values else None
    return SharedView(buffer, shape, contents, whole=(tuple(shape), dtype))
