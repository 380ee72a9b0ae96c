"""What a kernel is in its first form, before any pass of the compiler: its barrier operations, and where things are."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

_OPERATION = re.compile(
    r"^\s*(?:%[^=]*= )?\"?((?:ttng|ttg|tlx|gpu)\.[\w.]*(?:barrier|wait|arrive|fence)\w*)\b.*?\bloc\((.*)\)$",
    re.MULTILINE,
)
# %x = ttg.local_alloc : () -> ... loc(#loc30)
_RESULT = re.compile(r"^\s*(%[^=]*= .*?)\s*\bloc\(((?:[^()]|\([^()]*\))*)\)$", re.MULTILINE)
_ALIAS = re.compile(r"^(#loc\d*) = loc\((.*)\)$", re.MULTILINE)
_REFERENCE = re.compile(r"#loc\d*")
_PLACE = re.compile(r'^"((?:[^"\\]|\\.)*)":(\d+):(\d+)')
_DEEPEST = 64


def written(text: str) -> list[dict[str, Any]]:
    """Operations with `barrier`, `wait`, `arrive` or `fence` in their names, as `written` in docs/trace.md has them.

    Args:
        text: MLIR as Triton prints it, with places.
    """
    aliases = dict(_ALIAS.findall(text))
    counts = Counter((name, _innermost(place, aliases)) for name, place in _OPERATION.findall(text))
    return [
        {"name": name, "file": file, "line": line, "column": column, "count": count}
        for (name, (file, line, column)), count in counts.items()
        if file
    ]


def places_in(text: str) -> Iterator[tuple[str, tuple[str, int, int]]]:
    """Each line of the text that makes a value, without its place, and the file, line and column where it is written.

    Args:
        text: MLIR as Triton prints it, with places.
    """
    aliases = dict(_ALIAS.findall(text))
    for line, place in _RESULT.findall(text):
        yield line, _innermost(place, aliases)


def _innermost(place: str, aliases: dict[str, str]) -> tuple[str, int, int]:
    """Where the operation itself is written: of calls, names and fusions always the first."""
    for _ in range(_DEEPEST):
        if found := _PLACE.match(place):
            return found[1], int(found[2]), int(found[3])
        reference = _REFERENCE.search(place)
        inline = re.search(r'"(?:[^"\\]|\\.)*":\d+:\d+', place)
        if inline and (reference is None or inline.start() < reference.start()):
            place = inline[0]
        elif reference and reference[0] in aliases:
            place = aliases[reference[0]]
        else:
            break
    return "", 0, 0
