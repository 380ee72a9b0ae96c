"""Where the compiler puts a program's memory: as its operations say, or as a trace's metadata does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from tlxviz.ir.operation import Operation
from tlxviz.ir.program import Program

_CALL = "tt.call"


@dataclass(frozen=True, slots=True)
class Placement:
    """Empty where nobody says."""

    offsets: Mapping[Operation, int] = field(default_factory=dict[Operation, int])
    """Bytes from the begin of a CTA's shared memory, of all operations that have some."""
    columns: Mapping[Operation, tuple[int, int]] = field(default_factory=dict[Operation, tuple[int, int]])
    """Row and column of 32 bits where tensor memory begins."""
    shared: int | None = None
    """Bytes of shared memory of a CTA."""


def placement(program: Program, allocation: Mapping[str, Any] | None = None) -> Placement:
    """Where the memory of a kernel is.

    Args:
        program: The kernel; what its operations say comes first.
        allocation: `allocation` of a trace's metadata (docs/trace.md). Nothing is known if it is not about this TTGIR.
    """
    shared = program.module.attributes.get("ttg.shared")
    entries = dict(_own(program))
    told = _told(program, allocation) if allocation is not None else {}
    if told and allocation is not None and not any("offset" in entry for entry in entries.values()):
        shared, entries = allocation.get("shared"), told
    offsets = {each: entry["offset"] for each, entry in entries.items() if "offset" in entry}
    columns = {each: (entry.get("row", 0), entry["column"]) for each, entry in entries.items() if "column" in entry}
    return Placement(_absolute(program, offsets), columns, shared if isinstance(shared, int) else None)


_ATTRIBUTES = {
    "offset": "allocation.offset",
    "column": "tensor_memory_col_offset",
    "row": "tensor_memory_row_offset",
}


def _own(program: Program) -> Iterator[tuple[Operation, dict[str, int]]]:
    for operation in program.module.walk():
        found = {key: operation.attributes.get(name) for key, name in _ATTRIBUTES.items()}
        entry = {key: value for key, value in found.items() if isinstance(value, int)}
        if entry:
            yield operation, entry


def _told(program: Program, allocation: Mapping[str, Any]) -> dict[Operation, dict[str, int]]:
    """What the metadata says; nothing where it names an operation that is not there, or leaves an allocation out."""
    by_line = {operation.line: operation for operation in program.module.walk()}
    told = allocation.get("operations")
    found: dict[Operation, dict[str, int]] = {}
    for entry in cast("list[object]", told) if isinstance(told, list) else ():
        values = cast("dict[str, object]", entry) if isinstance(entry, dict) else {}
        line = values.get("line")
        operation = by_line.get(line) if isinstance(line, int) else None
        if operation is None or operation.name != values.get("name"):
            return {}
        found[operation] = {
            key: value for key in _ATTRIBUTES if isinstance(value := values.get(key), int) and value >= 0
        }
    whole = all(found.get(each.operation) for each in (*program.barriers, *program.buffers))
    return found if whole else {}


def _absolute(program: Program, offsets: Mapping[Operation, int]) -> dict[Operation, int]:
    """Offsets in the CTA's memory. Those of a function count from where a call puts it: unknown if calls differ."""
    inside = {name: list(function.walk()) for name, function in program.module.functions.items()}
    bases = {
        name: {0} if function is program.kernel else set[int]() for name, function in program.module.functions.items()
    }
    for _ in inside:  # as deep as calls go
        for name, operations in inside.items():
            for call in operations:
                if call.name == _CALL and call in offsets:
                    bases.setdefault(call.attributes["callee"], set()).update(
                        base + offsets[call] for base in bases[name]
                    )
    found: dict[Operation, int] = {}
    for name, operations in inside.items():
        if len(bases[name]) == 1:
            (base,) = bases[name]
            found |= {each: base + offsets[each] for each in operations if each in offsets and each.name != _CALL}
    return found
