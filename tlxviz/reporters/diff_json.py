"""A comparison for programs: one line of JSON. docs/diff.md describes its schema."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, TextIO

from tlxviz.analysis.difference import Difference
from tlxviz.reporters.json import plain

SCHEMA = "tlxviz.diff"
VERSION = 1
"""Grows when a field changes its meaning or goes; new fields leave it."""


@dataclass(frozen=True, slots=True)
class DiffJsonReporter:
    differences: Sequence[Difference]

    def document(self) -> dict[str, Any]:
        """The comparison as plain data."""
        return {"schema": SCHEMA, "version": VERSION, "launches": [_launch(each) for each in self.differences]}

    def render(self, stream: TextIO) -> None:
        stream.write(json.dumps(self.document(), allow_nan=False) + "\n")


def _launch(found: Difference) -> dict[str, Any]:
    """The fields, and what is computed from them for those who would have to do so as well."""
    document: dict[str, Any] = plain(asdict(found))
    for made, cause in zip(document["causes"], found.causes, strict=True):
        made["difference"], made["named"] = cause.difference, cause.named
        for inner, part in zip(made["parts"], cause.parts, strict=True):
            inner["difference"] = part.difference
    for made, site in zip(document["sites"], found.sites, strict=True):
        made["difference"] = site.difference
    return document
