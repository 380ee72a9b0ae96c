"""Slots of tensor memory: who fills them, by products or stores, who reads them, and when they are free again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tlxviz.analysis.occupation import Int64
from tlxviz.analysis.ring_fills import NEVER, FilledRing, Fills
from tlxviz.ir import TtgirError, load_program
from tlxviz.ir.program import Buffer, SiteKind
from tlxviz.ir.tensor_slots import tensor_slot
from tlxviz.trace.model import LaunchTrace, TrackKind

_WRITES = frozenset({"tmem_store", "tmem_copy"})
_ACCESSES = _WRITES | {"tmem_load"}
_IN_MEMORY = "ttng.tc_gen5_mma"
"""How the names of the operations begin whose sums are in tensor memory."""


@dataclass(frozen=True, slots=True)
class _Access:
    """Somebody reads or writes a slot. Times are SM cycles."""

    begin: int
    end: int
    writes: bool
    track: int
    """Of the warp group that does it, or that issued the product."""
    reached: int
    """When that warp group came to it."""
    bytes: int


def has_tensor_memory(launch: LaunchTrace) -> bool:
    """Whether a launch's trace says who works on tensor memory."""
    return any(site.kind in _ACCESSES for site in launch.sites)


def tensor_rings(launch: LaunchTrace, cta: int) -> list[FilledRing]:
    """The buffers of a CTA in tensor memory that somebody fills and somebody reads, in the order of the program.

    A slot is filled by writes that follow each other (products, stores), and then read: by warp groups, or by products
    whose operand A it is. The producer has it from its last wait before the first of the writes that a reader's
    arrival ended, or from that write on; the consumers from their last wait before the first of the reads that a
    producer or the tensor core ended. It is free again with the event that ended the producer's next wait for it, else
    with the last read.
    Reads by products are known only where the trace has a TTGIR that can be read, and says which slot that is.
    """
    if not has_tensor_memory(launch):
        return []
    table = _Table(launch, cta)
    by_slot = table.accesses()
    found: list[FilledRing] = []
    for buffer in dict.fromkeys(name for name, _ in by_slot):
        slots = {slot: each for (name, slot), each in by_slot.items() if name == buffer}
        if any(each.writes for of in slots.values() for each in of) and any(
            not each.writes for of in slots.values() for each in of
        ):
            found.append(table.ring(buffer, dict(sorted(slots.items()))))
    return found


