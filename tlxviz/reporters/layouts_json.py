"""The layouts of a kernel for programs: one line of JSON, which docs/layouts.md describes."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from typing import Any, TextIO, cast

from tlxviz.analysis.layouts.model import KernelLayouts
from tlxviz.analysis.layouts.words import describe
from tlxviz.ir.encodings import (
    Blocked,
    DotOperand,
    Linear,
    NvidiaMma,
    NvmmaShared,
    Other,
    PaddedShared,
    SharedLinear,
    Slice,
    SwizzledShared,
    TensorMemory,
    TensorMemoryScales,
)
from tlxviz.ir.location import Location

SCHEMA = "tlxviz.layouts"
VERSION = 1
"""Grows when a field changes its meaning or goes; new fields leave it."""
_LAYOUTS = (
    Blocked
    | DotOperand
    | Linear
    | NvidiaMma
    | NvmmaShared
    | Other
    | PaddedShared
    | SharedLinear
    | Slice
    | SwizzledShared
    | TensorMemory
    | TensorMemoryScales
)


@dataclass(frozen=True, slots=True)
class LayoutsJsonReporter:
    kernels: Sequence[KernelLayouts]

    def document(self) -> dict[str, Any]:
        """The report as plain data."""
        return {"schema": SCHEMA, "version": VERSION, "kernels": [_plain(kernel) for kernel in self.kernels]}

    def render(self, stream: TextIO) -> None:
        stream.write(json.dumps(self.document(), allow_nan=False) + "\n")


def _plain(value: object) -> Any:
    match value:
        case Enum():
            return value.value
        case Location():
            return {"file": value.file, "line": value.line}
        case tuple():
            return [_plain(each) for each in cast("tuple[object, ...]", value)]
        case _ if is_dataclass(value):
            named = {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
            if isinstance(value, _LAYOUTS):
                return {"kind": _kind(type(value).__name__), "words": describe(value)} | named
            return named
        case _:
            return value


def _kind(name: str) -> str:
    """`nvmma_shared` for `NvmmaShared`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
