"""What an event waited for, and the chain of a wait back to its root."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from analysis.synthetic_traces import Scene

from tlxviz.analysis.chains import Stretch, blame, chain
from tlxviz.analysis.dependencies import Activity, Dependencies, dependencies
from tlxviz.analysis.occupation import occupation
from tlxviz.trace import LaunchTrace


def linked(made: LaunchTrace) -> Dependencies:
    return dependencies(made, occupation(made))


def told(made: LaunchTrace, steps: list[Stretch]) -> list[tuple[str, str, int, int]]:
    return [(made.tracks[step.track].name, step.activity.name, step.begin, step.end) for step in steps]


def one_tile() -> tuple[Scene, int]:
    """A tile is loaded, multiplied and handed back, for which `load` waits: the scene, and that wait."""
    scene = Scene()
    load, mma = scene.group("load", 0, 300), scene.group("mma", 5, 300)
    issue = scene.event(load, "tma_load", 10, 20, variable="tile")
    copy = scene.copy(load, 24, 100, by=issue, variable="tile")
    full = scene.event(mma, "wait", 30, 110, variable="full", by=copy)
    assert full
    multiply = scene.event(mma, "mma", 120, 130)
    product = scene.product(mma, 125, 200, by=multiply)
    scene.event(mma, "mma_wait", 135, 210, by=product)
    arrival = scene.event(mma, "arrive", 215, 225, variable="empty")
    return scene, scene.event(load, "wait", 50, 240, variable="empty", by=arrival)


def test_the_chain_of_a_wait_leads_to_the_beginning() -> None:
    scene, wait = one_tile()
    made = scene.launch()
    assert told(made, chain(linked(made), scene.row(wait))) == [
        ("load", "HAND_OFF", 225, 240),
        ("mma", "ISSUE", 215, 225),
        ("mma", "ARITHMETIC", 210, 215),
        ("mma", "HAND_OFF", 200, 210),
        ("tensor core", "PRODUCT", 125, 200),
        ("mma", "ISSUE", 120, 125),
        ("mma", "ARITHMETIC", 110, 120),
        ("mma", "HAND_OFF", 100, 110),
        ("TMA", "COPY_LATENCY", 24, 100),
        ("TMA", "COPY_LATENCY", 20, 24),
        ("load", "ISSUE", 10, 20),
        ("load", "ARITHMETIC", 0, 10),
    ]


def test_a_chain_ends_where_it_is_told_to() -> None:
    """Also within a copy, and between a copy and its issue."""
    scene, wait = one_tile()
    made = scene.launch()
    for until, last in (
        (50, ("TMA", "COPY_LATENCY", 50, 100)),
        (22, ("TMA", "COPY_LATENCY", 22, 24)),
        (230, ("load", "HAND_OFF", 230, 240)),
        (5, ("load", "ARITHMETIC", 5, 10)),
    ):
        found = told(made, chain(linked(made), scene.row(wait), until))
        assert found[-1] == last
        assert all(begin < end for _, _, begin, end in found)


def test_blame_is_the_chain_within_the_wait() -> None:
    scene, wait = one_tile()
    made = linked(scene.launch())
    found = blame(made, np.array([scene.row(wait)]))
    assert list(zip(found.begin.tolist(), found.cycles.tolist(), strict=True)) == [
        (225, 15),
        (215, 10),
        (210, 5),
        (200, 10),
        (125, 75),
        (120, 5),
        (110, 10),
        (100, 10),
        (50, 50),
    ]
    assert int(found.cycles.sum()) == 190
    assert blame(made, np.empty(0, np.int64)).cycles.tolist() == []


def released(begin: int, end: int, arrived: int, length: int = 10) -> tuple[int, int, Activity, list[int]]:
    """Of a wait whose release ends at `arrived`: since when it goes on, its length by blame, what it is."""
    scene = Scene()
    load, mma = scene.group("load", 0, 5000), scene.group("mma", 0, 5000)
    arrival = scene.event(load, "arrive", arrived - length, arrived, variable="full")
    wait = scene.event(mma, "wait", begin, end, variable="full", by=arrival)
    made = linked(scene.launch())
    row = scene.row(wait)
    found = blame(made, np.array([row]))
    assert int(found.cycles.sum()) == end - begin
    activity = Activity(int(made.activity[row]))
    return int(made.since[row]), int(made.cause[row] >= 0), activity, found.cycles.tolist()


def test_releases_by_clocks_that_differ() -> None:
    # before it began, in it, and as it ended
    assert released(100, 124, 90) == (100, 0, Activity.HAND_OFF, [24])
    assert released(100, 600, 590) == (590, 1, Activity.HAND_OFF, [10, 10, 480])
    assert released(100, 600, 600) == (600, 1, Activity.HAND_OFF, [10, 490])
    # a few cycles after it ended: the wait was for it all the same
    assert released(100, 600, 606) == (600, 1, Activity.HAND_OFF, [4, 496])
    assert released(100, 600, 640, length=0) == (600, 1, Activity.HAND_OFF, [500])
    # long after: not by this
    assert released(100, 600, 3000) == (100, 0, Activity.UNKNOWN, [500])
    assert released(100, 300, 3000) == (100, 0, Activity.HAND_OFF, [200])


def test_two_that_release_each_other_by_clocks_that_differ() -> None:
    scene = Scene()
    one, two = scene.group("one", 0, 100), scene.group("two", 0, 100)
    first = scene.event(one, "arrive", 52, 56, variable="a")
    second = scene.event(two, "arrive", 51, 55, variable="b")
    waits = [
        scene.event(one, "wait", 10, 50, variable="b", by=second),
        scene.event(two, "wait", 20, 50, variable="a", by=first),
    ]
    made = linked(scene.launch())
    found = blame(made, np.array([scene.row(wait) for wait in waits]))
    assert np.bincount(found.place, weights=found.cycles).tolist() == [40, 30]
    for wait in waits:
        steps = chain(made, scene.row(wait))
        assert all(before.begin == after.end for before, after in pairwise(steps))
        assert (steps[0].end, steps[-1].begin) == (50, 0)


def test_products_that_begin_when_they_are_issued() -> None:
    """As in measured traces: the tensor core goes on with each when the one before has ended."""
    scene = Scene()
    one, two = scene.group("one", 0, 2000), scene.group("two", 0, 2000)
    asked = scene.event(one, "mma", 0, 10)
    first = scene.product(one, 10, 500, by=asked)
    asked = scene.event(two, "mma", 100, 110)
    second = scene.product(two, 110, 1000, by=asked)
    asked = scene.event(one, "mma", 600, 610)
    third = scene.product(one, 610, 1500, by=asked)
    wait = scene.event(one, "mma_wait", 700, 1500, by=third)
    launch = scene.launch()
    made = linked(launch)
    assert told(launch, chain(made, scene.row(wait), 0)) == [
        ("tensor core", "PRODUCT", 1000, 1500),
        ("tensor core", "PRODUCT", 500, 1000),
        ("tensor core", "PRODUCT", 10, 500),
        ("one", "ISSUE", 0, 10),
    ]
    assert made.cause[[scene.row(second), scene.row(third)]].tolist() == [scene.row(first), scene.row(second)]


def test_a_product_for_which_the_tensor_core_was_idle() -> None:
    """It began 6 cycles after the last had ended, since it was issued only then."""
    scene = Scene()
    mma = scene.group("mma", 0, 300)
    asked = scene.event(mma, "mma", 0, 10)
    scene.product(mma, 5, 100, by=asked)
    asked = scene.event(mma, "mma", 102, 112)
    product = scene.product(mma, 106, 200, by=asked)
    launch = scene.launch()
    made = linked(launch)
    assert made.cause[scene.row(product)] == -1
    assert told(launch, chain(made, scene.row(product), 50)) == [
        ("tensor core", "PRODUCT", 106, 200),
        ("mma", "ISSUE", 102, 106),
        ("mma", "ARITHMETIC", 50, 102),
    ]


def test_a_product_that_arithmetic_of_other_warps_held_up() -> None:
    """Issued while the tensor core was busy, begun 40 cycles after that was over: the chain has no gap."""
    scene = Scene()
    mma = scene.group("mma", 0, 300)
    asked = scene.event(mma, "mma", 0, 10)
    first = scene.product(mma, 5, 100, by=asked)
    asked = scene.event(mma, "mma", 20, 30)
    second = scene.product(mma, 140, 200, by=asked)
    launch = scene.launch()
    made = linked(launch)
    assert made.cause[scene.row(second)] == scene.row(first)
    assert told(launch, chain(made, scene.row(second), 5)) == [
        ("tensor core", "PRODUCT", 100, 200),
        ("tensor core", "PRODUCT", 5, 100),
    ]


def test_room_in_the_queue_is_compared_over_all_warp_groups_of_a_line() -> None:
    """`two` never finds room, `one` did: 10 cycles are what issuing takes."""
    scene = Scene()
    one, two = scene.group("one", 0, 500), scene.group("two", 0, 500)
    asked = scene.event(one, "mma", 0, 10, line=9)
    product = scene.product(one, 0, 200, by=asked)
    issue = scene.event(two, "mma", 20, 200, line=9)
    scene.product(two, 200, 400, by=issue)
    made = linked(scene.launch())
    assert (made.since[scene.row(issue)], made.cause[scene.row(issue)]) == (200, scene.row(product))


def test_a_product_that_ends_before_its_issue_does_not_end_it() -> None:
    scene = Scene()
    mma = scene.group("mma", 0, 500)
    issue = scene.event(mma, "mma", 0, 100)
    scene.product(mma, 0, 50, by=issue)
    assert linked(scene.launch()).cause[scene.row(issue)] == -1


def test_room_that_seems_to_be_made_too_late() -> None:
    """A measured product ends 5 cycles after the issue that waited for it: it is the cause, not the one before it."""
    scene = Scene()
    one, two = scene.group("one", 0, 900), scene.group("two", 0, 900)
    asked = scene.event(one, "mma", 0, 10, line=9)
    scene.product(one, 10, 200, by=asked)
    asked = scene.event(one, "mma", 20, 30, line=9)
    second = scene.product(one, 30, 405, by=asked)
    issue = scene.event(two, "mma", 100, 400, line=9)
    scene.product(two, 400, 600, by=issue)
    made = linked(scene.launch())
    assert (made.since[scene.row(issue)], made.cause[scene.row(issue)]) == (400, scene.row(second))
