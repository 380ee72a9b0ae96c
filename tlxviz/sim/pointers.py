"""Pointers as (flat tensor, element offset), and as addresses."""

from __future__ import annotations

import gc
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from contextlib import suppress

import numpy as np
import torch
from numpy.typing import NDArray

from tlxviz.sim.errors import MemoryAccessError, SimulationError


def flat(tensor: torch.Tensor, dtype: torch.dtype | None = None) -> torch.Tensor:
    """All of the storage that `tensor` is a view of, as one dimension of `dtype`, or of the tensor's own."""
    storage = tensor.untyped_storage()
    if dtype is None or dtype.itemsize != tensor.element_size():
        dtype = tensor.dtype
    return torch.empty(0, dtype=dtype).set_(storage, 0, (storage.nbytes() // dtype.itemsize,), (1,))


def storages_of_process() -> list[torch.UntypedStorage]:
    """The storages of all its tensors, by address."""
    found: dict[int, torch.UntypedStorage] = {}
    for each in gc.get_objects():
        # `isinstance` would ask the object, too, and some that stand for others warn of that.
        if issubclass(type(each), torch.Tensor) and each.layout == torch.strided:
            with suppress(NotImplementedError):  # it has none of its own
                storage = each.untyped_storage()
                found[storage.data_ptr()] = storage
    return [found[address] for address in sorted(found)]


def reached_from(tensors: Sequence[torch.Tensor], numbers: Sequence[int]) -> tuple[list[torch.Tensor], list[int]]:
    """What the addresses lead to that are among integers, be they elements of tensors or numbers.

    Returns:
        A tensor of each storage that they lead to, and the addresses of the storages of those tensors that hold them.
    """
    wide = [tensor for tensor in tensors if tensor.dtype in (torch.int64, torch.uint64) and tensor.numel()]
    if not wide and not numbers:
        return [], []
    storages = [storage for storage in storages_of_process() if storage.nbytes()]
    starts = np.array([storage.data_ptr() for storage in storages], np.uint64)
    ends = starts + np.array([storage.nbytes() for storage in storages], np.uint64)
    reached: set[int] = set()

    def reach(numbers: NDArray[np.uint64]) -> bool:
        at = np.searchsorted(starts, numbers, "right").astype(np.int64) - 1
        found = np.unique(at[(at >= 0) & (numbers < ends[at])])
        reached.update(found.tolist())
        return bool(len(found))

    tables = [
        tensor.untyped_storage().data_ptr()
        for tensor in wide
        if reach(tensor.detach().cpu().contiguous().view(torch.uint8).numpy().view(np.uint64).reshape(-1))
    ]
    reach(np.array([number for number in numbers if 0 < number < 1 << 64], np.uint64))
    return [torch.empty(0, dtype=torch.uint8).set_(storages[at]) for at in sorted(reached)], tables


class AddressSpace:
    """The allocations that a launch can reach, for pointers that travel as integers.

    Those of its arguments are known; others, which a table of pointers may name, are looked for when one is met.
    """

    def __init__(self, tensors: Sequence[torch.Tensor]) -> None:
        self._complete = False
        """Whether those that are no arguments are known, too."""
        self._starts: list[int] = []
        self._storages: list[torch.UntypedStorage] = []
        self._take(tensor.untyped_storage() for tensor in tensors)

    def _take(self, storages: Iterable[torch.UntypedStorage]) -> None:
        known = dict(zip(self._starts, self._storages, strict=True))
        known = {storage.data_ptr(): storage for storage in storages if storage.nbytes()} | known
        self._starts = sorted(known)
        self._storages = [known[start] for start in self._starts]

    def resolve(self, address: int, dtype: torch.dtype) -> tuple[torch.Tensor, int]:
        """The allocation that holds `address`, flat in `dtype`, and the element offset within it."""
        at = self._position(address)
        if at < 0 and not self._complete:
            self._complete = True
            self._take(storages_of_process())
            at = self._position(address)
        if at < 0:
            raise MemoryAccessError(
                "an address that the kernel read or computed belongs to no tensor of this process: keep the "
                "tensors of a table of pointers alive"
            )
        storage = self._storages[at]
        base = torch.empty(0, dtype=dtype)
        base.set_(storage, 0, (storage.nbytes() // dtype.itemsize,), (1,))
        return base, (address - self._starts[at]) // dtype.itemsize

    def _position(self, address: int) -> int:
        at = bisect_right(self._starts, address) - 1
        return at if at >= 0 and address < self._starts[at] + self._storages[at].nbytes() else -1


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
