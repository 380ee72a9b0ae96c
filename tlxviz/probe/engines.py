"""What the engines did, told from when warp groups issued the work and when they saw it done.

Nobody measures a copy or an MMA itself. It begins when it has been issued and takes as long as in the model, unless a
wait says otherwise: a wait that was over at once saw it complete before, one that had to stand saw it complete as it
ended.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tlxviz.devices.model import Device
from tlxviz.ir.program import Program, SiteKind
from tlxviz.sim.engine import TENSOR_CORE, TMA
from tlxviz.sim.rows import BARRIER, BEGIN, CODE, END, HOME, PHASE, RELEASED_BY, RELEASED_RANK, ROUND, RUN, SLOT

Table = NDArray[np.int64]

_CONTRIBUTIONS = frozenset({SiteKind.ARRIVE, SiteKind.EXPECT, SiteKind.MMA_COMMIT, SiteKind.ASYNC_COPY})


def settle(program: Program, device: Device, tables: list[Table], simulated: list[Table]) -> None:
    """Gives engines' events their times, and waits what released them.

    Args:
        program: The kernel.
        device: Where costs of a wait and of waking up come from.
        tables: The rows of the CTAs of one cluster by rank, with measured times of warp groups; changed in place.
        simulated: The same rows as they were replayed.
    """
    _Settler(program, device, tables, simulated).run()


class _Settler:
    def __init__(self, program: Program, device: Device, tables: list[Table], simulated: list[Table]) -> None:
        self._sites = len(program.sites)
        self._kinds = np.array([site.kind for site in program.sites], object)
        self._tables = tables
        self._wake = round(device.sync.mbarrier_wake)
        self._ready = round(device.sync.mbarrier_try_wait + device.sync.mbarrier_wake)
        self._durations = [table[:, END] - table[:, BEGIN] for table in simulated]
        self._lead = [_lead(table, simulated, self._sites) for table in simulated]

    def run(self) -> None:
        limits = self._limits()
        for rank, table in enumerate(self._tables):
            self._tma(rank, table, limits)
            self._tensor_core(rank, table)
        self._causes()

    # ---- engines

    def _rows(self, table: Table, *kinds: SiteKind) -> NDArray[np.intp]:
        """Rows of warp groups at sites of these kinds."""
        code = table[:, CODE]
        own = code < self._sites
        wanted = np.isin(self._kinds[np.where(own, code, 0)].astype(str), [str(kind) for kind in kinds])
        return np.flatnonzero(own & wanted)

    def _limits(self) -> dict[tuple[int, ...], tuple[int, bool]]:
        """By phase of an mbarrier: the cycle by which it was complete, and whether somebody saw it happen."""
        found: dict[tuple[int, ...], tuple[int, bool]] = {}
        for table in self._tables:
            for row in self._rows(table, SiteKind.WAIT):
                home, barrier, slot, number = (int(table[row, column]) for column in (HOME, BARRIER, SLOT, ROUND))
                if number < 0:
                    continue
                begin, end = int(table[row, BEGIN]), int(table[row, END])
                seen = end - begin > self._ready
                limit = max(begin, end - self._wake) if seen else begin
                before = found.get((home, barrier, slot, number))
                if before is None or limit < before[0]:
                    found[home, barrier, slot, number] = limit, seen
        return found

    def _tma(self, rank: int, table: Table, limits: dict[tuple[int, ...], tuple[int, bool]]) -> None:
        last: dict[tuple[int, ...], int] = {}
        for row in np.flatnonzero(table[:, CODE] // self._sites == TMA):
            issued = self._issued(table, int(row))
            begin = issued + int(self._lead[rank][row])
            end = begin + int(self._durations[rank][row])
            home, barrier, slot, number = (int(table[row, column]) for column in (HOME, BARRIER, SLOT, ROUND))
            key = (home, barrier, slot, number)
            if barrier >= 0 and key in limits:
                limit, seen = limits[key]
                end = min(end, limit)
                begin = min(begin, end)
                if seen:
                    last[key] = int(row)
            table[row, BEGIN], table[row, END] = max(begin, issued) if end >= issued else end, max(end, begin)
        for key, row in last.items():  # the last of a phase's copies is what the wait stood for
            table[row, END] = max(int(table[row, BEGIN]), limits[key][0])
        self._stores(rank, table)

    def _stores(self, rank: int, table: Table) -> None:
        for row in self._rows(table, SiteKind.TMA_STORE_WAIT, SiteKind.ASYNC_COPY_WAIT):
            cause = int(table[row, RELEASED_BY])
            if cause >= 0 and int(table[row, RELEASED_RANK]) == rank:
                self._bounded(table, cause, int(table[row, BEGIN]), int(table[row, END]))

    def _bounded(self, table: Table, event: int, begin: int, end: int) -> None:
        """An event that a wait from `begin` to `end` was for."""
        done = end if end - begin > self._ready else min(int(table[event, END]), begin)
        table[event, BEGIN], table[event, END] = min(int(table[event, BEGIN]), done), done

    def _issued(self, table: Table, row: int) -> int:
        """When the issue of an engine's event was over."""
        cause, rank = int(table[row, RELEASED_BY]), int(table[row, RELEASED_RANK])
        return int(self._tables[rank][cause, END]) if cause >= 0 else int(table[row, BEGIN])

    def _tensor_core(self, rank: int, table: Table) -> None:
        """MMAs of a warp group follow each other; a wait for one bounds it and, through it, those before."""
        rows = np.flatnonzero(table[:, CODE] // self._sites == TENSOR_CORE)
        waits: dict[int, tuple[int, int]] = {}
        for row in self._rows(table, SiteKind.MMA_WAIT):
            if table[row, RELEASED_BY] >= 0:
                waits.setdefault(int(table[row, RELEASED_BY]), (int(table[row, BEGIN]), int(table[row, END])))
        free: dict[int, int] = {}
        placed: dict[int, list[int]] = {}
        for row in rows.tolist():
            run = int(table[row, RUN])
            begin = max(self._issued(table, row), free.get(run, 0))
            table[row, BEGIN], table[row, END] = begin, begin + int(self._durations[rank][row])
            if row in waits:
                first, last = waits[row]
                if last - first > self._ready:
                    table[row, END] = max(begin, last)
                else:
                    table[row, END] = max(begin, min(int(table[row, END]), first))
            free[run] = int(table[row, END])
            placed.setdefault(run, []).append(row)

    # ---- causes

    def _causes(self) -> None:
        """Lets every wait at an mbarrier name what came last of its phase."""
        latest: dict[tuple[int, ...], tuple[int, int, int]] = {}
        for rank, table in enumerate(self._tables):
            code = table[:, CODE]
            engine = code // self._sites
            kinds = self._kinds[code % self._sites].astype(str)
            own = np.isin(kinds, [str(kind) for kind in _CONTRIBUTIONS]) & (engine == 0)
            for row in np.flatnonzero((own | (engine == TMA)) & (table[:, BARRIER] >= 0)):
                key = tuple(int(table[row, column]) for column in (HOME, BARRIER, SLOT, ROUND))
                end = int(table[row, END])
                if key not in latest or end >= latest[key][0]:
                    latest[key] = end, rank, int(row)
        for table in self._tables:
            for row in self._rows(table, SiteKind.WAIT):
                key = tuple(int(table[row, column]) for column in (HOME, BARRIER, SLOT, ROUND))
                found = latest.get(key)
                if found is not None and key[-1] >= 0:
                    table[row, RELEASED_BY], table[row, RELEASED_RANK] = found[2], found[1]
        for rank, table in enumerate(self._tables):
            self._named(rank, table)

    def _named(self, rank: int, table: Table) -> None:
        """Lets every wait at a named barrier name the last arrival of its round.

        The clock behind `bar.sync` is read before the barrier holds the warp up: a wait has lasted until that arrival,
        and until the last of those who wait had come.
        """
        waits = self._rows(table, SiteKind.NAMED_WAIT)
        if not len(waits):
            return
        following = _following(table, self._sites)
        latest: dict[tuple[int, int], tuple[int, int]] = {}
        for row in self._rows(table, SiteKind.NAMED_ARRIVE):
            key = int(table[row, SLOT]), int(table[row, PHASE])
            end = int(table[row, END])
            if key not in latest or end >= latest[key][0]:
                latest[key] = end, int(row)
        complete = {key: end for key, (end, _) in latest.items()}
        for row in waits:
            key = int(table[row, SLOT]), int(table[row, PHASE])
            complete[key] = max(complete.get(key, 0), int(table[row, BEGIN]))
        for row in waits:
            key = int(table[row, SLOT]), int(table[row, PHASE])
            if key in latest:
                table[row, RELEASED_BY], table[row, RELEASED_RANK] = latest[key][1], rank
            table[row, END] = max(int(table[row, END]), min(complete[key], int(following[row])))


def _following(table: Table, sites: int) -> NDArray[np.int64]:
    """For the events of warp groups, the begin of the next of the same run; of its last, the end of all."""
    begins = np.full(len(table), int(table[:, END].max(initial=0)), np.int64)
    own = np.flatnonzero(table[:, CODE] < sites)
    own = own[np.argsort(table[own, RUN], kind="stable")]
    same = table[own[1:], RUN] == table[own[:-1], RUN]
    begins[own[:-1][same]] = table[own[1:][same], BEGIN]
    return begins


def _lead(table: Table, simulated: list[Table], sites: int) -> NDArray[np.int64]:
    """Cycles from the end of its issue to the begin of an engine's event, as simulated."""
    lead = np.zeros(len(table), np.int64)
    for row in np.flatnonzero((table[:, CODE] >= sites) & (table[:, RELEASED_BY] >= 0)):
        issue = simulated[int(table[row, RELEASED_RANK])][int(table[row, RELEASED_BY])]
        lead[row] = max(0, int(table[row, BEGIN]) - int(issue[END]))
    return lead
