"""Which bytes of shared memory, or cells of tensor memory, a view covers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tlxviz.sim.observer import View
from tlxviz.sim.shared import SharedView


@dataclass(frozen=True)
class Extent:
    """Part of an allocation: its bytes, those of tensor memory counted along the lanes first."""

    low: int
    high: int
    """The first byte behind it."""
    run: int
    """Bytes that it covers in one go."""
    sizes: tuple[int, ...] = ()
    """How often it jumps to the next, in each dimension in which it has gaps."""
    strides: tuple[int, ...] = ()
    """Bytes of such a jump."""

    def overlaps(self, other: Extent) -> bool:
        """Whether some byte belongs to both."""
        if self.low >= other.high or other.low >= self.high:
            return False
        return (not self.sizes and not other.sizes) or _meet(self, other)


@lru_cache(maxsize=4096)  # each run asks the same of views that are made anew
def _meet(first: Extent, second: Extent) -> bool:
    """Whether two extents with gaps, one of which begins in the other, have a byte in common."""
    covered = np.zeros(first.high - first.low, dtype=bool)
    covered[_bytes(first) - first.low] = True
    places = _bytes(second) - first.low
    return bool(covered[places[(places >= 0) & (places < len(covered))]].any())


def _bytes(extent: Extent) -> NDArray[np.int64]:
    found = np.arange(extent.run) + extent.low
    for size, stride in zip(extent.sizes, extent.strides, strict=True):
        found = (found[:, None] + np.arange(size) * stride).reshape(-1)
    return found


def extent_of(view: View) -> Extent:
    """The part of its allocation that a view covers."""
    if isinstance(view, SharedView):
        tensor = view.outline()
        return _extent(int(tensor.storage_offset()), tensor.shape, tensor.stride(), tensor.element_size())
    sizes, strides, start = view.outline()
    return _extent(start, sizes, strides, 1)


def _extent(start: int, sizes: Sequence[int], strides: Sequence[int], size: int) -> Extent:
    """Of elements of `size` bytes: how many in each dimension, and how many elements apart."""
    run = 1
    jumps: list[tuple[int, int]] = []
    for stride, count in sorted(zip(strides, sizes, strict=True)):
        if not jumps and stride == run:
            run *= count
        elif count > 1 and stride:
            jumps.append((count, stride))
    last = sum((count - 1) * stride for count, stride in jumps)
    counts, steps = tuple(count for count, _ in jumps), tuple(stride * size for _, stride in jumps)
    return Extent(start * size, (start + last + run) * size, run * size, counts, steps)
