"""Which arguments of a kernel it may write through."""

from __future__ import annotations

from collections.abc import Iterator

from tlxviz.ir.operation import Operation, Value
from tlxviz.ir.program import Program
from tlxviz.ir.types import PointerType, TensorDescType, element_of
from tlxviz.sim.liveness import flows

_TARGETS = {
    "tt.store": "ptr",
    "tt.atomic_rmw": "ptr",
    "tt.atomic_cas": "ptr",
    "tt.descriptor_store": "desc",
    "tt.descriptor_reduce": "desc",
    "ttng.async_tma_copy_local_to_global": "desc",
    "ttng.async_tma_reduce": "desc",
    "ttng.async_tma_scatter": "desc",
    "ttng.async_store": "dst",
}


def written_arguments(program: Program) -> set[int] | None:
    """Positions of the parameters that stores can reach; None where a store goes to a place that cannot be followed."""
    sources: dict[Value, list[Value]] = {}
    definition: dict[Value, Operation] = {}
    targets: list[Value] = []
    for op in program.module.walk():
        for value, source in flows(op):
            sources.setdefault(value, []).append(source)
        for result in op.results:
            definition[result] = op
        part = _TARGETS.get(op.name)
        if part is not None:
            targets += op.groups.get(part, ())
        elif op.name in ("tt.call", "tt.elementwise_inline_asm") and any(_is_address(value) for value in op.operands):
            targets += [value for value in op.operands if _is_address(value)]
    arguments = {value: position for position, value in enumerate(program.kernel.regions[0].entry.arguments)}
    found: set[int] = set()
    seen: set[Value] = set()
    while targets:
        value = targets.pop()
        if value in seen:
            continue
        seen.add(value)
        if value in arguments:
            found.add(arguments[value])
            continue
        origins = [*sources.get(value, ()), *_through(definition.get(value))]
        if not origins:
            return None
        targets += origins
    return found


def _is_address(value: Value) -> bool:
    return isinstance(value.type, TensorDescType) or isinstance(element_of(value.type), PointerType)


def _through(op: Operation | None) -> Iterator[Value]:
    """Where a pointer or descriptor that `op` gives comes from."""
    if op is None or op.name in ("tt.load", "tt.int_to_ptr"):
        return
    if op.name == "ttng.reinterpret_tensor_descriptor":
        # the descriptor in this memory was made from an address somewhere else: all of them count
        assert op.block is not None
        yield from _addresses(op)
        return
    yield from (value for value in op.operands if _is_address(value))


def _addresses(op: Operation) -> Iterator[Value]:
    block = op.block
    while block is not None and block.region is not None:
        for other in block.region.walk():
            if other.name == "ttng.tensormap_create":
                yield from other.groups["global_address"]
        parent = block.region.parent
        block = parent.block if parent is not None else None
