"""Why a tensor has the layout that it has: the nearest operation that asks for one, along values of the same layout."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tlxviz.analysis.layouts.uses import LayoutKey, Uses, layout_key
from tlxviz.analysis.layouts.words import element_bits, instruction
from tlxviz.ir.encodings import Blocked, Layout, NvidiaMma, layout_of
from tlxviz.ir.operation import Operation, Value
from tlxviz.ir.types import TensorType

_GLOBAL = {
    "tt.load": "global loads",
    "tt.store": "global stores",
    "tt.atomic_rmw": "atomics",
    "tt.atomic_cas": "atomics",
    "ttg.async_copy_global_to_local": "cp.async",
}
_RESHAPED_BY = {
    "tt.reduce": "reduction",
    "tt.expand_dims": "spread",
    "tt.broadcast": "spread",
    "tt.reshape": "reshape",
    "tt.trans": "transposition",
    "tt.split": "split",
    "tt.join": "join",
    "tt.cat": "concatenation",
    "ttg.fp4_to_fp": "unpacking",
}
"""Operations whose result has another layout that follows from that of what they are given, and the other way round."""
_MOST_NESTED = 8


def reason(value: Value, uses: Uses) -> str:
    """Who asked for the layout of a tensor, in a few words; empty where nothing does."""
    return _reason(value, uses, frozenset())


def _reason(value: Value, uses: Uses, before: frozenset[LayoutKey]) -> str:
    """The same, without going back to layouts that were looked at before."""
    key = layout_key(value)
    type_ = value.type
    if key is None or key in before or not isinstance(type_, TensorType) or len(before) > _MOST_NESTED:
        return ""
    layout = layout_of(type_.encoding)
    alike = list(uses.alike(value))
    for strong in (True, False):
        for each in alike:
            for found in _asked(each, layout, uses, strong=strong):
                return found
    return next(_derived(alike, uses, before | {key}), "")


def _derived(alike: Sequence[Value], uses: Uses, before: frozenset[LayoutKey]) -> Iterator[str]:
    """What asks for a layout from which this one follows, or that follows from it."""
    for value in alike:
        owner = value.owner if isinstance(value.owner, Operation) else None
        if owner is not None and owner.name in _RESHAPED_BY and (found := _reason(owner.operands[0], uses, before)):
            yield f"{_RESHAPED_BY[owner.name]} of: {found}"
    for value in alike:
        for operation, _ in uses.of(value):
            if operation.name in _RESHAPED_BY and operation.results:
                found = _reason(operation.results[0], uses, before)
                if found:
                    yield f"{_RESHAPED_BY[operation.name]} for: {found}"


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
