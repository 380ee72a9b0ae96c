"""Waits, fences and barriers that the compiler put into a kernel, and products that it computes otherwise than asked.

What the author writes is compiled to operations with a place of their own, line and column. An operation that the
compiler adds has the place of what it was added for: a wait that of a product or of the loop around it, a fence that of
a product or a store. So an addition is known by whose place it shares, and the source need not be read to know it; a
source line that asks for the operation by name overrules that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from tlxviz.ir.location import Location
from tlxviz.ir.operation import Operation, Region
from tlxviz.ir.program import Agent, Program
from tlxviz.ir.sites import kernel_line
from tlxviz.ir.types import TensorType


@dataclass(frozen=True, slots=True)
class Addition:
    id: str
    agent: int
    """Index of the warp group that executes it."""
    place: Location
    """In the kernel's own source."""
    text: str
    operation: str
    """What it is in the TTGIR: its name, with the attribute that matters."""


class _Form(NamedTuple):
    id: str
    beside: frozenset[str]
    """Operations whose place an added one shares."""
    asked_by: str
    """What a source line says that asks for it."""
    text: str = ""
    """What to say of it, where that does not depend on the operation."""


_PRODUCTS = frozenset({"ttng.warp_group_dot", "tt.dot"})
_LOOPS = frozenset({"scf.for", "scf.while", "scf.if"})
_COPIES = frozenset({"ttg.async_copy_global_to_local"})
_STORES = frozenset({"ttng.async_tma_copy_local_to_global", "ttng.async_tma_reduce", "ttng.async_tma_scatter"})
_LOADS = frozenset({"ttng.async_tma_copy_global_to_local", "ttng.async_tma_gather"})
_LOCAL = frozenset({"ttg.local_alloc", "ttg.local_store", "ttg.local_load", "ttng.init_barrier"})


_MADE_SYNC = "async-mma-made-sync", "asked for asynchronously, the product is waited for where it is issued"


def _in_flight(operation: Operation) -> int:
    return int(operation.attributes.get("pendings", operation.attributes.get("num", 0)))


def _until(operation: Operation) -> str:
    """What an added wait waits for."""
    left = _in_flight(operation)
    copies = operation.name == "ttg.async_wait"
    if not left:
        return f"the compiler waits here until no {'asynchronous copy' if copies else 'product'} is in flight"
    what = "group" if copies else "product"
    of = " of asynchronous copies" if copies else ""
    counted = f"{left} {what}{of} is" if left == 1 else f"{left} {what}s{of} are"
    return f"the compiler waits here until at most {counted} in flight"


_STORE_WAIT = _Form(
    "store-wait-added",
    _STORES,
    "store_wait",
    "the compiler waits for this store until its source has been read",
)
_BARRIER = _Form(
    "barrier-added",
    _PRODUCTS | _LOOPS | _COPIES | _STORES | _LOADS | _LOCAL,
    "barrier",
    "the compiler lets all threads of the warp group meet here",
)
_FORMS: dict[str, _Form] = {
    "ttng.warp_group_dot_wait": _Form("mma-wait-added", _PRODUCTS | _LOOPS, "async_dot_wait"),
    "ttg.async_wait": _Form("copy-wait-added", _COPIES | _LOOPS | _PRODUCTS, "wait_group"),
    "ttng.async_tma_store_wait": _STORE_WAIT,
    "ttng.async_tma_store_token_wait": _STORE_WAIT,
    "ttng.fence_async_shared": _Form(
        "fence-added",
        _PRODUCTS | _STORES | _LOADS,
        "fence",
        "the compiler puts a fence here, before the tensor cores or the TMA engine read what threads wrote",
    ),
    "ttg.barrier": _BARRIER,
    "ttg.local_barrier": _BARRIER,
    "gpu.barrier": _BARRIER,
}


def additions(program: Program, text_of: Callable[[Location], str]) -> list[Addition]:
    """What the compiler added, in the order of the program's text.

    Args:
        text_of: The source line at a place, as far as the trace has it; else empty.
    """
    beside: dict[Location, set[str]] = {}
    for operation in program.module.walk():
        beside.setdefault(operation.location, set()).add(operation.name)
    found: list[Addition] = []
    for operation, agent in _with_agents(program):
        if not operation.location.file:
            continue
        said = _said(operation, beside[operation.location], text_of(operation.location))
        if said is not None:
            site = program.site_of.get(operation)
            place = kernel_line(operation.location, program.kernel.location) if site is None else site.location
            found.append(Addition(said[0], agent.index, place, said[1], _shown(operation)))
    return found


def _with_agents(program: Program) -> Iterator[tuple[Operation, Agent]]:
    """Every operation of the kernel, and of the functions that it calls those that are sites."""
    agents = {id(agent.region): agent for agent in program.agents}

    def inside(region: Region, agent: Agent) -> Iterator[tuple[Operation, Agent]]:
        agent = agents.get(id(region), agent)
        for block in region.blocks:
            for operation in block.operations:
                yield operation, agent
                for inner in operation.regions:
                    yield from inside(inner, agent)

    yield from inside(program.kernel.regions[0], program.agents[0])
    for function in program.module.functions.values():
        if function is not program.kernel:
            for operation in function.walk():
                if operation in program.site_of:
                    yield operation, program.site_of[operation].agent


def _said(operation: Operation, beside: set[str], line: str) -> tuple[str, str] | None:
    """Identifier and text, if the compiler added the operation or computes it otherwise than asked."""
    form = _FORMS.get(operation.name)
    if form is not None:
        if form.beside.isdisjoint(beside) or form.asked_by in line or _repeated(operation):
            return None
        if form.id == "mma-wait-added" and "async_dot" in line and not _in_flight(operation):
            return _MADE_SYNC
        return form.id, form.text or _until(operation)
    if operation.name == "ttng.warp_group_dot" and not operation.attributes.get("isAsync", False):
        if "async_dot" in line:
            return _MADE_SYNC
        return "mma-sync", "the product is waited for where it is issued: nothing overlaps it in this warp group"
    if operation.name == "tt.dot":
        return _without_wgmma(operation)
    return None


def _repeated(operation: Operation) -> bool:
    """Is it a wait for products right before another that waits for as many or more? It costs nothing."""
    if operation.name != "ttng.warp_group_dot_wait" or operation.block is None:
        return False
    operations = operation.block.operations
    following = operations[operations.index(operation) + 1 :][:1]
    return any(each.name == operation.name and _in_flight(each) <= _in_flight(operation) for each in following)


def _without_wgmma(operation: Operation) -> tuple[str, str] | None:
    kind = operation.result.type
    encoding = kind.encoding if isinstance(kind, TensorType) else None
    if encoding is None:
        return None
    if encoding.name != "nvidia_mma":
        return "mma-without-tensor-core", "no tensor core computes this product: multiply-adds of the threads do"
    if encoding.parameters.get("versionMajor") == 2:
        return "mma-by-warps", "mma.sync computes this product, warp by warp from registers, and not wgmma"
    return None


def _shown(operation: Operation) -> str:
    names = ("isAsync", "pendings", "num")
    found = [f"{name} = {operation.attributes[name]}" for name in names if name in operation.attributes]
    return f"{operation.name} {{{', '.join(found)}}}" if found else operation.name
