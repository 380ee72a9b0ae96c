"""Tensors compared bit for bit."""

from __future__ import annotations

import torch


def same(first: torch.Tensor, second: torch.Tensor) -> bool:
    """Whether two tensors of one type are equal bit for bit."""
    return torch.equal(_bits(first), _bits(second))


def first_difference(first: torch.Tensor, second: torch.Tensor) -> tuple[tuple[int, ...], int]:
    """Where two tensors of one type differ first, and in how many elements."""
    places = (_bits(first) != _bits(second)).nonzero()
    return tuple(int(index) for index in places[0]), len(places)


def _bits(tensor: torch.Tensor) -> torch.Tensor:
    kind = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[tensor.element_size()]
    return tensor.contiguous().view(kind)
