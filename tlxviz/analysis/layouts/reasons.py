"""Why a tensor has the layout that it has: the nearest operation that asks for one, along values of the same layout."""

from __future__ import annotations

from collections.abc import Iterator

from tlxviz.analysis.layouts.uses import Uses
from tlxviz.analysis.layouts.words import element_bits, instruction
from tlxviz.ir.encodings import Blocked, Layout, NvidiaMma, Slice, layout_of
from tlxviz.ir.operation import Operation, Value
from tlxviz.ir.types import TensorType

_GLOBAL = {
    "tt.load": "global loads",
    "tt.store": "global stores",
    "tt.atomic_rmw": "atomics",
    "tt.atomic_cas": "atomics",
    "ttg.async_copy_global_to_local": "cp.async",
}
_MOST_NESTED = 8


def reason(value: Value, uses: Uses, depth: int = 0) -> str:
    """Who asked for the layout of a tensor, in a few words; empty where nothing does."""
    type_ = value.type
    if not isinstance(type_, TensorType) or type_.encoding is None or depth > _MOST_NESTED:
        return ""
    layout = layout_of(type_.encoding)
    alike = list(uses.alike(value))
    for strong in (True, False):
        for each in alike:
            for found in _asked(each, layout, uses, strong=strong):
                return found
    return _of_slice(layout, alike, uses, depth) if isinstance(layout, Slice) else ""


def _asked(value: Value, layout: Layout | None, uses: Uses, *, strong: bool) -> Iterator[str]:
    owner = value.owner if isinstance(value.owner, Operation) else None
    if strong:
        if owner is not None:
            yield from _made(owner, value, layout)
        for operation, part in uses.of(value):
            yield from _taken(operation, part, layout)
        return
    if owner is not None and owner.name == "ttg.local_load":
        yield "loads from shared memory"
    for operation, part in uses.of(value):
        if operation.name == "ttg.local_store" and part == "value":
            yield "stores to shared memory"


def _made(operation: Operation, value: Value, layout: Layout | None) -> Iterator[str]:
    match operation.name:
        case "ttng.warp_group_dot":
            yield f"accumulator of {_product(layout, 'wgmma')}"
        case "tt.dot" | "tt.dot_scaled":
            yield f"accumulator of {_product(layout, 'a product without tensor cores')}"
        case "ttng.tmem_load":
            yield "tcgen05.ld: a warp reads its 32 lanes of tensor memory"
        case name if name in _GLOBAL:
            yield _coalesced(_GLOBAL[name], value, layout)
        case _:
            return


def _taken(operation: Operation, part: str, layout: Layout | None) -> Iterator[str]:
    match operation.name, part:
        case "ttng.warp_group_dot", "a":
            yield "operand A of wgmma, from registers"
        case "ttng.warp_group_dot", "c":
            yield f"accumulator of {_product(layout, 'wgmma')}"
        case (("tt.dot" | "tt.dot_scaled"), ("a" | "b")):
            where = "mma.sync" if isinstance(getattr(layout, "parent", None), NvidiaMma) else "a product"
            yield f"operand {part.upper()} of {where}"
        case "tt.dot", "c":
            yield f"accumulator of {_product(layout, 'a product without tensor cores')}"
        case ("ttng.tmem_store", "value") | ("ttng.tmem_alloc", "init"):
            yield "tcgen05.st: a warp writes its 32 lanes of tensor memory"
        case name, _ if name in _GLOBAL:
            pointers = operation.operands[0]
            yield _coalesced(_GLOBAL[name], pointers, layout)
        case _:
            return


def _product(layout: Layout | None, otherwise: str) -> str:
    return instruction(layout) if isinstance(layout, NvidiaMma) else otherwise


def _coalesced(what: str, value: Value, layout: Layout | None) -> str:
    """How much of a row one thread has."""
    if not isinstance(layout, Blocked) or not isinstance(value.type, TensorType):
        return what
    element = value.type.element
    element = getattr(element, "pointee", element)
    wide = layout.size_per_thread[layout.order[0]] * element_bits(element) // 8
    return f"{what}: {wide} bytes a thread, lanes side by side" if wide else what


def _of_slice(layout: Slice, alike: list[Value], uses: Uses, depth: int) -> str:
    for value in alike:
        owner = value.owner if isinstance(value.owner, Operation) else None
        if owner is not None and owner.name == "tt.reduce":
            found = reason(owner.operands[0], uses, depth + 1)
            return f"reduction of: {found}" if found else "what a reduction leaves"
        for operation, _ in uses.of(value):
            if operation.name == "tt.expand_dims":
                found = reason(operation.result, uses, depth + 1)
                return f"spread for: {found}" if found else "spread along another dimension"
    return ""
