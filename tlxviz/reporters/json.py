"""The report for programs: one line of JSON. docs/report.md describes its schema."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import IntEnum
from typing import Any, TextIO, cast

from tlxviz.analysis.account import Account
from tlxviz.analysis.summary import Summary

SCHEMA = "tlxviz.report"
VERSION = 1
"""Grows when a field changes its meaning or goes; new fields leave it."""


@dataclass(frozen=True, slots=True)
class JsonReporter:
    summaries: Sequence[Summary]
    accounts: Sequence[Account] = ()
    """For each launch; without them, the document has no sections."""

    def document(self) -> dict[str, Any]:
        """The report as plain data."""
        launches = [plain(asdict(summary)) for summary in self.summaries]
        for launch, account in zip(launches, self.accounts, strict=False):
            launch |= _sections(account)
        return {"schema": SCHEMA, "version": VERSION, "launches": launches}

    def render(self, stream: TextIO) -> None:
        stream.write(json.dumps(self.document(), allow_nan=False) + "\n")


def _sections(account: Account) -> dict[str, Any]:
    """What the sections of the text report have, by their names."""
    path, roofs, made = account.path, account.roofline, account.compiled
    return {
        "causes": [_record(each) for each in account.attribution],
        "path": None if path is None else _record(replace(path, stretches=()), "stretches"),
        "slack": [_record(each) for each in account.slack],
        "steady": [_record(each) for each in account.steady.values() if each is not None],
        "rings": [_record(replace(each, **_NO_ARRAYS), *_NO_ARRAYS) for each in account.rings],
        "roofline": None if roofs is None else _record(roofs),
        "compiler": None if made is None else _record(made),
    }


_NO_ARRAYS: dict[str, Any] = {"fills": None, "occupancy": None}


def _record(value: Any, *without: str) -> dict[str, Any]:
    return {name: plain(each) for name, each in asdict(value).items() if name not in without}


def plain(value: object) -> Any:
    """What JSON can hold: infinities and NaNs, which an argument may be, as text."""
    match value:
        case IntEnum():
            return value.name.lower()
        case bool() | int() | str() | None:
            return value
        case float():
            return value if math.isfinite(value) else str(value)
        case Mapping():
            return {str(plain(key)): plain(each) for key, each in cast(Mapping[object, object], value).items()}
        case list() | tuple():
            return [plain(each) for each in cast(Sequence[object], value)]
        case _:
            return str(value)
