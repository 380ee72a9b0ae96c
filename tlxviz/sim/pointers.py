"""Pointers as (flat tensor, element offset), and as addresses."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

import torch

from tlxviz.sim.errors import MemoryAccessError, SimulationError


def flat(tensor: torch.Tensor) -> torch.Tensor:
    """All of the storage that `tensor` is a view of, as one dimension of its dtype."""
    storage = tensor.untyped_storage()
    return torch.empty(0, dtype=tensor.dtype).set_(storage, 0, (storage.nbytes() // tensor.element_size(),), (1,))


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


def resolve_tensor(
    space: AddressSpace, addresses: torch.Tensor, dtype: torch.dtype
) -> tuple[torch.Tensor, torch.Tensor]:
    """A tensor of addresses as offsets into the one allocation they belong to."""
    base, offset = space.resolve(int(addresses.min()), dtype)
    start = int(addresses.min()) - offset * dtype.itemsize
    return base, torch.div(addresses - start, dtype.itemsize, rounding_mode="floor")
