"""Many protobuf messages of one form, as bytes: a twentieth of what objects take.

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


_HALF = 14
"""Bits of two bytes of a number."""
_LOW = np.arange(1 << _HALF, dtype=np.int64)
_MORE = (_LOW & 127 | 128 | (_LOW >> 7 | 128) << 8).astype("<u2")
"""Two bytes of a number that goes on behind them, by their bits."""
_LAST = (_LOW & 127 | 128 | _LOW >> 7 << 8).astype("<u2")
"""The last two bytes of a number."""


@dataclass(frozen=True, slots=True, eq=False)
class Varint:
    """Numbers of at least 0, per row."""

    values: Column
    width: int
    """Bytes of each."""

    @staticmethod
    def of(values: Column) -> Varint:
        largest = int(values.max(initial=0))
        return Varint(values.astype(np.int32) if largest < 1 << 31 else values, len(varint(largest)))

    def words(self) -> list[str]:
        """Types of the pieces in which it is written."""
        return ["<u2"] * (self.width // 2) + ["u1"] * (self.width % 2)

    def put(self, into: Sequence[Column], rows: Column) -> None:
        values = self.values[rows]
        for place, column in enumerate(into):
            rest = values >> _HALF * place if place else values
            if place < len(into) - 1:
                column[:] = _MORE[rest & (1 << _HALF) - 1]
            else:
                column[:] = rest if self.width % 2 else _LAST[rest]


@dataclass(frozen=True, slots=True, eq=False)
class Fixed64:
    """Numbers of at least 0, per row."""

    values: Column

    width = 8

    def words(self) -> list[str]:
        return ["<u8"]

    def put(self, into: Sequence[Column], rows: Column) -> None:
        into[0][:] = self.values[rows]


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
    # A number is written as one or more words, and what is the same in all messages once.
    forms = [atom.words() if not isinstance(atom, bytes) else [f"V{len(atom)}"] for atom in atoms]
    form = np.dtype(
        [(f"f{place}.{word}", kind) for place, kinds in enumerate(forms) for word, kind in enumerate(kinds)]
    )
    messages = np.empty(min(len(rows), _ROWS), dtype=form)
    varying: list[tuple[Varint | Fixed64, list[Column]]] = []
    for place, atom in enumerate(atoms):
        columns = [messages[f"f{place}.{word}"] for word in range(len(forms[place]))]
        if isinstance(atom, bytes):
            columns[0][:] = np.void(atom)
        else:
            varying.append((atom, columns))
    # Every stretch of `size` bytes of `out`, so that a message is copied in one piece.
    stretches = np.ndarray((len(out) - size + 1,), dtype=f"V{size}", buffer=out, strides=(1,))
    for first in range(0, len(rows), _ROWS):
        some = rows[first : first + _ROWS]
        for atom, columns in varying:
            atom.put([column[: len(some)] for column in columns], some)
        stretches[places[first : first + _ROWS]] = messages[: len(some)].view(f"V{size}")
