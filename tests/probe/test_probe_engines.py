"""Copies and MMAs, which nobody measures, are placed by when they were issued and when somebody saw them done."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from probe_samples import device

from tlxviz.ir.program import SiteKind
from tlxviz.probe.engines import settle
from tlxviz.sim.rows import COLUMNS

SITES = [
    SiteKind.TMA_LOAD, SiteKind.WAIT, SiteKind.ARRIVE, SiteKind.MMA, SiteKind.MMA_WAIT, SiteKind.NAMED_ARRIVE,
    SiteKind.NAMED_WAIT, SiteKind.TMA_STORE, SiteKind.TMA_STORE_WAIT, SiteKind.EXPECT,
]  # fmt: skip
LOAD, WAIT, ARRIVE, MMA, MMA_WAIT, SIGNAL, NAMED_WAIT, STORE, STORE_WAIT, EXPECT = range(len(SITES))
TMA, TENSOR = len(SITES), 2 * len(SITES)
SYNC = device().sync
WAKE, READY = round(SYNC.mbarrier_wake), round(SYNC.mbarrier_try_wait + SYNC.mbarrier_wake)
FULL = {"barrier": 0, "home": 0, "slot": 0, "round": 0}


def row(code: int, begin: int, end: int, **values: int) -> list[int]:
    if "released_by" in values:
        values.setdefault("released_rank", 0)
    return [{"code": code, "begin": begin, "end": end, "run": 0, **values}.get(name, -1) for name in COLUMNS]


def settled(measured: list[list[int]], simulated: dict[int, tuple[int, int]]) -> NDArray[np.int64]:
    """The rows, settled; `simulated` has the simulated begins and ends that matter."""
    program: Any = SimpleNamespace(sites=[SimpleNamespace(kind=kind) for kind in SITES])
    table = np.array(measured, np.int64)
    before = table.copy()
    for number, times in simulated.items():
        before[number, 1:3] = times
    settle(program, device(), [table], [before])
    return table


def times(table: NDArray[np.int64], number: int) -> tuple[int, int]:
    return int(table[number, 1]), int(table[number, 2])


def copies(wait: tuple[int, int]) -> NDArray[np.int64]:
    """A copy that was issued at 1060 and takes 500 cycles from 10 cycles on in the model, and a wait for it."""
    return settled(
        [
            row(LOAD, 1000, 1060, **FULL),
            row(TMA + LOAD, 0, 0, released_by=0, **FULL),
            row(WAIT, *wait, run=1, **FULL),
        ],
        {0: (0, 60), 1: (70, 570)},
    )


def test_a_load_ends_as_the_wait_that_stood_for_it_ended() -> None:
    for end in (1300, 1900):  # sooner and later than in the model
        found = copies((1100, end))
        assert times(found, 1) == (1070, end - WAKE)
        assert found[2, COLUMNS.index("released_by")] == 1


def test_a_load_that_was_ready_ended_before_the_wait() -> None:
    assert times(copies((3000, 3000 + READY)), 1) == (1070, 1570)  # as in the model, long before
    assert times(copies((1200, 1200 + READY)), 1) == (1070, 1200)


def test_a_load_nobody_waits_for_takes_as_long_as_in_the_model() -> None:
    found = settled(
        [row(LOAD, 1000, 1060, **FULL), row(TMA + LOAD, 0, 0, released_by=0, **FULL)], {0: (0, 60), 1: (70, 570)}
    )
    assert times(found, 1) == (1070, 1570)


def test_of_two_loads_of_a_phase_the_last_ends_with_the_wait() -> None:
    found = settled(
        [
            row(LOAD, 1000, 1060, **FULL),
            row(TMA + LOAD, 0, 0, released_by=0, **FULL),
            row(LOAD, 1060, 1100, **FULL),
            row(TMA + LOAD, 0, 0, released_by=2, **FULL),
            row(WAIT, 1100, 2044, run=1, **FULL),
        ],
        {0: (0, 60), 1: (60, 560), 2: (60, 100), 3: (100, 700)},
    )
    assert times(found, 1) == (1060, 1560)
    assert times(found, 3) == (1100, 2044 - WAKE)
    assert found[4, COLUMNS.index("released_by")] == 3


def test_mmas_of_a_warp_group_follow_each_other() -> None:
    found = settled(
        [
            row(MMA, 1000, 1020),
            row(TENSOR + MMA, 0, 0, released_by=0),
            row(MMA, 1020, 1040),
            row(TENSOR + MMA, 0, 0, released_by=2),
            row(MMA_WAIT, 1040, 1180, released_by=1),
            row(MMA_WAIT, 1180, 1190, released_by=3),
        ],
        {0: (0, 20), 1: (20, 148), 2: (20, 40), 3: (148, 276)},
    )
    assert times(found, 1) == (1020, 1180)  # the first wait stood for it
    assert times(found, 3) == (1180, 1180)  # and by the second, which was over at once, the other had ended as well


def test_mmas_of_other_warp_groups_are_independent() -> None:
    found = settled(
        [
            row(MMA, 1000, 1020),
            row(TENSOR + MMA, 0, 0, released_by=0),
            row(MMA, 1000, 1030, run=1),
            row(TENSOR + MMA, 0, 0, released_by=2, run=1),
        ],
        {0: (0, 20), 1: (20, 148), 2: (0, 30), 3: (148, 276)},
    )
    assert times(found, 1) == (1020, 1148)
    assert times(found, 3) == (1030, 1158)


def test_a_store_ends_with_the_wait_that_stood_for_it() -> None:
    def store(wait: tuple[int, int]) -> tuple[int, int]:
        found = settled(
            [
                row(STORE, 1000, 1020),
                row(TMA + STORE, 0, 0, released_by=0),
                row(STORE_WAIT, *wait, released_by=1),
            ],
            {0: (0, 20), 1: (20, 320)},
        )
        return times(found, 1)

    assert store((1030, 1700)) == (1020, 1700)
    assert store((1100, 1110)) == (1020, 1100)
    assert store((1500, 1510)) == (1020, 1320)


def test_a_store_has_not_begun_after_it_was_seen_to_end() -> None:
    """In the model it queues up behind others for longer than it took on the GPU."""
    for wait, end in (((1030, 1200), 1200), ((1100, 1110), 1100)):
        found = settled(
            [row(STORE, 1000, 1020), row(TMA + STORE, 0, 0, released_by=0), row(STORE_WAIT, *wait, released_by=1)],
            {0: (0, 20), 1: (500, 800)},
        )
        assert times(found, 1) == (end, end)


def test_what_released_a_wait_is_what_came_last_by_measured_time() -> None:
    arrivals = [row(ARRIVE, 1000 + 10 * n, end, run=n, **FULL) for n, end in enumerate((1300, 1500, 1400))]
    other = row(ARRIVE, 1000, 1900, run=3, **{**FULL, "round": 1})
    found = settled([*arrivals, other, row(WAIT, 1000, 1550, run=4, released_by=0, **FULL)], {})
    assert found[4, COLUMNS.index("released_by")] == 1
    # of two at the same cycle, the one that was recorded later
    arrivals[2][2] = 1500
    assert settled([*arrivals, row(WAIT, 1000, 1550, run=4, **FULL)], {})[3, COLUMNS.index("released_by")] == 2


def test_a_wait_before_the_first_phase_has_no_cause() -> None:
    before = {**FULL, "round": -1}
    assert settled([row(ARRIVE, 0, 10, **FULL), row(WAIT, 20, 30, **before)], {})[1, 7] == -1


def test_named_barriers_are_released_by_the_last_arrival_of_their_round() -> None:
    nine = {"slot": 9, "phase": 0}
    found = settled(
        [
            row(SIGNAL, 100, 110, **nine),
            row(SIGNAL, 100, 140, run=1, **nine),
            row(SIGNAL, 100, 170, run=2, slot=9, phase=1),
            row(SIGNAL, 100, 180, run=2, slot=10, phase=0),
            row(NAMED_WAIT, 90, 150, run=3, **nine),
        ],
        {},
    )
    assert (found[4, COLUMNS.index("released_by")], found[4, COLUMNS.index("released_rank")]) == (1, 0)


def test_a_wait_at_a_named_barrier_lasts_until_the_last_arrival() -> None:
    """Though the clock behind `bar.sync` was read before the barrier held the warp up."""
    nine = {"slot": 9, "phase": 0}
    rows = [row(SIGNAL, 490, 500, run=1, **nine), row(NAMED_WAIT, 90, 106, **nine), row(ARRIVE, 700, 710, **FULL)]
    assert times(settled(rows, {}), 1) == (90, 500)
    assert times(settled(rows[:2], {}), 1) == (90, 500)
    rows[2][1] = 300  # but not longer than until what comes next
    assert times(settled(rows, {}), 1) == (90, 300)
    rows[1][2] = 650
    assert times(settled(rows, {}), 1) == (90, 650)
