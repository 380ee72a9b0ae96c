"""Whether the author of a kernel asked for a layout, as far as the kernel's first form says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, cast

from tlxviz.ir.location import Location

_Place = tuple[str, int, int]


class Chosen(StrEnum):
    """Who chose a layout."""

    COMPILER = "compiler"
    AUTHOR = "author"
    UNKNOWN = "unknown"


class Pins:
    """What `layouts` of a launch's metadata (docs/trace.md) says; without it, everything is unknown."""

    def __init__(self, noted: object) -> None:
        table: Mapping[str, Any] = cast("Mapping[str, Any]", noted) if isinstance(noted, Mapping) else {}
        self._rest = _chosen(table.get("rest"))
        self._places: dict[_Place, set[Chosen]] = {}
        listed: object = table.get("places")
        for entry in cast("Sequence[Any]", listed) if isinstance(listed, list | tuple) else ():
            if isinstance(entry, Mapping):
                known = cast("Mapping[str, Any]", entry)
                place = (str(known.get("file")), _number(known.get("line")), _number(known.get("column")))
                self._places.setdefault(place, set()).add(_chosen(known.get("chosen")))

    def of(self, location: Location) -> Chosen:
        """Who chose the layout of what is made at a place; unknown also where the place has several."""
        found = self._places.get((location.file, location.line, location.column))
        if found is None:
            return self._rest
        return next(iter(found)) if len(found) == 1 else Chosen.UNKNOWN


def _chosen(text: object) -> Chosen:
    return Chosen(text) if text in tuple(Chosen) else Chosen.UNKNOWN


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0
