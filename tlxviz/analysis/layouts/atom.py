"""A swizzle as a picture: which 16-byte chunks of which row are where in 8 lines of 128 bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from tlxviz.ir.encodings import Layout
from tlxviz.ir.linear import combination
from tlxviz.ir.places import Offsets, offsets

LINES, CHUNKS = 8, 8
CHUNK_BYTES = 16
"""Four banks."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """16 bytes of a row."""

    row: int
    """In the direction along which neighbours in memory are neighbours: a column, where the layout is transposed."""
    number: int
    """Of its row, from 0."""


@dataclass(frozen=True, slots=True)
class Atom:
    """The first 8 lines of 128 bytes of a tile, line by line."""

    lines: tuple[tuple[Chunk | None, ...], ...]
    """By line, by four banks: what is there; None for gaps, and where there is no whole chunk of one row."""
    transposed: bool
    banks: tuple[int, ...]
    """Which four banks, counted from 0, the first chunks of rows 0 to 7 are in, wherever their lines are."""

    @property
    def swizzled(self) -> bool:
        """Whether chunks of a row are out of order."""
        return any(
            one is not None and other is not None and one.row == other.row and one.number > other.number
            for line in self.lines
            for one, other in pairwise(line)
        )


def atom(layout: Layout | None, shape: Sequence[int], bits: int) -> Atom | None:
    """What lies in the first 8 lines of a tile; None for layouts that have no chunks of 16 bytes."""
    if bits % 8 or not bits or len(shape) < 2:
        return None
    places = offsets(layout, shape)
    bases = places.bases() if places is not None else None
    if places is None or bases is None:
        return None
    size = bits // 8
    each = CHUNK_BYTES // size
    inner = _inner(bases, each)
    if inner is None or each < 1:
        return None
    outer = len(shape) - 1 if inner != len(shape) - 1 else len(shape) - 2
    found: dict[tuple[int, int], Chunk] = {}
    for row in range(min(shape[outer], 64)):
        for number in range(shape[inner] // each):
            begin = combination(row, bases[outer]) ^ combination(number * each, bases[inner])
            if begin % each:  # a swizzle of less than a chunk
                return None
            byte = places.padded(begin) * size
            line, chunk = divmod(byte, CHUNKS * CHUNK_BYTES)
            if line < LINES and not chunk % CHUNK_BYTES and _together(places, begin, each):
                found[line, chunk // CHUNK_BYTES] = Chunk(row, number)
    lines = tuple(tuple(found.get((line, chunk)) for chunk in range(CHUNKS)) for line in range(LINES))
    banks = tuple(
        places.padded(combination(row, bases[outer])) * size // CHUNK_BYTES % CHUNKS
        for row in range(min(shape[outer], LINES))
    )
    return Atom(lines, inner != len(shape) - 1, banks) if found else None


def _inner(bases: Sequence[Sequence[int]], each: int) -> int | None:
    """The dimension whose first coordinates are neighbours in memory."""
    wanted = tuple(1 << bit for bit in range(each.bit_length() - 1))
    return next((d for d, held in enumerate(bases) if tuple(held[: len(wanted)]) == wanted), None)


def _together(places: Offsets, begin: int, each: int) -> bool:
    """Whether no gap is in a chunk."""
    return places.padded(begin + each - 1) - places.padded(begin) == each - 1
