"""Where tensors are, as a script sees it: all of them are in CPU memory, and here it is kept which are to be the GPU's.

The place is that of the storage, which views, parameters and whatever autograd makes of a tensor have in common. What
comes into being unseen (gradients, say) has no known place and counts as on the GPU: nothing false may be refused.
"""

from __future__ import annotations

from enum import Enum
from typing import Any
from weakref import ref

import torch

from tlxviz.launch import torch_internals
from tlxviz.launch.device.memory import DeviceMemory

CUDA = torch.device("cuda", 0)
CPU = torch.device("cpu")
STAND_IN = torch.device("cpu", 99)
"""CUDA in places that must hold a device of this machine, and from which its name is to be told; torch ignores the
index of a CPU."""


class Place(Enum):
    HOST = "host"
    PINNED = "pinned"
    """Host memory that the device can reach."""
    CUDA = "cuda"


ON_HOST = (Place.HOST, Place.PINNED)


class _Storage(ref[Any]):
    """A weak reference that says which entry ends with it, and how many bytes of the device are free then."""

    __slots__ = ("key", "size")
    key: int
    size: int


# By identity, because storages compare by their contents; torch keeps the object of a storage while the storage lives.
_PLACES: dict[int, Place] = {}
_REFERENCES: dict[int, _Storage] = {}
DEVICE_MEMORY = DeviceMemory()
_storage_of = torch.Tensor.untyped_storage
_UNKNOWABLE = (NotImplementedError, RuntimeError)  # tensors without a storage, such as sparse ones and those of vmap


def _forget(reference: _Storage) -> None:
    if _PLACES.pop(reference.key) is Place.CUDA:
        DEVICE_MEMORY.remove(reference.size)
    del _REFERENCES[reference.key]


def place_of(tensor: torch.Tensor) -> Place | None:
    """Where it is, if that is known."""
    try:
        return _PLACES.get(id(_storage_of(tensor)))
    except _UNKNOWABLE:
        parts = _parts(tensor)
        return place_of(parts[0]) if parts else None


def note(tensor: torch.Tensor, place: Place) -> None:
    """From now on, the tensor and all that share its memory are there."""
    try:
        note_storage(_storage_of(tensor), place)
    except _UNKNOWABLE:
        for part in _parts(tensor):
            note(part, place)


def note_storage(storage: torch.UntypedStorage, place: Place) -> None:
    key = id(storage)
    if key in _PLACES:
        _forget(_REFERENCES[key])
    reference = _Storage(storage, _forget)
    reference.key, reference.size = key, storage.nbytes()
    _REFERENCES[key] = reference
    _PLACES[key] = place
    if place is Place.CUDA:
        DEVICE_MEMORY.add(reference.size)


def place_of_storage(storage: torch.UntypedStorage) -> Place | None:
    return _PLACES.get(id(storage))


def is_host(tensor: torch.Tensor) -> bool:
    """Is it known to be in memory that the device cannot reach?"""
    with torch_internals.without_modes():
        return place_of(tensor) is Place.HOST


def _parts(tensor: torch.Tensor) -> list[torch.Tensor]:
    """The tensors that one without a storage stands for: a sparse one, or one of `torch.func`."""
    if torch_internals.is_wrapped(tensor):
        return [torch_internals.unwrapped(tensor)]
    if tensor.layout is torch.sparse_coo:
        return [tensor._values(), tensor._indices()]
    if tensor.layout in (torch.sparse_csr, torch.sparse_bsr):
        return [tensor.values(), tensor.crow_indices(), tensor.col_indices()]
    if tensor.layout in (torch.sparse_csc, torch.sparse_bsc):
        return [tensor.values(), tensor.ccol_indices(), tensor.row_indices()]
    return []


def names_cuda(device: Any) -> bool:
    """Is it a way of naming a CUDA device?"""
    if isinstance(device, torch.device):
        return device.type == "cuda" or device == STAND_IN
    return isinstance(device, str) and (device == "cuda" or device.startswith("cuda:"))


def on_cpu(device: Any) -> Any:
    """CPU memory in place of a CUDA device; anything else as it is."""
    return CPU if names_cuda(device) else device
