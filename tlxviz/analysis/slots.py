"""Which slot of a buffer or barrier array an operand was; an event's own column is of one operand alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tlxviz.ir.operands import Operand, SlotIndex, operand, recorded_operand
from tlxviz.ir.operation import Operation
from tlxviz.ir.program import Program, Site
from tlxviz.trace.model import LaunchTrace, TrackKind

Int64 = NDArray[np.int64]
UNKNOWN = -1


class Slots:
    """Slots of operands, from columns of the trace and the program's arithmetic on indices. Nothing is guessed:

    - a constant index, and memory without slots, which is slot 0;
    - the slot that the event's column says, where the program makes both indices of one number and constants;
    - the slot in the column of an operation that the warp group did before, in the same pass through its block or one
      around it, whose index is made of the same number.
    """

    def __init__(self, launch: LaunchTrace, program: Program) -> None:
        self._launch = launch
        self._sites = program.sites
        self._recorded: dict[int, Operand] = {}
        for site in program.sites:
            group = recorded_operand(site)
            made = operand(program, site, group) if group else None
            if made is not None and made.root is not None and made.index is not None:
                self._recorded[site.index] = made
        self._on_group = np.array([each.kind is TrackKind.WARP_GROUP for each in launch.tracks] or [False])
        self._rows: dict[int, tuple[Int64, Int64]] = {}

    def of(self, site: Site, wanted: SlotIndex | None, slots: int, rows: Int64) -> Int64:
        """The slot that `wanted` was at each of some events of a site on warp groups' tracks; -1 where nobody knows.

        Args:
            slots: How many there are: what is no slot of these is not known.
        """
        found = self._found(site, wanted, rows)
        return np.where((found >= 0) & (found < slots), found, UNKNOWN)

    def _found(self, site: Site, wanted: SlotIndex | None, rows: Int64) -> Int64:
        if wanted is None:
            return np.full(len(rows), UNKNOWN, np.int64)
        if wanted.base is None:
            return np.full(len(rows), wanted.offset, np.int64)
        own = self._recorded.get(site.index)
        if own is not None and own.index is not None and own.index.base is wanted.base:
            return self._shifted(self._launch.events["slot"][rows].astype(np.int64), own.index, wanted)
        for each, recorded in self._recorded.items():
            index = recorded.index
            if index is not None and index.base is wanted.base and _before(self._sites[each].operation, site.operation):
                last = self._same_pass(self.latest(each, rows), rows, self._sites[each], site)
                slot = np.where(last >= 0, self._launch.events["slot"][last], UNKNOWN).astype(np.int64)
                return self._shifted(slot, index, wanted)
        return np.full(len(rows), UNKNOWN, np.int64)

    @staticmethod
    def _shifted(slot: Int64, known: SlotIndex, wanted: SlotIndex) -> Int64:
        return np.where(slot >= 0, slot - known.offset + wanted.offset, UNKNOWN)

    def _same_pass(self, last: Int64, rows: Int64, one: Site, other: Site) -> Int64:
        """`last` where the iterations agree, -1 elsewhere: where one was not recorded, an earlier one is found."""
        events = self._launch.events
        same = events["outer"][last] == events["outer"][rows]
        if _loop(one.operation) is _loop(other.operation):
            same &= events["inner"][last] == events["inner"][rows]
        return np.where(same, last, UNKNOWN)

    def latest(self, site: int, rows: Int64) -> Int64:
        """For each event, the last of a site on its track that began no later; -1 for none."""
        if site not in self._rows:
            events = self._launch.events
            of = np.flatnonzero((events["site"] == site) & self._on_group[events["track"]])
            of = of[np.lexsort((events["begin"][of], events["track"][of]))]
            self._rows[site] = of, self._place(of)
        of, place = self._rows[site]
        if not len(of):
            return np.full(len(rows), -1, np.int64)
        at = np.searchsorted(place, self._place(rows), side="right") - 1
        found = of[np.maximum(at, 0)]
        same = self._launch.events["track"][found] == self._launch.events["track"][rows]
        return np.where((at >= 0) & same, found, -1)

    def _place(self, rows: Int64) -> Int64:
        """A number for each event, ascending by track and begin."""
        events = self._launch.events
        span = int(events["end"].max(initial=0)) + 1
        return events["track"][rows].astype(np.int64) * span + events["begin"][rows]


def _before(one: Operation, other: Operation) -> bool:
    """Whether `one` comes before `other` in its block, or before what `other` is in, so that the last time that `one`
    was done belongs to the pass in which `other` is."""
    holder: Operation | None = other
    while holder is not None and holder.block is not None:
        if holder.block is one.block:
            own = holder.block.operations
            return next((each for each in own if each is one or each is holder), None) is one and one is not holder
        region = holder.block.region
        holder = region.parent if region is not None else None
    return False


def _loop(operation: Operation) -> Operation | None:
    """The innermost loop around an operation."""
    holder: Operation | None = operation
    while holder is not None and holder.block is not None and holder.block.region is not None:
        holder = holder.block.region.parent
        if holder is not None and holder.name in ("scf.for", "scf.while"):
            return holder
    return None
