"""Layouts that somebody writes on the command line: `a_smem=swizzle:64`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tlxviz._errors import UsageError
from tlxviz.ir.encodings import NvmmaShared, PaddedShared, Shared, SwizzledShared

GRAMMAR = "none, swizzle:32, swizzle:64, swizzle:128, swizzled(vec,perPhase,maxPhase) or padded(interval:padding)"
_SWIZZLE = re.compile(r"swizzle:(0|32|64|128)(,transposed)?")
_SWIZZLED = re.compile(r"swizzled\((\d+),(\d+),(\d+)\)(,columns)?")
_PADDED = re.compile(r"padded\((\d+:\+?\d+(?:,\d+:\+?\d+)*)\)(,columns)?")
_LARGEST = 1 << 20


@dataclass(frozen=True, slots=True)
class Given:
    """A layout as it was written, for a buffer."""

    buffer: str
    text: str

    def layout(self, present: object, rank: int, bits: int) -> Shared:
        """The layout, for a buffer of so many dimensions and bits an element, whose layout is `present`.

        Raises UsageError for what is no layout, or none for such a buffer.
        """
        text = re.sub(r"\s", "", self.text)
        if text == "none":
            return NvmmaShared(0, False, bits) if isinstance(present, NvmmaShared) else _swizzled(1, 1, 1, rank)
        if found := _SWIZZLE.fullmatch(text):
            if bits not in (8, 16, 32, 64):
                raise UsageError(f"{self.buffer} has elements of {bits} bits, and swizzle: is for 8, 16, 32 and 64.")
            if rank < 2 and found[1] != "0":
                raise UsageError(f"{self.buffer} has one dimension, and a swizzle exchanges parts of rows.")
            return NvmmaShared(int(found[1]), bool(found[2]), bits)
        if found := _SWIZZLED.fullmatch(text):
            vec, per_phase, max_phase = (self._power(each) for each in found.groups()[:3])
            return _swizzled(vec, per_phase, max_phase, rank, columns=bool(found[4]))
        if found := _PADDED.fullmatch(text):
            pairs = [pair.split(":") for pair in found[1].split(",")]
            intervals = tuple((self._power(a), self._power(b.removeprefix("+"))) for a, b in pairs)
            return PaddedShared(intervals, _order(rank, bool(found[2])))
        raise UsageError(f"{self.text!r} is no layout for {self.buffer}: write {GRAMMAR}.")

    def _power(self, text: str) -> int:
        number = int(text[:9])
        if not 0 < number <= _LARGEST or number & (number - 1):
            raise UsageError(f"{self.text!r} is no layout for {self.buffer}: {text} is no power of two.")
        return number


def parse_given(text: str) -> Given:
    """`NAME=LAYOUT`. Raises UsageError for what is no such pair."""
    name, equals, layout = text.partition("=")
    if not (name.strip() and equals and layout.strip()):
        raise UsageError(f"{text!r} gives no layout: write NAME=LAYOUT, with {GRAMMAR}.")
    return Given(name.strip(), layout.strip())


def _swizzled(vec: int, per_phase: int, max_phase: int, rank: int, *, columns: bool = False) -> SwizzledShared:
    return SwizzledShared(vec, per_phase, max_phase, _order(rank, columns))


def _order(rank: int, columns: bool) -> tuple[int, ...]:
    return tuple(range(rank)) if columns else tuple(reversed(range(rank)))
