"""Which arguments of a kernel it may write through, and whether its CTAs can wait for each other through memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

from tlxviz.ir.markers import is_marker
from tlxviz.ir.operation import Operation, Value
from tlxviz.ir.program import Program
from tlxviz.ir.types import PointerType, TensorDescType, TensorType, element_of
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
_ATOMICS = frozenset({"tt.atomic_rmw", "tt.atomic_cas"})
_PRODUCTS = frozenset({"tt.dot", "ttng.warp_group_dot", "ttng.tc_gen5_mma", "ttng.tc_gen5_mma_scaled"})


@lru_cache(maxsize=64)
def written_arguments(program: Program) -> set[int] | None:
    """Positions of the parameters that stores can reach; None where a store goes to a place that cannot be followed."""
    targets: list[Value] = []
    for op in program.module.walk():
        part = _TARGETS.get(op.name)
        if part is not None:
            targets += op.groups.get(part, ())
        elif op.name == "tt.call" or _touches_memory(op):
            targets += [value for value in op.operands if _is_address(value)]
    return _arguments(program, targets)


_LOADS = {
    "tt.load": "ptr",
    "ttg.async_copy_global_to_local": "ptr",
    "ttng.async_tma_copy_global_to_local": "desc",
    "ttng.async_tma_gather": "desc",
    "tt.descriptor_load": "desc",
}


@lru_cache(maxsize=64)
def own_loads(program: Program) -> frozenset[Operation]:
    """Loads of what no other CTA is taken to want: of arguments that no load in the innermost loops reads.

    What a CTA walks along, others walk along as well, at about the same time; what it reads once is its own.
    """
    depths: dict[Operation, int] = {}

    def visit(op: Operation, depth: int) -> None:
        if op.name in _LOADS:
            depths[op] = depth
        inside = depth + (op.name in ("scf.for", "scf.while"))
        for region in op.regions:
            for block in region.blocks:
                for inner in block.operations:
                    visit(inner, inside)

    for function in program.module.functions.values():
        visit(function, 0)
    deepest = max(depths.values(), default=0)
    if deepest == 0:
        return frozenset(depths)
    read = {op: _arguments(program, op.groups[_LOADS[op.name]]) for op in depths}
    common: set[int] = set()
    for op, depth in depths.items():
        if depth == deepest:
            common |= read[op] or set()
    return frozenset(
        op
        for op, depth in depths.items()
        if depth < deepest and read[op] is not None and not (read[op] or set()) & common
    )


def descriptor_name(program: Program, op: Operation) -> str:
    """A name for the descriptor of a TMA load, if it is an argument of the kernel."""
    positions = _arguments(program, op.groups["desc"])
    return ",".join(map(str, sorted(positions))) if positions else ""


@lru_cache(maxsize=64)
def multiplies(program: Program) -> bool:
    """Whether it uses the tensor cores, and so much power that the SM clock falls."""
    return any(op.name in _PRODUCTS for op in program.module.walk())


@lru_cache(maxsize=64)
def shares(program: Program) -> bool:
    """Whether CTAs are taken to want the same bytes."""
    return any(op.name in _LOADS and op not in own_loads(program) for op in program.module.walk())


@lru_cache(maxsize=64)
def computes_addresses(program: Program) -> bool:
    """Whether it makes pointers of integers, and so may reach tensors that are no arguments."""
    return any(op.name == "tt.int_to_ptr" or _touches_memory(op) for op in program.module.walk())


def waits_for_memory(op: Operation) -> bool:
    """Whether an operation in a loop can be there to wait until somebody writes what it reads."""
    scalar_load = op.name == "tt.load" and not isinstance(op.groups["ptr"][0].type, TensorType)
    return op.name in _ATOMICS or scalar_load or _touches_memory(op)


def waiting_loops(program: Program) -> list[Operation]:
    """Operations that read memory in loops whose trip count is not known when they begin."""
    found: dict[Operation, None] = {}
    for op in program.module.walk():
        if op.name == "scf.while" or any(len(region.blocks) > 1 for region in op.regions):
            found.update((inner, None) for inner in op.walk() if waits_for_memory(inner))
    return list(found)


@lru_cache(maxsize=64)
def takes_over(program: Program) -> bool:
    """Whether CTAs ask for others that have not started, so that the order of time says who does which work."""
    return any(op.name == "ttng.async_clc_try_cancel" for op in program.module.walk())


@lru_cache(maxsize=64)
def talks(program: Program) -> bool:
    """Whether CTAs can wait for each other, or agree on their work, through global memory."""
    polled: list[Value] = []
    for op in waiting_loops(program):
        if op.name != "tt.load" or op.attributes.get("isVolatile"):
            return True
        polled += op.groups["ptr"]
    if any(op.name in _ATOMICS or _touches_memory(op) for op in program.module.walk()):
        return True
    if not polled:
        return False
    read, written = _arguments(program, polled), written_arguments(program)
    return read is None or written is None or bool(read & written)


def _touches_memory(op: Operation) -> bool:
    """Inline assembly that may read or write memory."""
    return op.name == "tt.elementwise_inline_asm" and not op.attributes.get("pure", False) and not is_marker(op)


def _arguments(program: Program, values: Iterable[Value]) -> set[int] | None:
    """Positions of the parameters that addresses come from; None where one cannot be followed."""
    sources: dict[Value, list[Value]] = {}
    definition: dict[Value, Operation] = {}
    for op in program.module.walk():
        for value, source in flows(op):
            sources.setdefault(value, []).append(source)
        for result in op.results:
            definition[result] = op
    positions = {value: position for position, value in enumerate(program.kernel.regions[0].entry.arguments)}
    found: set[int] = set()
    seen: set[Value] = set()
    work = list(values)
    while work:
        value = work.pop()
        if value in seen:
            continue
        seen.add(value)
        if value in positions:
            found.add(positions[value])
            continue
        origins = [*sources.get(value, ()), *_through(definition.get(value))]
        if not origins:
            return None
        work += origins
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
