"""How values flow: who uses each, and through which operations a tensor keeps its layout."""

from __future__ import annotations

from collections.abc import Iterator

from tlxviz.ir.operation import Block, Module, Operation, Value
from tlxviz.ir.types import Encoding, TensorType

Use = tuple[Operation, str]
"""An operation, and the group of its operands that the value is in."""
LayoutKey = tuple[str, str]
"""Name and parameters of a layout: what tells layouts apart."""


class Uses:
    """Who uses each value of a module."""

    def __init__(self, module: Module) -> None:
        self._users: dict[Value, list[Use]] = {}
        self._flows: dict[Value, list[Value]] = {}
        for operation in module.walk():
            grouped: set[Value] = set()
            for part, values in operation.groups.items():
                for value in values:
                    grouped.add(value)
                    self._users.setdefault(value, []).append((operation, part))
            for value in operation.operands:
                if value not in grouped:
                    self._users.setdefault(value, []).append((operation, ""))
            for one, other in _passed(operation):
                self._flows.setdefault(one, []).append(other)
                self._flows.setdefault(other, []).append(one)

    def of(self, value: Value) -> list[Use]:
        return self._users.get(value, [])

    def alike(self, value: Value) -> Iterator[Value]:
        """Values that have the value's layout because of it, or it because of theirs: the nearest first."""
        wanted = layout_key(value)
        seen, open_ = {value}, [value]
        while open_:
            current, *open_ = open_
            yield current
            for near in self._near(current):
                if near not in seen and layout_key(near) == wanted and wanted is not None:
                    seen.add(near)
                    open_.append(near)

    def _near(self, value: Value) -> Iterator[Value]:
        if isinstance(value.owner, Operation) and not value.owner.regions:
            yield from value.owner.operands
        for operation, _ in self.of(value):
            if not operation.regions:
                yield from operation.results
                yield from operation.operands
        yield from self._flows.get(value, ())


def layout_key(value: Value) -> LayoutKey | None:
    """The layout of a tensor; None for what is no tensor or has none."""
    type_ = value.type
    if not isinstance(type_, TensorType) or type_.encoding is None:
        return None
    return type_.encoding.name, _printed(type_.encoding)


def _printed(encoding: Encoding) -> str:
    return repr(encoding.parameters)


def _passed(operation: Operation) -> Iterator[tuple[Value, Value]]:
    """Values that an operation with regions hands on: into its blocks, around, and out."""
    match operation.name:
        case "scf.for":
            block = operation.regions[0].entry
            init = operation.groups.get("init", ())
            for group in (block.arguments[1:], operation.results, block.yielded):
                yield from zip(init, group, strict=False)
        case "scf.while" | "scf.if":
            for region in operation.regions:
                yield from zip(operation.results, _given(region.blocks[-1]), strict=False)
        case "ttg.warp_specialize":
            for region in operation.regions[1:]:
                yield from zip(operation.operands, region.entry.arguments, strict=False)
        case _:
            return


def _given(block: Block) -> tuple[Value, ...]:
    terminator = block.terminator
    if terminator is not None and terminator.name == "scf.condition":
        return block.yielded[1:]
    return block.yielded
