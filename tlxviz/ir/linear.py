"""Linear layouts: where the elements of a tensor are, as XORs of what each bit of a place contributes.

Triton describes all its layouts so (arXiv 2505.23819): bit `i` of a place (a register, a lane, an offset in memory) has
a basis, which is a coordinate for each dimension. The coordinates of the element at a place are the XOR of the bases of
the bits that are set.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

Basis = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LinearLayout:
    """Places to the coordinates of the elements that are there."""

    bases: Mapping[str, tuple[Basis, ...]]
    """For each kind of place (`register`, `lane`, `warp`; `offset` in memory) the basis of each of its bits, lowest
    first. A basis of zeros says that places differing in that bit hold the same element."""
    shape: tuple[int, ...]

    def size(self, kind: str) -> int:
        """How many places of a kind there are."""
        return 1 << len(self.bases.get(kind, ()))

    def coordinates(self, **places: int) -> Basis:
        """The coordinates of the element at `register=3, lane=7`; places that are not named are 0."""
        found = [0] * len(self.shape)
        for kind, number in places.items():
            for bit, basis in enumerate(self.bases.get(kind, ())):
                if number >> bit & 1:
                    found = [a ^ b for a, b in zip(found, basis, strict=True)]
        return tuple(found)

    def flat(self, kind: str) -> tuple[int, ...]:
        """Bases as numbers of elements in row-major order."""
        return tuple(flattened(basis, self.shape) for basis in self.bases.get(kind, ()))

    def fitted(self, shape: Sequence[int], grows: str, order: Sequence[int] | None = None) -> LinearLayout:
        """The layout for another shape: repeated where it is smaller, and broadcast where it is larger.

        Args:
            shape: The tensor's; sizes are powers of two.
            grows: The kind of place that holds repetitions.
            order: In which order dimensions are repeated, fastest first; the last dimension first if None.
        """
        dimensions = list(reversed(range(len(shape)))) if order is None else list(order)
        bases = {
            kind: tuple(tuple(c if c < size else 0 for c, size in zip(basis, shape, strict=True)) for basis in held)
            for kind, held in self.bases.items()
        }
        more: list[Basis] = []
        for dimension in dimensions:
            reached = 1 << sum(
                any(basis[dimension] >> bit & 1 for held in bases.values() for basis in held)
                for bit in range(shape[dimension].bit_length() - 1)
            )
            while reached < shape[dimension]:
                more.append(unit(len(shape), dimension, reached))
                reached *= 2
        return LinearLayout(bases | {grows: (*bases.get(grows, ()), *more)}, tuple(shape))


def unit(rank: int, dimension: int, value: int) -> Basis:
    """`value` in one dimension, 0 in the others."""
    return tuple(value if each == dimension else 0 for each in range(rank))


def flattened(basis: Sequence[int], shape: Sequence[int]) -> int:
    """Coordinates as a number of elements in row-major order; sizes of the shape are powers of two."""
    number = 0
    for coordinate, size in zip(basis, shape, strict=True):
        number = number * size + coordinate
    return number


def combination(number: int, bases: Sequence[int]) -> int:
    """The XOR of the bases of the bits that are set in `number`."""
    found = 0
    for bit, basis in enumerate(bases):
        found ^= basis if number >> bit & 1 else 0
    return found


def solve(targets: Iterable[int], bases: Sequence[int]) -> list[int] | None:
    """For each target, which bases make it, as the bits of a number; None where one is no XOR of bases.

    A basis that the ones before it already make is never used.
    """
    rows: list[tuple[int, int]] = []
    """Independent combinations, each with a leading bit that the others lack, and what they are made of."""
    for index, basis in enumerate(bases):
        value, made = _reduced(basis, 1 << index, rows)
        if value:
            lead = 1 << value.bit_length() - 1
            rows = [(v ^ value, m ^ made) if v & lead else (v, m) for v, m in rows]
            rows.append((value, made))
    found: list[int] = []
    for target in targets:
        left, made = _reduced(target, 0, rows)
        if left:
            return None
        found.append(made)
    return found


def _reduced(value: int, made: int, rows: Sequence[tuple[int, int]]) -> tuple[int, int]:
    for held, parts in rows:
        if value >> held.bit_length() - 1 & 1:
            value, made = value ^ held, made ^ parts
    return value, made
