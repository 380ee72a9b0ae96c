"""Many protobuf messages of one form, as bytes: a second for each million, where objects take a minute.

All messages of a form have one length. Numbers have as many bytes as the largest of their column needs: the format lets
a number end in bytes that add nothing, and Perfetto itself writes lengths so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

_ROWS = 8192
"""As many messages at a time as fit into a processor's cache."""

Column = NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class Varint:
    """Numbers of at least 0, per row."""

    values: Column
    width: int
    """Bytes of each."""

    @staticmethod
    def of(values: Column) -> Varint:
        return Varint(values, len(varint(int(values.max(initial=0)))))

    def put(self, into: Column, rows: Column) -> None:
        values = self.values[rows]
        for place in range(self.width):
            byte = values >> 7 * place if place else values
            into[:, place] = byte & 127 | 128 if place < self.width - 1 else byte


@dataclass(frozen=True, slots=True, eq=False)
class Fixed64:
    """Numbers of at least 0, per row."""

    values: Column

    width = 8

    def put(self, into: Column, rows: Column) -> None:
        into[:] = self.values[rows].astype("<u8").view(np.uint8).reshape(-1, 8)


Atom = bytes | Varint | Fixed64
"""bytes: the same in all messages."""


def varint(value: int) -> bytes:
    """A number of at least 0, as short as can be."""
    parts: list[int] = []
    while value > 127:
        parts.append(value & 127 | 128)
        value >>= 7
    return bytes([*parts, value])


def tagged(number: int, atom: Atom | int) -> list[Atom]:
    """Field `number` of a message: a number."""
    if isinstance(atom, int):
        return [varint(number << 3) + varint(atom)]
    return [varint(number << 3 | (1 if isinstance(atom, Fixed64) else 0)), atom]


def nested(number: int, *parts: Sequence[Atom]) -> list[Atom]:
    """Field `number` of a message: a message of these fields."""
    atoms = [atom for part in parts for atom in part]
    return [varint(number << 3 | 2) + varint(length(atoms)), *atoms]


def length(atoms: Sequence[Atom]) -> int:
    """Bytes of a message of these fields."""
    return sum(len(atom) if isinstance(atom, bytes) else atom.width for atom in atoms)


def put(atoms: Sequence[Atom], rows: Column, out: NDArray[np.uint8], places: Column) -> None:
    """Writes a message of these fields for each of `rows`, numbers in the columns of atoms, to its place in `out`."""
    if not len(rows):
        return
    size = length(atoms)
    messages = np.empty((min(len(rows), _ROWS), size), dtype=np.uint8)
    varying: list[tuple[Varint | Fixed64, int]] = []
    at = 0
    for atom in atoms:
        if isinstance(atom, bytes):
            messages[:, at : at + len(atom)] = np.frombuffer(atom, dtype=np.uint8)
            at += len(atom)
        else:
            varying.append((atom, at))
            at += atom.width
    # Every stretch of `size` bytes of `out`, so that a message is copied in one piece.
    stretches = np.ndarray((len(out) - size + 1,), dtype=f"V{size}", buffer=out, strides=(1,))
    for first in range(0, len(rows), _ROWS):
        some = rows[first : first + _ROWS]
        filled = messages[: len(some)]
        for atom, at in varying:
            atom.put(filled[:, at : at + atom.width], some)
        stretches[places[first : first + _ROWS]] = filled.view(f"V{size}")[:, 0]
