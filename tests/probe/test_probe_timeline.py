"""Measured times are put on what the replay says happened, and CTAs get the length that they have unrecorded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tlxviz.probe.correction import Correction, Stretch
from tlxviz.probe.points import Point
from tlxviz.probe.timeline import Passed, Placed, place_events
from tlxviz.sim.replay import AgentReplay
from tlxviz.sim.rows import BEGIN, CODE, COLUMNS, END, RUN

WAIT, ARRIVE, MMA = 0, 1, 2
POINTS = [
    Point(0, 1, (), (), starts=True),
    Point(1, 2, (WAIT,), ()),
    Point(2, 3, (ARRIVE,), (WAIT,)),
    Point(3, 4, (), (MMA,)),
    Point(4, 5, (), (), finishes=True),
]
SIMULATED = [(WAIT, 0, 100), (ARRIVE, 100, 110), (MMA, 150, 200)]
PLACES = [0, 0, 1, 3, 3]


def table(*rows: tuple[int, int, int], run: int = 0) -> NDArray[np.int64]:
    made = np.full((len(rows), len(COLUMNS)), -1, np.int64)
    for row, (code, begin, end) in zip(made, rows, strict=True):
        row[CODE], row[BEGIN], row[END], row[RUN] = code, begin, end, run
    return made


def agent(marks: Sequence[int], places: Sequence[int], *, end: int = 220) -> AgentReplay:
    return AgentReplay(0, 0, 4, np.array(marks, np.int32), np.array(places, np.int64), 0, end, True, None)


def passed(measured: dict[int, Any]) -> Passed:
    """By position among the marks, the cycle at which it was passed, or those of several parts."""
    both = [(place, cycle) for place, at in measured.items() for cycle in np.array([at]).ravel().tolist()]
    places, cycles = zip(*both, strict=True) if both else ((), ())
    return Passed(np.array(places, np.int64), np.array(cycles, np.int64))


def placed(measured: dict[int, Any], rows: Any = SIMULATED, marks: Any = range(5), places: Any = PLACES) -> Placed:
    return place_events(table(*rows), 0, agent(list(marks), places), POINTS, passed(measured), 3)


def test_points_are_begins_and_ends_and_the_rest_is_in_proportion() -> None:
    found = placed({0: 1000, 1: 1010, 2: 1210, 3: 1410, 4: 1420})
    assert found.begin.tolist()[:2] == [1010, 1210]
    # the arrival, 10 of the 100 simulated cycles between the points, has 20 of the 200 measured
    assert found.end.tolist() == [1210, 1230, 1410]
    # the MMA, of which only the end is known, has taken its 50 simulated cycles and no more
    assert found.begin[2] == 1360
    assert (found.start, found.stop, found.shifted) == (1000, 1420, 0)
    assert (found.known, found.standing) == (3, False)


def test_an_issue_is_not_longer_than_the_time_there_is() -> None:
    found = placed({0: 1000, 1: 1010, 2: 1210, 3: 1230, 4: 1240})
    assert found.end.tolist() == [1210, 1212, 1230]
    assert found.begin[2] == 1220  # in the middle of a tenth of the simulated time


def test_times_from_several_parts_are_averaged() -> None:
    found = placed({0: [990, 1010], 1: [1005, 1015], 2: 1210, 3: 1410, 4: [1410, 1430]})
    assert (found.start, int(found.begin[0]), found.stop) == (1000, 1010, 1420)


def test_times_that_go_back_are_moved() -> None:
    found = placed({0: 1000, 1: 1010, 2: 1003, 3: 1410, 4: 1390})
    assert (int(found.begin[0]), int(found.end[0]), int(found.begin[1])) == (1010, 1010, 1010)
    assert (int(found.end[2]), found.stop, found.shifted) == (1410, 1410, 20)


@pytest.mark.parametrize("seed", range(20))
def test_events_stay_in_order(seed: int) -> None:
    random = np.random.default_rng(seed)
    chosen = sorted(random.choice(5, int(random.integers(1, 6)), replace=False).tolist())
    found = placed({place: int(at) for place, at in zip(chosen, random.integers(0, 500, 5), strict=False)})
    told = np.stack([found.begin, found.end], axis=1).ravel()
    assert (np.diff(told) >= 0).all()
    assert found.start <= told[0]
    assert found.stop >= told[2 * found.known - 1] if found.known else True


def test_a_warp_group_that_stands_at_a_wait() -> None:
    found = placed({0: 1000, 1: 1010})
    assert (found.known, found.standing, found.stop) == (0, True, 1010)
    assert found.begin[0] == 1010


def test_a_warp_group_that_was_seen_to_end_a_wait() -> None:
    found = placed({0: 1000, 1: 1010, 2: 1210})
    # the point behind the wait is also the begin of the arrival, at which it may stand
    assert (found.known, found.standing, found.stop) == (1, True, 1210)
    assert placed({}).known == 0


def test_only_the_rows_of_the_run_itself_are_placed() -> None:
    # the second row is an engine's, the third another warp group's
    rows = table((WAIT, 0, 100), (MMA + 3, 100, 300), (WAIT, 5, 50), (ARRIVE, 100, 110))
    rows[2, RUN] = 1
    times = passed({0: 1000, 1: 1010, 2: 1210})
    found = place_events(rows, 0, agent([0, 1, 2], [0, 0, 3]), POINTS, times, 3)
    assert found.rows.tolist() == [0, 3]
    assert found.end[0] == found.begin[1] == 1210


# ---------------------------------------------------------------------- lengths


def test_one_cta_gets_its_length() -> None:
    correct = Correction([Stretch(1000, 1200, 100)])
    at = np.array([900, 1000, 1050, 1100, 1200, 1250])
    assert correct(at).tolist() == [900, 1000, 1025, 1050, 1100, 1150]


def test_ctas_one_after_the_other() -> None:
    correct = Correction([Stretch(0, 200, 100), Stretch(300, 400, 90)])
    assert correct(np.array([0, 200, 300, 350, 400])).tolist() == [0, 100, 200, 245, 290]


def test_ctas_at_a_time_share_the_mean_of_their_factors() -> None:
    # factors 1/2 and 1: 100 alone, 100 together at 3/4, 100 alone
    correct = Correction([Stretch(0, 200, 100), Stretch(100, 300, 200)])
    assert correct(np.array([0, 100, 200, 300])).tolist() == [0, 50, 125, 225]


def test_nothing_to_correct() -> None:
    at = np.array([3, 4, 100])
    assert Correction([])(at).tolist() == [3, 4, 100]
    assert Correction([Stretch(0, 50, 50)])(at).tolist() == [3, 4, 100]


@pytest.mark.parametrize("seed", range(10))
def test_time_never_goes_back(seed: int) -> None:
    random = np.random.default_rng(seed)
    begins = random.integers(0, 1000, 6)
    stretches = [
        Stretch(int(begin), int(begin + length), int(length * factor))
        for begin, length, factor in zip(begins, random.integers(1, 900, 6), random.uniform(0.5, 1.2, 6), strict=True)
    ]
    assert (np.diff(Correction(stretches)(np.arange(-50, 2500))) >= 0).all()
