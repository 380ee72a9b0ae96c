"""Tensor memory that the warps of one task read and write in different shares.

A warp reaches a quarter of the lanes only. In a task of more than four warps several share a quarter, and each type has
its own way of dealing columns to them: what one of them stores may be what another one has still to load.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from tlxviz.check.model import Finding, Place, Severity
from tlxviz.check.static.registry import Kernel, rule
from tlxviz.ir.encodings import layout_of as register_layout
from tlxviz.ir.linear import LinearLayout
from tlxviz.ir.operands import affine, captured
from tlxviz.ir.operation import Operation, Value
from tlxviz.ir.places import distributed
from tlxviz.ir.program import Agent, Buffer, Site, SiteKind
from tlxviz.ir.tensor_slots import columns_of
from tlxviz.ir.types import MemDescType, TensorType, bytes_of
from tlxviz.sim.errors import UnsupportedOperation
from tlxviz.sim.tensor_layout import COLUMN_BYTES, LANES, TensorLayout, layout_of

_ALONE = 4
"""Warps of a task that have a quarter of the lanes each."""
_MEETINGS = frozenset(
    {
        "ttg.barrier", "ttg.local_barrier", "gpu.barrier", "ttng.arrive_barrier", "ttng.wait_barrier_named",
        "tt.reduce", "tt.scan", "ttg.convert_layout", "ttg.local_store", "ttg.local_load", "ttg.local_alloc",
    }
)  # fmt: skip
"""Operations at which all warps of a task meet, or may."""


@dataclass(frozen=True, slots=True)
class _Share:
    """Which warp touches which cell: -1 for none."""

    site: Site
    buffer: Buffer
    through: str
    base: Value | None
    """What the first column depends on besides a constant."""
    warps: NDArray[np.int16]
    """By lane and column of 32 bits, from the begin of the allocation."""


@rule
def shares(kernel: Kernel) -> Iterator[Finding]:
    """Loads and stores of a task that deal the same cells to different warps, with no barrier of the task between."""
    for agent in kernel.program.agents:
        sites = [
            site
            for site in kernel.program.sites
            if site.agent is agent and site.kind in (SiteKind.TMEM_LOAD, SiteKind.TMEM_STORE)
        ]
        if agent.warps <= _ALONE or not {SiteKind.TMEM_LOAD, SiteKind.TMEM_STORE} <= {site.kind for site in sites}:
            continue
        yield from _of_agent(kernel, agent, sites)


def _of_agent(kernel: Kernel, agent: Agent, sites: Sequence[Site]) -> Iterator[Finding]:
    found = [share for site in sites if (share := _share(kernel, site)) is not None]
    for first, second in combinations(found, 2):
        if first.buffer is not second.buffer or first.base is not second.base:
            continue
        if SiteKind.TMEM_STORE not in (first.site.kind, second.site.kind) or _meet_between(first.site, second.site):
            continue
        columns = min(first.warps.shape[1], second.warps.shape[1])
        one, other = first.warps[:, :columns], second.warps[:, :columns]
        differ = (one >= 0) & (other >= 0) & (one != other)
        if differ.any():
            lane, column = (int(each[0]) for each in np.nonzero(differ))
            yield _finding(kernel, agent, first, second, (int(one[lane, column]), int(other[lane, column]), column))


def _meet_between(first: Site, second: Site) -> bool:
    """Whether all warps of the task meet between two operations; also where it is not plain that one follows."""
    one, other = first.operation, second.operation
    if one.block is None or one.block is not other.block:
        return True
    operations = one.block.operations
    begin, end = operations.index(one), operations.index(other)
    between = operations[begin + 1 : end]
    return any(op.name in _MEETINGS for each in between for op in each.walk())


def _share(kernel: Kernel, site: Site) -> _Share | None:
    op = site.operation
    loads = site.kind is SiteKind.TMEM_LOAD
    memory = op.groups["src"][0] if loads else op.groups["dst"][0]
    values = op.results[0] if loads else next(value for value in op.operands if isinstance(value.type, TensorType))
    root = kernel.program.roots.get(memory)
    if (
        not isinstance(root, Buffer)
        or not isinstance(memory.type, MemDescType)
        or not isinstance(values.type, TensorType)
    ):
        return None
    start = _column(memory)
    places = distributed(register_layout(values.type.encoding), values.type.shape)
    if start is None or places is None:
        return None
    try:
        layout = layout_of(memory.type)
    except UnsupportedOperation:
        return None
    base, column = start
    return _Share(site, root, _name(memory, root), base, _cells(places, layout, memory.type, column))


def _column(memory: Value) -> tuple[Value | None, int] | None:
    """The first column of a view, as a value and a constant that is added; None where nobody can tell."""
    base: Value | None = None
    column = 0
    value = captured(memory)
    while isinstance(value.owner, Operation):
        made, type_ = value.owner, value.type
        if made.name == "ttng.tmem_alloc":
            return base, column
        if made.name == "ttg.memdesc_index" and isinstance(type_, MemDescType):
            index = affine(made.operands[1])
            if index.base is not None:
                if base is not None:
                    return None
                base = index.base
            column += index.offset * columns_of(type_)
        elif made.name == "ttng.tmem_subslice" and isinstance(type_, MemDescType):
            column += int(made.attributes["N"]) * bytes_of(type_.element) // COLUMN_BYTES
        elif made.name != "ttg.memdesc_reinterpret":
            return None
        value = captured(made.operands[0])
    return None


def _cells(places: LinearLayout, layout: TensorLayout, type_: MemDescType, column: int) -> NDArray[np.int16]:
    """The warp of each cell."""
    kinds = [kind for kind in ("register", "lane", "warp") if kind in places.bases]
    coordinates = np.zeros((1, len(places.shape)), np.int64)
    warps = np.zeros(1, np.int64)
    for kind in kinds:
        for bit, basis in enumerate(places.bases[kind]):
            coordinates = np.concatenate([coordinates, coordinates ^ np.array(basis)])
            warps = np.concatenate([warps, warps | (1 << bit if kind == "warp" else 0)])
    lanes = np.zeros(len(warps), np.int64)
    elements = np.zeros(len(warps), np.int64)
    for dimension, pieces in enumerate(layout.axes):
        rest = coordinates[:, dimension]
        for piece in reversed(pieces):
            step, rest = rest % piece.count, rest // piece.count
            lanes += step * piece.lanes
            elements += step * piece.elements
    columns = column + elements * bytes_of(type_.element) // COLUMN_BYTES
    found = np.full((LANES, int(columns.max()) + 1), -1, np.int16)
    found[lanes, columns] = warps
    return found


def _name(memory: Value, buffer: Buffer) -> str:
    value = captured(memory)
    while isinstance(value.owner, Operation) and value.owner.operands:
        made = value.owner
        if made.name == "ttg.memdesc_reinterpret" and isinstance(made.result.type, MemDescType):
            return f"{buffer.name} as {made.result.type.element}"
        value = captured(made.operands[0])
    return buffer.name


def _finding(kernel: Kernel, agent: Agent, first: _Share, second: _Share, clash: tuple[int, int, int]) -> Finding:
    earlier, later, column = clash
    doing = {SiteKind.TMEM_LOAD: "loads", SiteKind.TMEM_STORE: "stores"}
    name = first.buffer.name

    def place(share: _Share) -> Place:
        site = share.site
        return Place(f"{doing[site.kind]} {name}", agent.name, site.location, name, -1, -1)

    return kernel.finding(
        "tmem-alias",
        Severity.ERROR,
        f"{agent.name} {doing[second.site.kind]} {name} over what it {doing[first.site.kind]} there: in column "
        f"{column}, warp {later} may come before warp {earlier} is done",
        [place(second), place(first)],
        (f"the {agent.warps} warps share the columns in another way at each of the two, and do not meet between",),
        "Let the warps of the task meet between the two: tl.debug_barrier().",
    )
