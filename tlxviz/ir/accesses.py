"""Which operations read and write a kernel's buffers."""

from __future__ import annotations

from dataclasses import dataclass

from tlxviz.ir.operands import SlotIndex, slot_index
from tlxviz.ir.operation import Operation, Value
from tlxviz.ir.program import Agent, Buffer, Program
from tlxviz.ir.roots import has_root

_READ = frozenset({"a", "b", "a_scale", "b_scale", "src"})
_QUERIES = frozenset({"ttng.clc_query_cancel"})
"""Operations that read all that they are given."""
_ORDER = frozenset({"inputs", "deps", "descs"})
"""Groups that say what an operation waits for, and that it does nothing with."""
_VIEWS = (
    "ttg.memdesc_",
    "ttng.tmem_subslice",
    "ttng.map_to_remote_buffer",
    "scf.",
    "ttg.warp_",
    "tt.call",
    "tt.return",
)


@dataclass(frozen=True, slots=True)
class Access:
    """An operation that reads or writes a buffer."""

    buffer: Buffer
    operation: Operation
    part: str
    """The group of its operands that the buffer is in."""
    value: Value
    """The operand, or the result of an allocation with contents."""
    index: SlotIndex | None
    """The slot; None where nothing tells."""
    writes: bool


def accesses(program: Program) -> tuple[Access, ...]:
    """All of them, in the order of the TTGIR. What is neither a read nor a view counts as a write."""
    found: list[Access] = []
    for operation in program.module.walk():
        if operation.name.startswith(_VIEWS) or operation.name == "ttg.local_dealloc":
            continue
        if operation.name in ("ttg.local_alloc", "ttng.tmem_alloc"):
            root = program.roots.get(operation.results[0]) if operation.operands else None
            if isinstance(root, Buffer):
                result = operation.results[0]
                found.append(Access(root, operation, "init", result, slot_index(result), True))
            continue
        for part, values in operation.groups.items():
            if part in _ORDER:
                continue
            found += [made for value in values if (made := _access(program, operation, part, value)) is not None]
    return tuple(found)


def _access(program: Program, operation: Operation, part: str, value: Value) -> Access | None:
    root = program.roots.get(value) if has_root(value) else None
    if not isinstance(root, Buffer):
        return None
    return Access(root, operation, part, value, slot_index(value), part not in _READ and operation.name not in _QUERIES)


def agent_of(program: Program, operation: Operation) -> Agent | None:
    """The warp group in whose region an operation stands; None in a function that is not inlined."""
    regions = {each.region: each for each in program.agents}
    block = operation.block
    while block is not None and block.region is not None:
        if block.region in regions:
            return regions[block.region]
        parent = block.region.parent
        block = parent.block if parent is not None else None
    return None
