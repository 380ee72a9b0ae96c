"""Which wait of a producer is for the slot that one of its copies fills."""

from __future__ import annotations

from tlxviz.ir.accesses import Access
from tlxviz.ir.operands import slot_index
from tlxviz.ir.operation import Operation
from tlxviz.ir.program import BarrierArray, Program, Site, SiteKind


def guard_of(program: Program, copy: Access) -> Site | None:
    """The wait before a copy whose barrier has the index of the slot that is filled; None if none has, or several.

    It stands in the copy's own block, behind the copies before it, or before those that come with it. A barrier that
    copies complete tells that data are there, and guards no slot.
    """
    block, index = copy.operation.block, copy.index
    if block is None or index is None:
        return None
    waits: list[Operation] = []
    before = block.operations[: block.operations.index(copy.operation)]
    for each in reversed(before):
        if each.name == "ttng.wait_barrier":
            waits.append(each)
        elif _copies(program, each) and waits:
            break
    filled = _completed_by_copies(program)
    fits: list[Site] = []
    for each in waits:
        barrier = each.groups["barrier"][0]
        root = program.roots.get(barrier)
        if isinstance(root, BarrierArray) and root.index not in filled and slot_index(barrier) == index:
            fits.append(program.site_of[each])
    return fits[0] if len(fits) == 1 else None


def _copies(program: Program, operation: Operation) -> bool:
    site = program.site_of.get(operation)
    return site is not None and site.kind is SiteKind.TMA_LOAD


def _completed_by_copies(program: Program) -> set[int]:
    """Numbers of the barrier arrays that TMA completes, or on which bytes are expected."""
    found: set[int] = set()
    for site in program.sites:
        if site.kind in (SiteKind.TMA_LOAD, SiteKind.EXPECT):
            for value in site.operation.groups.get("barrier", ()):
                root = program.roots.get(value)
                if isinstance(root, BarrierArray):
                    found.add(root.index)
    return found
