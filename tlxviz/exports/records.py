"""Many short texts of one form, as bytes: what a line of a file is for each of a million events.

Lines differ in length. They are put together in rows of one length, where NUL stands for nothing, and NULs are taken
out at the end: a tenth of what formatting each line takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

_ROWS = 8192
"""As many rows at a time as fit into a processor's cache."""

Column = NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """One of some texts, which hold no NUL."""

    texts: Sequence[bytes]
    index: Column
    """Which of them, per line."""


@dataclass(frozen=True, slots=True, eq=False)
class Decimal:
    """A whole number."""

    values: Column
    blank: bool = False
    """Nothing is written for numbers below 0."""


@dataclass(frozen=True, slots=True, eq=False)
class Thousandths:
    """A number with three decimals, given as a whole number of thousandths."""

    values: Column


Piece = bytes | Choice | Decimal | Thousandths
"""bytes: the same in all lines."""


@dataclass(frozen=True, slots=True, eq=False)
class _Field:
    """Bytes of one length in each row, out of a table."""

    table: Column
    index: Callable[[slice], Column] | None = None
    """Where in it some rows have theirs; None for the first entry always."""


class Lines:
    """`count` lines, each made of these pieces."""

    def __init__(self, pieces: Sequence[Piece], count: int, *, spaced: bool = False) -> None:
        """`spaced`: all lines have one length, with spaces behind texts and before numbers. This is faster by half, and
        nothing but JSON takes it. Where there are numbers below 0 it is left undone."""
        self._count = count
        self._fields = [each for piece in pieces for each in _fields(piece)] if count else []
        self._spaced = spaced and not any(each.table is _SIGN for each in self._fields)
        if self._spaced:
            self._fields = [_Field(_with_spaces(each.table), each.index) for each in self._fields]
        self._form = np.dtype([(f"f{place}", each.table.dtype) for place, each in enumerate(self._fields)])

    def __iter__(self) -> Iterator[bytes]:
        """Some thousand lines at a time."""
        if not self._count:
            return
        size = self._form.itemsize
        memory = bytearray(size * min(self._count, _ROWS))
        rows = np.frombuffer(memory, dtype=self._form)
        for place, each in enumerate(self._fields):
            if each.index is None:  # stays there, whatever rows come
                rows[f"f{place}"] = each.table[0]
        for first in range(0, self._count, _ROWS):
            some = slice(first, min(first + _ROWS, self._count))
            for place, each in enumerate(self._fields):
                if each.index is not None:
                    # `take` needs half the time of indexing where entries are no numbers
                    rows[f"f{place}"][: some.stop - first] = each.table.take(each.index(some))
            made = bytes(memoryview(memory)[: size * (some.stop - first)])
            yield made if self._spaced else made.translate(None, b"\0")


@dataclass(frozen=True, slots=True, eq=False)
class Joined:
    """All bytes, one after the other. They are made as they are asked for: of ten million events they are 4 GB."""

    parts: Sequence[bytes | Lines]

    def __iter__(self) -> Iterator[bytes]:
        for part in self.parts:
            if isinstance(part, bytes):
                yield part
            else:
                yield from part

    def __bytes__(self) -> bytes:
        return b"".join(self)


def _with_spaces(table: Column) -> Column:
    return np.frombuffer(table.tobytes().replace(b"\0", b" "), dtype=table.dtype)


def _texts(values: Sequence[bytes]) -> Column:
    return np.array(values, dtype=f"S{max(1, *map(len, values))}")


def _words(values: Sequence[str]) -> Column:
    """Texts of four characters as numbers, which are copied faster."""
    return np.frombuffer("".join(values).encode(), dtype="<u4")


_PADDED = [f"{value:04}" for value in range(10_000)]
_BARE = [f"{value:\0>4}" for value in range(10_000)]
_NOTHING = "\0\0\0\0"
# The last four digits of a number and those before them: as they are if they are the first, with zeros before them
# if not, and nothing.
_LAST = _words([*_BARE, *_PADDED, _NOTHING])
_EARLIER = _words([_NOTHING, *_BARE[1:], *_PADDED, _NOTHING])
_DECIMALS = _words([f".{value:03}" for value in range(1000)])
_SIGN = np.array([b"", b"-"], dtype="S1")


def _fields(piece: Piece) -> list[_Field]:
    if isinstance(piece, bytes):
        return [_Field(_texts([piece]))] if piece else []
    if isinstance(piece, Choice):
        if not any(piece.texts):
            return []
        table = _texts(piece.texts)
        return [_Field(table, lambda some: piece.index[some])] if len(table) > 1 else [_Field(table)]
    if isinstance(piece, Decimal):
        return _digits(piece.values, piece.blank)
    values = piece.values

    def thousandths(some: slice) -> Column:
        magnitude = np.abs(values[some])
        return magnitude - magnitude // 1000 * 1000

    return [*_digits(values, False, 1000), _Field(_DECIMALS, thousandths)]


def _digits(values: Column, blank: bool, unit: int = 1) -> list[_Field]:
    """The digits of values in units of `unit`."""
    least, most = int(values.min(initial=0)), int(values.max(initial=0))
    largest = max(-least, most) // unit
    fields = [_Field(_SIGN, lambda some: (values[some] < 0).astype(np.intp))] if least < 0 and not blank else []
    overs = [1]
    while largest // overs[-1] >= 10_000:
        overs.append(overs[-1] * 10_000)
    for over in reversed(overs):

        def index(some: slice, over: int = over * unit) -> Column:
            given = values[some]
            magnitude = np.abs(given) if least < 0 else given
            if over > 1:
                magnitude = magnitude // over
            found = magnitude
            if largest * unit // over >= 10_000:
                quotient = magnitude // 10_000
                found = magnitude - quotient * 10_000 + np.minimum(quotient, 1) * 10_000
            return np.where(given < 0, len(_BARE) + len(_PADDED), found) if blank else found

        fields.append(_Field(_LAST if over == 1 else _EARLIER, index))
    return fields
