"""A line of source with a caret under what it is about."""

from __future__ import annotations

import re

_CALLEE = re.compile(r"[A-Za-z_][\w.]*|\S")


def excerpt(line: str, column: int, width: int, *, ellipsis: str = "…") -> tuple[str, str]:
    """A line without its indentation, and a mark to go below it.

    Args:
        line: The line of the file.
        column: Where the operation begins, from 1; 0 where that is not known, and nothing is marked.
        width: Columns that there are; what is longer is cut where the mark is not.
        ellipsis: Stands for what is cut.

    Returns:
        The two, each of at most `width` columns.
    """
    text = line.rstrip().replace("\t", " ")
    indent = len(text) - len(text.lstrip())
    start = column - 1 - indent
    text = text.lstrip()
    begun = _CALLEE.match(text, start) if 0 <= start < len(text) else None
    first, last = (start, begun.end()) if begun is not None else (0, 0)
    if len(text) > width:
        cut = 0 if last <= width - 1 else min(first - 1, len(text) - width + 1)
        text = (ellipsis if cut else "") + text[cut + bool(cut) :]
        first, last = first - cut, min(last - cut, width)
        text = text if len(text) <= width else text[: width - 1] + ellipsis
    mark = " " * first + "^" + "~" * (last - first - 1) if last > first else ""
    return text, mark[:width]
