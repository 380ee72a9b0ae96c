"""Atomic operations on global memory."""

from __future__ import annotations

from typing import Any

import torch

from tlxviz.sim.errors import SimulationError
from tlxviz.sim.memory import check_offsets, load_dense, load_scalar


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


def atomic_scalar(kind: str, base: torch.Tensor, offset: int, value: Any, compare: Any) -> Any:
    """One atomic; returns what was there."""
    old = load_scalar(base, offset)
    if kind == "cas":
        if old == compare:
            base[offset] = value
        return old
    before = torch.tensor(old, dtype=base.dtype)
    base[offset] = combine(kind, before, torch.tensor(value, dtype=base.dtype))
    return old


def cas_dense(base: torch.Tensor, offsets: torch.Tensor, compare: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """Compare-and-swap of a tensor, element by element: places may repeat."""
    load_dense(base, offsets, None, 0)  # refuses what lies outside
    shape = offsets.shape
    found: list[torch.Tensor] = []
    items = (offsets.reshape(-1).tolist(), compare.expand(shape).reshape(-1), value.expand(shape).reshape(-1))
    for place, wanted, new in zip(*items, strict=True):
        found.append(base[place].clone())
        if bool(found[-1] == wanted):
            base[place] = new
    return torch.stack(found).view(shape)


def atomic_dense(
    kind: str, base: torch.Tensor, offsets: torch.Tensor, value: torch.Tensor, mask: torch.Tensor | None
) -> torch.Tensor:
    """`tt.atomic_rmw` of a tensor, element by element where places repeat; returns what was there."""
    shape = offsets.shape
    value = value.expand(shape).to(base.dtype)
    old = torch.zeros(shape, dtype=base.dtype)
    chosen = torch.ones(shape, dtype=torch.bool) if mask is None else mask.expand(shape)
    places, values = offsets[chosen], value[chosen]
    check_offsets("atomic", base, places)
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


def atomic_along(
    kind: str,
    memory: torch.Tensor,
    axis: int,
    index: torch.Tensor,
    value: torch.Tensor,
    mask: torch.Tensor | None,
) -> torch.Tensor:
    """Atomics on shared memory, at `index` along `axis` and at the element's own place along the others.

    Narrow floats that are held in f32 are rounded to the dtype of `value`. Returns what was there.
    """
    shape = index.shape
    places = torch.zeros(shape, dtype=torch.int64)
    stride = 1
    for dimension in reversed(range(memory.dim())):
        along = [1] * memory.dim()
        along[dimension] = shape[dimension]
        own = torch.arange(shape[dimension]).view(along)
        places += stride * (index.to(torch.int64) if dimension == axis else own)
        stride *= memory.shape[dimension]
    flat = memory.reshape(-1).to(value.dtype)
    old = atomic_dense(kind, flat, places, value, mask)
    memory.copy_(flat.view(memory.shape))
    return old
