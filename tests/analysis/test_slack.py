"""How much later something could happen."""

from __future__ import annotations

from analysis.synthetic_traces import Scene, launch

from tlxviz.analysis.dependencies import dependencies
from tlxviz.analysis.occupation import occupation
from tlxviz.analysis.slack import BarrierSlack, barrier_slacks, slacks
from tlxviz.trace import LaunchTrace


def slack_of(scene: Scene, *events: int) -> list[int]:
    made = scene.launch()
    found = slacks(made, dependencies(made, occupation(made)))
    return [int(found[scene.row(event)]) for event in events]


def barriers(made: LaunchTrace) -> tuple[BarrierSlack, ...]:
    found = dependencies(made, occupation(made))
    return barrier_slacks(made, found, slacks(made, found))


def test_what_the_last_to_end_waits_for_has_none() -> None:
    scene = Scene()
    load, mma = scene.group("load", 0, 100), scene.group("mma", 0, 300)
    issue = scene.event(load, "tma_load", 10, 20, variable="tile")
    copy = scene.copy(load, 20, 150, by=issue, variable="tile")
    wait = scene.event(mma, "wait", 60, 160, variable="full", by=copy)
    before = scene.event(mma, "fence", 40, 50)
    after = scene.event(load, "fence", 60, 70)
    # the fence could end 90 later, when the copy lands; `load` could end 200 later
    assert slack_of(scene, issue, copy, wait, before, after) == [0, 0, 0, 90, 200]


def test_a_copy_that_came_in_time() -> None:
    """It landed 40 cycles before the wait; that one has 30 left since another warp group ends later."""
    scene = Scene()
    load, mma = scene.group("load", 0, 50), scene.group("mma", 0, 200)
    scene.group("store", 0, 230)
    issue = scene.event(load, "tma_load", 0, 10, variable="tile")
    copy = scene.copy(load, 10, 60, by=issue, variable="tile")
    wait = scene.event(mma, "wait", 100, 124, variable="full", by=copy)
    assert slack_of(scene, issue, copy, wait) == [70, 70, 30]


def test_of_two_copies_for_one_phase_the_first_has_time_until_the_second() -> None:
    scene = Scene()
    load, mma = scene.group("load", 0, 100), scene.group("mma", 0, 300)
    copies: list[int] = []
    for begin, end in ((0, 90), (10, 150)):
        scene.event(load, "expect", begin, begin + 2, variable="full", phase=4)
        issue = scene.event(load, "tma_load", begin + 2, begin + 10, variable=f"tile {end}", phase=4)
        copies.append(scene.copy(load, begin + 10, end, by=issue, variable=f"tile {end}", phase=4))
    scene.event(mma, "wait", 20, 160, variable="full", by=copies[1])
    assert slack_of(scene, *copies) == [60, 0]


def test_of_two_arrivals_for_one_phase_the_first_has_time_until_the_second() -> None:
    scene = Scene()
    load, one, two = scene.group("load", 0, 500), scene.group("one", 0, 100), scene.group("two", 0, 100)
    first = scene.event(one, "arrive", 50, 60, variable="empty", phase=2)
    second = scene.event(two, "arrive", 75, 85, variable="empty", phase=2)
    other = scene.event(two, "arrive", 85, 95, variable="empty", phase=3)
    scene.event(load, "wait", 20, 90, variable="empty", by=second)
    assert slack_of(scene, first, second, other) == [25, 0, 400]


def test_named_barriers() -> None:
    """Three meet, and all have come when `late` waits: what it did before must not be late, others could be."""
    scene = Scene()
    early, comes, late = (scene.group(name, 0, 200) for name in ("early", "comes", "late"))
    before_early = scene.event(early, "fence", 0, 10)
    scene.event(early, "named_wait", 20, 110, slot=1)
    arrival = scene.event(comes, "named_arrive", 60, 70, slot=1)
    before_late = scene.event(late, "fence", 80, 90)
    scene.event(late, "named_wait", 100, 110, slot=1)
    assert slack_of(scene, before_early, arrival, before_late) == [80, 0, 0]
    # nobody waits any more after `comes` has arrived but it itself computes until the end: so none. If it ends at once:
    scene = Scene()
    comes, late = scene.group("comes", 0, 70), scene.group("late", 0, 200)
    arrival = scene.event(comes, "named_arrive", 60, 70, slot=1)
    scene.event(late, "named_wait", 100, 110, slot=1, by=arrival)
    assert slack_of(scene, arrival) == [30]


def test_products_behind_others() -> None:
    """The second is issued 60 cycles before the tensor core has done the first, the third when it has been idle for 20.

    `other` ends last, 40 cycles later.
    """
    scene = Scene()
    mma = scene.group("mma", 0, 400)
    scene.group("other", 0, 440)
    issues = [scene.event(mma, "mma", begin, begin + 10) for begin in (0, 40, 220)]
    products = [
        scene.product(mma, begin, end, by=issue)
        for (begin, end), issue in zip([(0, 100), (100, 200), (220, 350)], issues, strict=True)
    ]
    before = scene.event(mma, "fence", 20, 30)
    scene.event(mma, "mma_wait", 240, 350, by=products[2])
    # of the second: until the third begins; what the third waits for follows on the warp group's own track
    assert slack_of(scene, *products) == [60, 60, 40]
    assert slack_of(scene, before, *issues) == [40, 40, 40, 40]


def test_clocks_that_differ_do_not_hide_what_follows() -> None:
    """The release seems to end after the wait: what comes before it has no slack all the same."""
    scene = Scene()
    load, mma = scene.group("load", 0, 110), scene.group("mma", 0, 300)
    before = scene.event(load, "fence", 50, 60)
    arrival = scene.event(load, "arrive", 95, 108, variable="full")
    wait = scene.event(mma, "wait", 20, 100, variable="full", by=arrival)
    assert slack_of(scene, before, arrival, wait) == [0, 0, 0]


def test_slack_of_barriers_tightest_first() -> None:
    """The first slot is handed back while `load` waits for it, the second 20 cycles before it does.

    The copy lands 100 cycles before `mma` wants it, which itself could be 20 late.
    """
    scene = Scene()
    load, mma = scene.group("load", 0, 500), scene.group("mma", 0, 400)
    first = scene.event(mma, "arrive", 70, 80, variable="empty", phase=0)
    scene.event(load, "wait", 20, 85, variable="empty", by=first, line=10)
    issue = scene.event(load, "tma_load", 90, 95, variable="tile")
    copy = scene.copy(load, 95, 105, by=issue, variable="tile")
    scene.event(mma, "wait", 205, 229, variable="full", by=copy, line=20)
    second = scene.event(mma, "arrive", 290, 300, variable="empty", phase=1)
    scene.event(load, "wait", 320, 344, variable="empty", by=second, line=10)
    assert barriers(scene.launch()) == (
        BarrierSlack("empty", "load", 10, releases=2, least=0, median=10, mean=10, critical=0.5),
        BarrierSlack("full", "mma", 20, releases=1, least=120, median=120, mean=120, critical=0),
    )


def test_nothing_traced() -> None:
    made = launch()
    assert slacks(made, dependencies(made, occupation(made))).tolist() == []
    assert barriers(made) == ()
    scene = Scene()
    scene.group("mma", 0, 10)
    assert barriers(scene.launch()) == ()
