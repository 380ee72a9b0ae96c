"""Transactions of shared memory counted lane by lane and word by word, without any linear layout of memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tlxviz.ir.linear import LinearLayout

Address = Callable[[int, int], int]
"""Row and column to the byte at which an element begins."""


def rows_of(bytes_per_row: int, size: int) -> Address:
    """Rows one behind the other, as they are."""
    return lambda row, column: row * bytes_per_row + column * size


def swizzled(swizzle: int, size: int) -> Address:
    """Rows of `swizzle` bytes in TMA's swizzle: of a line of 128 bytes, 16-byte chunks are XORed with its number."""

    def address(row: int, column: int) -> int:
        plain = row * swizzle + column * size
        return plain ^ ((plain >> 7 & (swizzle // 16 - 1)) << 4)

    return address


@dataclass(frozen=True, slots=True)
class Counted:
    transactions: int
    worst: int


def by_vectors(threads: LinearLayout, address: Address, size: int, elements: int, warp: int = 0) -> Counted:
    """`ld.shared` or `st.shared` of so many elements a lane, which are the thread's next registers.

    An instruction moves 128 bytes at a time: all lanes, or 16 of them with 8 bytes each, or 8 with 16.
    """
    lanes = 32 // max(1, elements * size // 4)
    total, worst = 0, 0
    for register in range(0, threads.size("register"), elements):
        for first in range(0, 32, lanes):
            wanted: list[int] = []
            for lane in range(first, first + lanes):
                row, column = threads.coordinates(register=register, lane=lane, warp=warp)
                begin = address(row, column)
                wanted += range(begin, begin + elements * size)
            most = _most_words(wanted)
            total, worst = total + most, max(worst, most)
    return Counted(total, worst)


def by_matrices(rows: Sequence[Sequence[int]]) -> Counted:
    """`ldmatrix`: eight rows of 16 bytes, by the addresses of their first bytes, are a matrix and a transaction."""
    most = [_most_words([row + byte for row in matrix for byte in range(16)]) for matrix in rows]
    return Counted(sum(most), max(most))


def _most_words(wanted: Sequence[int]) -> int:
    """Different words of one bank, at most."""
    banks: dict[int, set[int]] = {}
    for byte in wanted:
        word = byte // 4
        banks.setdefault(word % 32, set()).add(word)
    return max(len(words) for words in banks.values())
