"""CSV: one line for each event."""

from __future__ import annotations

import csv as csv_module
import io
from collections.abc import Sequence

from tlxviz.exports.model import Cut
from tlxviz.exports.records import Choice, Decimal, Joined, Lines, Piece, Thousandths
from tlxviz.exports.table import Column, Nanoseconds, Texts, table


def csv(cuts: Sequence[Cut]) -> Joined:
    """UTF-8 with a heading; texts are quoted where they need it, times in ns have three decimals."""
    parts: list[bytes | Lines] = []
    for each in cuts:
        columns = table(each)
        parts = parts or [",".join(columns).encode() + b"\n"]
        pieces: list[Piece] = []
        for column in columns.values():
            pieces += [_piece(column), b","]
        pieces[-1] = b"\n"
        parts.append(Lines(pieces, len(each.launch.events)))
    return Joined(parts)


def _piece(column: Column) -> Piece:
    if isinstance(column, Texts):
        return Choice([_quoted(text) for text in column.values], column.index)
    if isinstance(column, Nanoseconds):
        return Thousandths(column.picoseconds)
    return Decimal(column)


def _quoted(text: str) -> bytes:
    line = io.StringIO()
    # Both characters that end lines, else the writer quotes neither; and a second field, since an empty one that stands
    # alone is quoted.
    csv_module.writer(line, lineterminator="\r\n").writerow([text, ""])
    return line.getvalue().removesuffix(",\r\n").encode()
