"""Who touched which part of memory last, and which two of them nothing orders."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from tlxviz.check.extents import Extent, extent_of
from tlxviz.check.order import Knowledge, Standing
from tlxviz.ir.operation import Operation
from tlxviz.sim.observer import At, View


@dataclass(frozen=True, slots=True)
class Access:
    """An operation that touches memory."""

    op: Operation
    at: At
    who: Standing
    """The warp group that does it or has an engine do it."""
    view: View | None
    """None for a descriptor."""
    home: int
    """The CTA whose memory it is."""
    writes: bool
    component: int
    """Whose events it is one of: see `clocks`."""
    index: int
    """Which of them. Who knows of so many knows that it is over."""
    queue: str = ""
    """The engine's queue that it is in; empty for what the warp group does itself."""
    in_order: bool = False
    """Whether the queue does one after the other, so that two of it never meet."""
    generic: bool = False
    """Whether it is of the generic proxy, of which the asynchronous one sees nothing without a fence."""
    asynchronous: bool = False
    """Whether it is of the asynchronous proxy."""
    blank: bool = False
    """Whether it reads what nothing has been written to in this run."""


Conflict = Callable[[Access, Access, Knowledge], None]
_UNFENCED = frozenset({"ttng.async_store", "ttg.async_remote_shmem_copy"})
"""Copies out of shared memory before which the compiler puts no fence of its own."""


@dataclass(eq=False, slots=True)
class _Cell:
    """What happened last to one part of an allocation."""

    extent: Extent
    near: list[_Cell] = field(default_factory=list["_Cell"])
    """Those that it overlaps, itself among them."""
    write: Access | None = None
    reads: dict[int, Access] = field(default_factory=dict[int, Access])
    """The last one of each component since then."""
    number: int = 0
    """Of the write, among all of this run."""


class Memory:
    """The shared and tensor memory of CTAs.

    Args:
        races: Told of two accesses of which one writes and that nothing orders, the later one of this run last.
        unfenced: Told of two that are ordered, but of which the asynchronous proxy might not see the first.
        lost: Told of what was written to some memory, of what was written later over part of it, and of what then reads
            it where the first one wrote.
        unwritten: Told of those that read what nobody has written.
        filled: Told of those that read what an engine has written, and of that write's number.
    """

    def __init__(
        self,
        races: Conflict,
        unfenced: Conflict,
        lost: Callable[[Access, Access, Access], None],
        unwritten: Callable[[Access], None],
        filled: Callable[[Access, int], None],
    ) -> None:
        self._races = races
        self._unfenced = unfenced
        self._lost = lost
        self._unwritten = unwritten
        self._filled = filled
        self._writes = 0
        self._cells: dict[View, _Cell] = {}
        self._descriptors: dict[tuple[int, int], _Cell] = {}
        self._allocations: dict[tuple[int, int], list[_Cell]] = {}

    def touch(self, access: Access) -> None:
        """Compares an access with those before it, and notes it."""
        cell = self._cell(access)
        if not access.writes and all(other.write is None for other in cell.near):
            self._unwritten(access)
        self._touch(cell, access)

    def touch_descriptor(self, access: Access, place: tuple[int, int]) -> None:
        """The same of a descriptor in global memory."""
        cell = self._descriptors.get(place)
        if cell is None:
            cell = self._descriptors[place] = _Cell(Extent(0, 1, 1))
            cell.near.append(cell)
        self._touch(cell, access)

    def _touch(self, cell: _Cell, access: Access) -> None:
        knowledge = access.who.knowledge
        for other in cell.near:
            if other.write is not None:
                self._compare(other.write, access, knowledge)
            if access.writes:
                for read in other.reads.values():
                    self._compare(read, access, knowledge)
        if access.writes:
            self._writes += 1
            cell.write, cell.number = access, self._writes
            cell.reads.clear()
            return
        last = max(cell.near, key=_number)
        if last.write is None:
            access = replace(access, blank=True)
        elif cell.write is not None and last.number > cell.number:
            self._lost(cell.write, last.write, access)
        if last.write is not None and last.write.queue:
            self._filled(access, last.number)
        cell.reads[access.component] = access

    def _compare(self, before: Access, access: Access, knowledge: Knowledge) -> None:
        component = before.component
        if component == access.component and access.in_order:
            return
        if knowledge.clock.get(component, 0) < before.index:
            self._races(before, access, knowledge)
        elif (
            before.generic
            and access.asynchronous
            and (before.who is not access.who or access.op.name in _UNFENCED)
            and knowledge.fenced.get(component, 0) < before.index
        ):
            self._unfenced(before, access, knowledge)

    def _cell(self, access: Access) -> _Cell:
        view = access.view
        assert view is not None
        found = self._cells.get(view)
        if found is None:
            extent = extent_of(view)
            allocation = self._allocations.setdefault((access.home, view.buffer), [])
            found = next((cell for cell in allocation if cell.extent == extent), None)
            if found is None:
                found = _Cell(extent)
                found.near = [cell for cell in allocation if cell.extent.overlaps(extent)]
                for cell in found.near:
                    cell.near.append(found)
                found.near.append(found)
                allocation.append(found)
            self._cells[view] = found
        return found


def _number(cell: _Cell) -> int:
    return cell.number
