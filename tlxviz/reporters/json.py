"""The report for programs: one line of JSON. docs/report.md describes its schema."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TextIO, cast

from tlxviz.analysis.summary import Summary

SCHEMA = "tlxviz.report"
VERSION = 1
"""Grows when a field changes its meaning or goes; new fields leave it."""


@dataclass(frozen=True, slots=True)
class JsonReporter:
    summaries: Sequence[Summary]

    def document(self) -> dict[str, Any]:
        """The report as plain data."""
        launches = [plain(asdict(summary)) for summary in self.summaries]
        return {"schema": SCHEMA, "version": VERSION, "launches": launches}

    def render(self, stream: TextIO) -> None:
        stream.write(json.dumps(self.document(), allow_nan=False) + "\n")


def plain(value: object) -> Any:
    """What JSON can hold: infinities and NaNs, which an argument may be, as text."""
    match value:
        case bool() | int() | str() | None:
            return value
        case float():
            return value if math.isfinite(value) else str(value)
        case Mapping():
            return {str(key): plain(each) for key, each in cast(Mapping[object, object], value).items()}
        case list() | tuple():
            return [plain(each) for each in cast(Sequence[object], value)]
        case _:
            return str(value)
