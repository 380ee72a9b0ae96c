"""CSV: one line for each event."""

from __future__ import annotations

import csv as csv_module
import io
from collections.abc import Sequence

from tlxviz.exports.model import Cut
from tlxviz.exports.table import table


def csv(cuts: Sequence[Cut]) -> bytes:
    """UTF-8 with a heading; texts are quoted where they need it, times in ns have three decimals."""
    columns = table(cuts)
    text = io.StringIO()
    writer = csv_module.writer(text, lineterminator="\n")
    writer.writerow(columns)
    written = [
        [f"{value:.3f}" for value in column.tolist()] if column.dtype.kind == "f" else column.tolist()
        for column in columns.values()
    ]
    writer.writerows(zip(*written, strict=True))
    return text.getvalue().encode()
