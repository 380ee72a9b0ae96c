"""Reductions, scans and maps that generated code calls."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

Combine = Callable[..., tuple[torch.Tensor, ...]]


def amax_number(a: torch.Tensor, axis: int) -> torch.Tensor:
    """The largest along an axis; NaNs do not count, as with `maxnum`."""
    found = a.amax(axis)
    return found if not bool(torch.isnan(found).any()) else _numbers(a, axis, -math.inf).amax(axis)


def amin_number(a: torch.Tensor, axis: int) -> torch.Tensor:
    """The smallest along an axis; NaNs do not count."""
    found = a.amin(axis)
    return found if not bool(torch.isnan(found).any()) else _numbers(a, axis, math.inf).amin(axis)


def _numbers(a: torch.Tensor, axis: int, filler: float) -> torch.Tensor:
    nan = torch.isnan(a)
    return torch.where(nan & ~nan.all(axis, keepdim=True), filler, a)


def reduce_by(combine: Combine, sources: Sequence[torch.Tensor], axis: int) -> tuple[torch.Tensor, ...]:
    """Reduces neighbours pairwise, which keeps the order of the operands."""
    items = [source.movedim(axis, 0) for source in sources]
    while items[0].shape[0] > 1:
        size = items[0].shape[0]
        even = size - size % 2
        merged = _same(combine(*(item[0:even:2] for item in items), *(item[1:even:2] for item in items)), items)
        items = [torch.cat((new, item[even:])) if even < size else new for new, item in zip(merged, items, strict=True)]
    return tuple(item[0] for item in items)


def _same(found: Sequence[torch.Tensor], like: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    return [new.to(old.dtype) for new, old in zip(found, like, strict=True)]


def scan_by(combine: Combine, sources: Sequence[torch.Tensor], axis: int, reverse: bool) -> tuple[torch.Tensor, ...]:
    """Inclusive scan, doubling the distance each round."""
    items = [source.movedim(axis, 0) for source in sources]
    if reverse:
        items = [item.flip(0) for item in items]
    distance = 1
    while distance < items[0].shape[0]:
        merged = _same(combine(*(item[:-distance] for item in items), *(item[distance:] for item in items)), items)
        items = [torch.cat((item[:distance], new)) for new, item in zip(merged, items, strict=True)]
        distance *= 2
    if reverse:
        items = [item.flip(0) for item in items]
    return tuple(item.movedim(0, axis) for item in items)


def map_by(function: Combine, sources: Sequence[torch.Tensor], pack: int, results: int) -> tuple[torch.Tensor, ...]:
    """`tt.map_elementwise`: the function takes `pack` neighbours of each source and gives as many of each result."""
    shape = sources[0].shape
    lanes = [source.reshape(-1, pack)[:, lane] for source in sources for lane in range(pack)]
    found = function(*lanes)
    columns = [found[number * pack : (number + 1) * pack] for number in range(results)]
    return tuple(
        torch.stack([column.expand(lanes[0].shape) for column in group], -1).reshape(shape) for group in columns
    )


def map_numbers(
    function: Callable[..., tuple[Any, ...]], sources: Sequence[torch.Tensor], pack: int, dtypes: Sequence[torch.dtype]
) -> tuple[torch.Tensor, ...]:
    """`map_by` with a function of numbers, which may branch: one group of elements after the other."""
    shape = sources[0].shape
    groups = zip(*(source.reshape(-1, pack).tolist() for source in sources), strict=True)
    rows = [function(*(number for lanes in group for number in lanes)) for group in groups]
    return tuple(
        torch.tensor([row[at * pack : (at + 1) * pack] for row in rows], dtype=dtype).reshape(shape)
        for at, dtype in enumerate(dtypes)
    )
