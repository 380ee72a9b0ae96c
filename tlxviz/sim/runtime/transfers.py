"""Copies between global and shared memory that generated code starts, and what happens when they land."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from tlxviz.sim.descriptors import TileDescriptor
from tlxviz.sim.dtypes import cast
from tlxviz.sim.engine import Barrier, Cta
from tlxviz.sim.memory import copy_tile, tile_view
from tlxviz.sim.parts import MaskPart
from tlxviz.sim.shared import SharedView


def make_barriers(cta: Cta, array: int, slots: int) -> list[Barrier]:
    """The mbarriers of one allocation."""
    return [Barrier(cta.sm.loop, array, slot) for slot in range(slots)]


def slot_of(array: SharedView | Sequence[Barrier] | Barrier, slot: int) -> SharedView | Barrier:
    """A slot of memory of which only the run can tell what it is."""
    if isinstance(array, Barrier):
        return array
    slots = array.slots if isinstance(array, SharedView) else array
    if not 0 <= slot < len(slots):
        raise IndexError(f"slot {slot} of {len(slots)}")
    return slots[slot]


def one_of(barrier: Sequence[Barrier] | Barrier) -> Barrier:
    """The mbarrier, or the first of an array."""
    return barrier if isinstance(barrier, Barrier) else barrier[0]


def land(cycle: int, arrival: tuple[Barrier, int, int]) -> None:
    """The bytes of a copy have arrived; values are off."""
    barrier, size, cause = arrival
    barrier.tx -= size
    if barrier.tx == 0 and barrier.pending == 0:
        barrier.flip(cycle, cause)


def land_load(cycle: int, arrival: tuple[Barrier, int, int, TileDescriptor, Any, torch.Tensor]) -> None:
    """A TMA load has arrived."""
    barrier, size, cause, descriptor, at, target = arrival
    descriptor.load(at, target)
    barrier.tx -= size
    if barrier.tx == 0 and barrier.pending == 0:
        barrier.flip(cycle, cause)


def land_tile(cycle: int, arrival: tuple[Barrier, int, int, TileDescriptor, tuple[int, ...], SharedView]) -> None:
    """A TMA load has arrived in a slot that nothing else writes."""
    barrier, size, cause, descriptor, at, view = arrival
    tile = descriptor.tiles.get(at)
    if tile is None:
        view.receive(descriptor, at)
    else:
        view.refer(tile)
    barrier.tx -= size
    if barrier.tx == 0 and barrier.pending == 0:
        barrier.flip(cycle, cause)


def land_gather(cycle: int, arrival: tuple[Barrier, int, int, TileDescriptor, Any, torch.Tensor]) -> None:
    """A TMA gather has arrived."""
    barrier, size, cause, descriptor, (rows, column), target = arrival
    descriptor.gather(rows, column, target)
    barrier.land(cycle, size, cause)


def arrive_later(cycle: int, arrival: tuple[Barrier, int, int, int]) -> None:
    """All copies of a warp group that were under way have landed: its threads arrive."""
    barrier, threads, site, cause = arrival
    barrier.last_site, barrier.last_time = site, cycle
    barrier.pending -= threads
    if barrier.pending <= 0:
        barrier.settle(cycle, cause)


def moved_bytes(size: int, mask: Sequence[MaskPart] | torch.Tensor | None, shape: Sequence[int]) -> int:
    """What a copy of `size` bytes reads of memory under a mask."""
    if mask is None:
        return size
    if isinstance(mask, torch.Tensor):
        return size * int(mask.expand(list(shape)).sum()) // math.prod(shape)
    for part, extent in zip(mask, shape, strict=True):
        if part is not None:
            kept = max(0, part[1] - part[0]) if isinstance(part, tuple) else int(part.sum())
            size = size * kept // extent
    return size


def land_copy(cycle: int, copied: tuple[Any, ...]) -> None:
    """A tile of `cp.async` has arrived; the arguments are those of `copy_tile`."""
    copy_tile(*copied)


def land_value(cycle: int, copied: tuple[SharedView, torch.Tensor]) -> None:
    """Elements that `cp.async` gathered have arrived."""
    view, value = copied
    view.store(value)


def leave_store(cycle: int, store: tuple[TileDescriptor, tuple[int, ...], SharedView]) -> None:
    """A TMA store has read its source."""
    descriptor, at, view = store
    descriptor.store(at, view.filled)


def leave_reduce(cycle: int, store: tuple[TileDescriptor, tuple[int, ...], SharedView, str]) -> None:
    """A TMA reduction has read its source."""
    descriptor, at, view, kind = store
    descriptor.reduce(at, view.filled, kind)


def leave_scatter(cycle: int, store: tuple[TileDescriptor, torch.Tensor, int, SharedView]) -> None:
    """A TMA scatter has read its source."""
    descriptor, rows, column, view = store
    descriptor.scatter(rows, column, view.filled)


def leave_bulk(cycle: int, store: tuple[torch.Tensor, int, SharedView, int]) -> None:
    """A `cp.async.bulk` to global memory has read its source: `size` bytes."""
    base, offset, view, size = store
    flat = cast(view.filled.reshape(-1), base.dtype)[: size // base.element_size()]
    tile_view("store", base, offset, [1], [(0, flat.numel())]).copy_(flat)


def land_bulk(cycle: int, arrival: tuple[Barrier, int, int, torch.Tensor, int, torch.Tensor]) -> None:
    """A `cp.async.bulk` from global to shared memory has arrived: `size` bytes."""
    barrier, size, cause, base, offset, target = arrival
    count = size // base.element_size()
    target.view(-1)[:count] = tile_view("load", base, offset, [1], [(0, count)])
    barrier.land(cycle, size, cause)


def scratch(size: int) -> torch.Tensor:
    """Global scratch memory of one CTA."""
    return torch.zeros(size, dtype=torch.int8)