class _Table:
    """The events of a CTA, and of others that let it go on, as plain numbers: there are few of them for each tile."""

    def __init__(self, launch: LaunchTrace, cta: int) -> None:
        self._launch, self._cta = launch, cta
        events = launch.events
        names = ("track", "site", "begin", "end", "slot", "bytes", "released_by")
        self._track, self._site, self._begin, self._end, self._slot, self._bytes, self._by = (
            events[name].astype(np.int64) for name in names
        )
        self._here = np.array([each.cta == cta for each in launch.tracks], np.bool_)[self._track]
        self._on_core = np.array([each.kind is TrackKind.TENSOR_CORE for each in launch.tracks], np.bool_)[self._track]
        kinds = [*(each.kind for each in launch.sites), ""]
        used = np.array([each == "wait" or each == "mma" or each in _ACCESSES for each in kinds])
        self._before = self._rows_by_track(used[self._site])
        self._is_wait = np.array([each == "wait" for each in kinds])[self._site]

    def _rows_by_track(self, chosen: NDArray[np.bool_]) -> dict[int, Int64]:
        rows = np.flatnonzero(chosen & ~self._on_core)
        rows = rows[np.lexsort((self._end[rows], self._track[rows]))]
        track, first = np.unique(self._track[rows], return_index=True)
        parts = np.split(rows, first[1:])
        return dict(zip(track.tolist(), parts, strict=True)) if len(rows) else {}

    def accesses(self) -> dict[tuple[str, int], list[_Access]]:
        """By buffer, in the order of the program, and slot; by begin."""
        read_by_products = _operands_of_products(self._launch.ttgir)
        names = [each.name for each in self._launch.buffers]
        found: dict[tuple[str, int], list[_Access]] = {}
        for number, site in enumerate(self._launch.sites):
            rows = np.flatnonzero((self._site == number) & self._here)
            if site.kind in _ACCESSES:
                for row in rows.tolist():
                    self._add(found, site.variable, int(self._slot[row]), row, site.kind in _WRITES, row)
            elif site.kind == "mma" and site.text.startswith(_IN_MEMORY):
                operand = read_by_products.get(number)
                for row in rows[self._on_core[rows]].tolist():
                    issue = int(self._by[row]) if self._by[row] >= 0 else row
                    self._add(found, site.variable, int(self._slot[row]), row, True, issue)
                    if operand is not None and operand[0] < len(names):
                        self._add(found, names[operand[0]], operand[1], row, False, issue)
        order = {name: number for number, name in enumerate(names)}
        last = len(names)
        keys = sorted(found, key=lambda key: (order.get(key[0], last), key[1]))
        return {key: sorted(found[key], key=lambda each: (each.begin, each.end)) for key in keys}

    def _add(
        self, found: dict[tuple[str, int], list[_Access]], name: str, slot: int, row: int, writes: bool, issue: int
    ) -> None:
        made = _Access(
            int(self._begin[row]),
            int(self._end[row]),
            writes,
            int(self._track[issue]),
            int(self._begin[issue]),
            int(self._bytes[row]),
        )
        found.setdefault((name, max(slot, 0)), []).append(made)

    def ring(self, buffer: str, slots: Mapping[int, list[_Access]]) -> FilledRing:
        all_ = [each for of in slots.values() for each in of]
        writers = sorted({each.track for each in all_ if each.writes})
        # of a pair of CTAs the first one issues, and the same warp group of the other one may pass on that it is done
        names_of_writers = {self._launch.tracks[each].name for each in writers}
        told = [number for number, each in enumerate(self._launch.tracks) if each.name in names_of_writers]
        readers = sorted({each.track for each in all_ if not each.writes})
        names: dict[str, dict[str, int]] = {"full": {}, "empty": {}}
        columns: list[tuple[int, ...]] = []
        for slot, of in slots.items():
            columns += self._fills_of(slot, _runs(of), told, readers, names)
        full, empty = (max(names[each], key=lambda name: names[each][name], default="") for each in ("full", "empty"))
        made = np.array(columns, np.int64).reshape(len(columns), -1)
        size = next((each.bytes // max(each.slots, 1) for each in self._launch.buffers if each.name == buffer), 0)
        return FilledRing(
            buffer,
            full,
            empty,
            tuple(slots),
            size,
            tuple(writers),
            tuple(readers),
            Fills(*made.T),
            tensor=True,
        )

    def _fills_of(
        self,
        slot: int,
        runs: list[tuple[list[_Access], list[_Access]]],
        writers: list[int],
        readers: list[int],
        names: dict[str, dict[str, int]],
    ) -> list[tuple[int, ...]]:
        """Rows of `Fills`; counts in `names` which barriers were waited for."""
        firsts = [writes[0] for writes, _ in runs]
        acquired = [self._wait(first.track, first.reached, readers, core=False) for first in firsts]
        found: list[tuple[int, ...]] = []
        free = 0
        for number, (writes, reads) in enumerate(runs):
            wait = acquired[number]
            issued = writes[0].reached
            taken, asked = issued, issued
            if wait >= 0 and self._end[wait] >= free:
                taken, asked = int(self._end[wait]), int(self._begin[wait])
                self._count(names["empty"], wait)
            until = firsts[number + 1].begin if number + 1 < len(runs) else None
            landed = max(each.end for each in writes)
            wanted = read = released = NEVER
            if reads:
                wanted = read = reads[0].begin
                waited = self._wait(reads[0].track, reads[0].reached, writers, core=True)
                if waited >= 0 and self._end[waited] >= landed:
                    wanted, read = int(self._begin[waited]), int(self._end[waited])
                    self._count(names["full"], waited)
                released = max(each.end for each in reads)
                following = acquired[number + 1] if until is not None else -1
                if following >= 0 and (by := int(self._by[following])) >= 0 and self._end[by] >= released:
                    released = min(int(self._end[by]), int(self._end[following]))
            elif until is not None:
                released = until
            if until is not None:
                landed, read, released = min(landed, until), min(read, until), min(released, until)
            taken = min(max(taken, free), landed)
            issued = max(min(issued, landed), taken)
            found.append((slot, number, min(asked, taken), taken, issued, landed, wanted, read, released))
            free = released if released != NEVER else landed
        return found

    def _count(self, names: dict[str, int], wait: int) -> None:
        name = self._launch.sites[int(self._site[wait])].variable
        names[name] = names.get(name, 0) + 1

    def _wait(self, track: int, before: int, others: list[int], *, core: bool) -> int:
        """The last wait of a warp group that was over by a cycle, and that one of some others ended; -1 for none.

        A wait before something else that the warp group does in tensor memory is for that.

        Args:
            core: Whether the tensor core counts as one of them.
        """
        waits = self._before.get(track)
        if waits is None:
            return -1
        last = int(np.searchsorted(self._end[waits], before, side="right"))
        for wait in reversed(waits[:last].tolist()):
            if not self._is_wait[wait]:
                return -1
            by = int(self._by[wait])
            if by >= 0 and ((core and self._on_core[by]) or int(self._track[by]) in others):
                return wait
        return -1


def _runs(accesses: list[_Access]) -> list[tuple[list[_Access], list[_Access]]]:
    """Writes that follow each other, with the reads behind them; without what is read before anything was written."""
    found: list[tuple[list[_Access], list[_Access]]] = []
    for each in accesses:
        if each.writes:
            if not found or found[-1][1]:
                found.append(([], []))
            found[-1][0].append(each)
        elif found:
            found[-1][1].append(each)
    return found


@lru_cache(maxsize=4)
def _operands_of_products(ttgir: str) -> dict[int, tuple[int, int]]:
    """By site of a product whose operand A is in tensor memory: the number of its buffer, and its slot."""
    if "tensor_memory" not in ttgir:
        return {}
    try:
        program = load_program(ttgir, "TTGIR of a trace")
    except TtgirError:
        return {}
    found: dict[int, tuple[int, int]] = {}
    for site in program.sites:
        operand = site.operation.operand("a") if site.kind is SiteKind.MMA else None
        root = program.roots.get(operand) if operand is not None else None
        if operand is None or not isinstance(root, Buffer) or root.operation.name != "ttng.tmem_alloc":
            continue
        index = tensor_slot(operand)
        if index is not None and index.base is None:
            found[site.index] = root.index, index.offset
    return found
