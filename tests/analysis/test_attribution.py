"""Every cause, on traces of which the answer can be worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from analysis.synthetic_traces import Scene, launch, pipeline

from tlxviz.analysis.attribution import Cause, GroupAttribution, attribution
from tlxviz.analysis.dependencies import Activity, dependencies
from tlxviz.analysis.groups import warp_groups
from tlxviz.analysis.occupation import occupation
from tlxviz.analysis.phases import Phase
from tlxviz.trace import LaunchTrace, Track, TrackKind


def attributed(made: LaunchTrace) -> dict[str, GroupAttribution]:
    occupied = occupation(made)
    return {each.name: each for each in attribution(made, warp_groups(made), occupied, dependencies(made, occupied))}


def cycles(made: LaunchTrace, name: str) -> dict[Cause, int]:
    """Cycles of a warp group by cause."""
    found = attributed(made)[name]
    assert sum(item.cycles for item in found.items) == found.cycles
    assert sum(found.shares.values()) == pytest.approx(1)
    return {cause: round(share * found.cycles) for cause, share in found.shares.items()}


def culprits(made: LaunchTrace, name: str) -> dict[tuple[Cause, str, Activity], int]:
    found: dict[tuple[Cause, str, Activity], int] = {}
    for item in attributed(made)[name].items:
        key = item.cause, item.culprit, item.doing
        found[key] = found.get(key, 0) + item.cycles
    return found


def test_own_products() -> None:
    scene = Scene()
    mma = scene.group("mma", 0, 100)
    issue = scene.event(mma, "mma", 10, 20)
    product = scene.product(mma, 10, 60, by=issue)
    scene.event(mma, "mma_wait", 25, 65, by=product)
    assert cycles(scene.launch(), "mma") == {
        Cause.TENSOR_CORE: 35,
        Cause.ISSUE: 10,
        Cause.SYNCHRONIZATION: 5,
        Cause.ARITHMETIC: 10 + 5 + 35,
    }


def behind_another(cta: int) -> Scene:
    """`second` has a product behind one of `first`; the latter may be of another CTA of the SM."""
    scene = Scene()
    first, second = scene.group("first", 0, 200), scene.group("second", 0, 200, cta=cta)
    one = scene.event(first, "mma", 0, 10)
    scene.product(first, 0, 100, by=one)
    other = scene.event(second, "mma", 20, 30)
    product = scene.product(second, 100, 150, by=other)
    scene.event(second, "mma_wait", 40, 150, by=product)
    return scene


@pytest.mark.parametrize("cta", [0, 1])
def test_products_of_others(cta: int) -> None:
    made = behind_another(cta).launch()
    assert cycles(made, "second") == {
        Cause.TENSOR_CORE_OTHER: 60,
        Cause.TENSOR_CORE: 50,
        Cause.ISSUE: 10,
        Cause.ARITHMETIC: 20 + 10 + 50,
    }
    assert culprits(made, "second")[Cause.TENSOR_CORE_OTHER, "first", Activity.PRODUCT] == 60


def test_the_same_warp_group_of_another_cta_is_another() -> None:
    scene = Scene()
    first, second = scene.group("mma", 0, 100), scene.group("mma", 0, 100, cta=1)
    one = scene.event(first, "mma", 0, 10)
    scene.product(first, 0, 60, by=one)
    other = scene.event(second, "mma", 0, 10)
    product = scene.product(second, 60, 100, by=other)
    scene.event(second, "mma_wait", 10, 100, by=product)
    assert cycles(scene.launch(), "mma") == {
        Cause.TENSOR_CORE_OTHER: 50,
        Cause.TENSOR_CORE: 40,
        Cause.ISSUE: 20,
        Cause.ARITHMETIC: 90,
    }


@pytest.mark.parametrize("cta", [0, 1])
def test_issuing_that_waits_for_room_is_the_tensor_cores(cta: int) -> None:
    """Both have a product under way; the third, of `second`, gets room when that of `first` has ended."""
    scene = Scene()
    first, second = scene.group("first", 0, 400, cta=cta), scene.group("second", 0, 400)
    one = scene.event(first, "mma", 0, 10, line=7)
    two = scene.event(second, "mma", 5, 15, line=7)
    scene.product(first, 0, 100, by=one)
    scene.product(second, 100, 250, by=two)
    three = scene.event(second, "mma", 20, 255, line=7)
    scene.product(second, 250, 400, by=three)
    assert cycles(scene.launch(), "second") == {
        Cause.TENSOR_CORE_OTHER: 80,
        Cause.TENSOR_CORE: 150,
        Cause.ISSUE: 10 + 5,
        Cause.ARITHMETIC: 5 + 5 + 145,
    }


def test_a_product_that_is_not_asynchronous() -> None:
    scene = Scene()
    mma = scene.group("mma", 0, 100)
    issue = scene.event(mma, "mma", 10, 70, text="tt.dot")
    scene.product(mma, 20, 70, by=issue, text="tt.dot")
    assert cycles(scene.launch(), "mma") == {Cause.TENSOR_CORE: 50, Cause.ISSUE: 10, Cause.ARITHMETIC: 40}


def test_copy_latency_and_a_producer_that_is_late() -> None:
    """The load is asked for at cycle 40 and accepted at 45."""
    scene = Scene()
    load, mma = scene.group("load", 0, 50), scene.group("mma", 0, 150)
    issue = scene.event(load, "tma_load", 30, 40, variable="tile")
    copy = scene.copy(load, 45, 120, by=issue, variable="tile")
    scene.event(mma, "wait", 0, 130, variable="full", by=copy)
    made = scene.launch()
    assert cycles(made, "mma") == {
        Cause.COPY_LATENCY: 80,
        Cause.RING_EMPTY: 40,
        Cause.SYNCHRONIZATION: 10,
        Cause.ARITHMETIC: 20,
    }
    assert culprits(made, "mma") == {
        (Cause.COPY_LATENCY, "load", Activity.COPY_LATENCY): 80,
        (Cause.RING_EMPTY, "load", Activity.ARITHMETIC): 30,
        (Cause.RING_EMPTY, "load", Activity.ISSUE): 10,
        (Cause.SYNCHRONIZATION, "", Activity.HAND_OFF): 10,
        (Cause.ARITHMETIC, "", Activity.ARITHMETIC): 20,
    }
    assert cycles(made, "load") == {Cause.ARITHMETIC: 40, Cause.ISSUE: 10}


def test_copy_bandwidth() -> None:
    """The second copy is accepted 60 cycles after it was asked for; it lands 60 after the first."""
    scene = Scene()
    load, mma = scene.group("load", 0, 20), scene.group("mma", 0, 160)
    copies: list[int] = []
    for begin, accepted in ((0, 10), (10, 80)):
        issue = scene.event(load, "tma_load", begin, begin + 10, variable="tile")
        copies.append(scene.copy(load, accepted, accepted + 70, by=issue, variable="tile"))
    scene.event(mma, "wait", 20, 150, variable="full", by=copies[1])
    assert cycles(scene.launch(), "mma") == {
        Cause.COPY_BANDWIDTH: 70,
        Cause.COPY_LATENCY: 60,
        Cause.ARITHMETIC: 30,
    }


def test_stores_are_not_behind_loads() -> None:
    scene = Scene()
    load, mma = scene.group("load", 0, 10), scene.group("mma", 0, 200)
    asked = scene.event(load, "tma_load", 0, 10, variable="tile")
    scene.copy(load, 10, 90, by=asked, variable="tile")
    first = scene.event(mma, "tma_store", 0, 10, variable="out")
    scene.copy(mma, 10, 50, by=first, kind="tma_store", variable="out")
    second = scene.event(mma, "tma_store", 60, 70, variable="out")
    store = scene.copy(mma, 70, 170, by=second, kind="tma_store", variable="out")
    scene.event(mma, "tma_store_wait", 80, 170, by=store)
    assert cycles(scene.launch(), "mma") == {Cause.COPY_LATENCY: 90, Cause.ARITHMETIC: 90, Cause.ISSUE: 20}


def test_a_ring_that_is_full() -> None:
    """`load` waits for `mma` to hand a slot back, which waits for its product."""
    scene = Scene()
    load, mma = scene.group("load", 0, 120), scene.group("mma", 0, 120)
    issue = scene.event(mma, "mma", 10, 20)
    product = scene.product(mma, 10, 60, by=issue)
    scene.event(mma, "mma_wait", 20, 65, by=product)
    arrival = scene.event(mma, "arrive", 80, 90, variable="empty")
    scene.event(load, "wait", 30, 100, variable="empty", by=arrival)
    scene.event(load, "expect", 100, 110, variable="full")
    made = scene.launch()
    assert cycles(made, "load") == {
        Cause.RING_FULL: 60,
        Cause.ARITHMETIC: 40,
        Cause.SYNCHRONIZATION: 10,
        Cause.ISSUE: 10,
    }
    assert culprits(made, "load") == {
        (Cause.RING_FULL, "mma", Activity.PRODUCT): 30,
        (Cause.RING_FULL, "mma", Activity.ARITHMETIC): 15,
        (Cause.RING_FULL, "mma", Activity.ISSUE): 10,
        (Cause.RING_FULL, "mma", Activity.HAND_OFF): 5,
        (Cause.ARITHMETIC, "", Activity.ARITHMETIC): 40,
        (Cause.SYNCHRONIZATION, "", Activity.HAND_OFF): 10,
        (Cause.ISSUE, "", Activity.ISSUE): 10,
    }


def test_a_producer_that_arrives_itself_is_late() -> None:
    scene = Scene()
    softmax, mma = scene.group("softmax", 0, 90), scene.group("mma", 0, 100)
    arrival = scene.event(softmax, "arrive", 80, 90, variable="ready")
    scene.event(mma, "wait", 10, 95, variable="ready", by=arrival)
    scene.event(mma, "mma", 95, 100)
    assert cycles(scene.launch(), "mma") == {
        Cause.RING_EMPTY: 80,
        Cause.ARITHMETIC: 10,
        Cause.SYNCHRONIZATION: 5,
        Cause.ISSUE: 5,
    }


def test_a_partner_that_arrives_at_a_named_barrier() -> None:
    scene = Scene()
    one, two = scene.group("one", 0, 100), scene.group("two", 0, 100)
    arrival = scene.event(two, "named_arrive", 70, 80, slot=3)
    scene.event(one, "named_wait", 10, 90, by=arrival, slot=3)
    assert cycles(scene.launch(), "one") == {Cause.PARTNER: 70, Cause.ARITHMETIC: 20, Cause.SYNCHRONIZATION: 10}


def test_partners_that_all_wait_at_a_named_barrier() -> None:
    """No arrival ends it, and so a trace says -1 of both: who comes last does."""
    scene = Scene()
    one, two = scene.group("one", 0, 1000), scene.group("two", 0, 1000)
    for phase, (first, second) in enumerate(((100, 500), (950, 600))):
        last = max(first, second)
        scene.event(one, "named_wait", first, last + 10, slot=3, phase=phase)
        scene.event(two, "named_wait", second, last + 10, slot=3, phase=phase)
    made = scene.launch()
    assert cycles(made, "one") == {Cause.PARTNER: 400, Cause.ARITHMETIC: 580, Cause.SYNCHRONIZATION: 20}
    assert culprits(made, "one")[Cause.PARTNER, "two", Activity.ARITHMETIC] == 400
    assert cycles(made, "two") == {Cause.PARTNER: 350, Cause.ARITHMETIC: 630, Cause.SYNCHRONIZATION: 20}


def test_a_wait_of_a_partner_that_comes_after_the_arrival() -> None:
    """Three meet: `arriver` comes at 50, `last` waits from 80 on."""
    scene = Scene()
    waiter, arriver, last = (scene.group(name, 0, 100) for name in ("waiter", "arriver", "last"))
    arrival = scene.event(arriver, "named_arrive", 40, 50, slot=2)
    scene.event(waiter, "named_wait", 10, 90, slot=2, by=arrival)
    scene.event(last, "named_wait", 80, 90, slot=2, by=arrival)
    made = scene.launch()
    assert culprits(made, "waiter")[Cause.PARTNER, "last", Activity.ARITHMETIC] == 70
    assert cycles(made, "last") == {Cause.ARITHMETIC: 90, Cause.SYNCHRONIZATION: 10}


def test_barriers_of_other_ctas_and_phases_are_others() -> None:
    scene = Scene()
    one, two, three = scene.group("one", 0, 100), scene.group("two", 0, 100, cta=1), scene.group("three", 0, 100)
    scene.event(one, "named_wait", 10, 50, slot=1)
    scene.event(two, "named_wait", 40, 50, slot=1)
    scene.event(three, "named_wait", 45, 50, slot=1, phase=1)
    assert cycles(scene.launch(), "one") == {Cause.SYNCHRONIZATION: 40, Cause.ARITHMETIC: 60}


def test_a_release_from_another_cta_of_the_cluster() -> None:
    scene = Scene()
    here, there = scene.group("mma", 0, 100), scene.group("mma", 0, 100, cta=1, sm=1)
    arrival = scene.event(there, "arrive", 60, 70, variable="empty")
    scene.event(here, "wait", 20, 90, variable="empty", by=arrival)
    scene.event(here, "expect", 90, 95, variable="full")
    made = scene.launch()
    assert cycles(made, "mma")[Cause.RING_FULL] == 50
    assert culprits(made, "mma")[Cause.RING_FULL, "mma", Activity.ARITHMETIC] == 40


def test_the_barrier_of_a_cluster() -> None:
    scene = Scene()
    here, there = scene.group("mma", 0, 700), scene.group("mma", 0, 700, cta=1, sm=1)
    arrival = scene.event(there, "cluster_arrive", 60, 70)
    scene.event(here, "cluster_wait", 20, 80, by=arrival)
    scene.event(here, "cluster_wait", 100, 600)  # nobody knows by whom it ended
    found = cycles(scene.launch(), "mma")
    assert (found[Cause.PARTNER], found[Cause.SYNCHRONIZATION]) == (50 + 500, 10)


def test_waits_that_find_their_phase_complete() -> None:
    scene = Scene()
    load, mma = scene.group("load", 0, 50), scene.group("mma", 0, 100)
    issue = scene.event(load, "tma_load", 0, 10, variable="tile")
    copy = scene.copy(load, 10, 40, by=issue, variable="tile")
    scene.event(mma, "wait", 40, 64, variable="full", by=copy)
    scene.event(mma, "wait", 70, 94, variable="other")  # nothing had to happen first
    assert cycles(scene.launch(), "mma") == {Cause.SYNCHRONIZATION: 48, Cause.ARITHMETIC: 52}


def test_waits_that_nobody_explains() -> None:
    scene = Scene()
    mma = scene.group("mma", 0, 1000)
    scene.event(mma, "wait", 100, 700, variable="full")
    scene.event(mma, "async_copy_wait", 750, 950)
    made = scene.launch()
    assert cycles(made, "mma") == {Cause.OTHER: 600, Cause.COPY_LATENCY: 200, Cause.ARITHMETIC: 200}
    assert culprits(made, "mma")[Cause.OTHER, "", Activity.UNKNOWN] == 600


def test_a_copy_that_nobody_is_known_to_have_issued() -> None:
    scene = Scene()
    mma = scene.group("mma", 0, 200)
    copy = scene.copy(mma, 60, 140, by=-1, variable="tile")
    scene.event(mma, "wait", 10, 150, variable="full", by=copy)
    assert cycles(scene.launch(), "mma") == {
        Cause.COPY_LATENCY: 80,
        Cause.OTHER: 50,
        Cause.SYNCHRONIZATION: 10,
        Cause.ARITHMETIC: 60,
    }


def test_a_partner_that_has_not_begun() -> None:
    """The consumer's warps start at cycle 300; until then nobody hands slots back."""
    scene = Scene()
    load, mma = scene.group("load", 0, 420), scene.group("mma", 300, 420)
    arrival = scene.event(mma, "arrive", 390, 400, variable="empty")
    scene.event(load, "wait", 100, 400, variable="empty", by=arrival)
    scene.event(load, "expect", 400, 420, variable="full")
    assert cycles(scene.launch(), "load") == {Cause.RING_FULL: 300, Cause.ARITHMETIC: 100, Cause.ISSUE: 20}


def test_prologue_and_epilogue() -> None:
    scene = Scene()
    mma = scene.group("mma", 0, 200)
    scene.event(mma, "wait", 10, 30, variable="q")
    for step in range(3):
        scene.event(mma, "arrive", 40 + 30 * step, 50 + 30 * step, variable="empty", outer=step, inner=step)
    scene.event(mma, "fence", 130, 150)
    made = scene.launch()
    assert cycles(made, "mma") == {
        Cause.PROLOGUE: 40,
        Cause.ISSUE: 30,
        Cause.ARITHMETIC: 40,
        Cause.EPILOGUE: 90,
    }
    inside = {(item.phase, item.cause): item.cycles for item in attributed(made)["mma"].items}
    assert inside[Phase.PROLOGUE, Cause.ARITHMETIC] == 20
    assert inside[Phase.PROLOGUE, Cause.SYNCHRONIZATION] == 20
    assert inside[Phase.EPILOGUE, Cause.ISSUE] == 20
    assert inside[Phase.EPILOGUE, Cause.ARITHMETIC] == 70


def test_tiles_of_a_persistent_kernel_have_prologues_and_epilogues_of_their_own() -> None:
    scene = Scene()
    mma, load = scene.group("mma", 0, 1000), scene.group("load", 0, 1000)
    for tile in range(2):
        at = 500 * tile
        scene.event(mma, "fence", at + 20, at + 30, outer=tile, inner=tile)
        for step in range(3):
            begin = at + 50 + 100 * step
            scene.event(mma, "arrive", begin, begin + 40, variable="empty", outer=tile, inner=step)
            scene.event(load, "expect", begin, begin + 10, variable="full", outer=tile, inner=step)
        scene.event(mma, "tma_store", at + 350, at + 450, outer=tile, inner=tile)
    found = cycles(scene.launch(), "mma")
    # of each tile: 20 + 10 + 20 before the loop, 3 * 40 issuing and 2 * 60 between, 60 + 100 + 50 after it; what
    # follows the store of the first up to the fence of the second (50 + 20) belongs to the second
    assert found == {
        Cause.PROLOGUE: 2 * 50 + 50,
        Cause.ISSUE: 240,
        Cause.ARITHMETIC: 240,
        Cause.EPILOGUE: 2 * (60 + 100) + 50,
    }
    # the producer has nothing between its tiles but the way from one to the next
    assert cycles(scene.launch(), "load") == {
        Cause.PROLOGUE: 50,
        Cause.ISSUE: 60,
        Cause.ARITHMETIC: 2 * 2 * 90,
        Cause.EPILOGUE: 290 + 240,
    }


def test_iterations_of_a_single_loop_are_one_loop() -> None:
    """From the arrival of an iteration to the next iteration: 6 cycles each, which belong to the loop."""
    found = cycles(pipeline(), "mma")
    # MMAs of 50 begin 5 before their issue ends, and their wait 45 before they do
    assert found == {
        Cause.TENSOR_CORE: 12 * 45,
        Cause.COPY_LATENCY: 11 * 30,
        Cause.SYNCHRONIZATION: 12 * 5 + 30,
        Cause.ISSUE: 12 * 14,
        Cause.ARITHMETIC: 11 * 6,
        Cause.EPILOGUE: 6,
    }


def test_events_that_overlap_or_outlive_their_track_count_once() -> None:
    """As measured times may after they have been corrected."""
    scene = Scene()
    mma = scene.group("mma", 0, 100)
    scene.event(mma, "fence", 10, 40)
    scene.event(mma, "arrive", 35, 60)
    scene.event(mma, "wait", 80, 120, variable="full")
    assert cycles(scene.launch(), "mma") == {Cause.ISSUE: 50, Cause.SYNCHRONIZATION: 20, Cause.ARITHMETIC: 30}


def test_nothing_traced() -> None:
    assert attributed(launch()) == {}
    tracks = [Track(TrackKind.TMA, "TMA", 0, 0, -1, begin=0, end=10)]
    assert attributed(launch(tracks)) == {}
    scene = Scene()
    scene.group("mma", 0, 100)
    assert cycles(scene.launch(), "mma") == {Cause.ARITHMETIC: 100}


def test_only_the_longest_items_are_listed() -> None:
    made = pipeline()
    occupied = occupation(made)
    found = attribution(made, warp_groups(made), occupied, dependencies(made, occupied), most=2)
    assert [len(each.items) for each in found] == [2, 2]
    assert all(np.all(np.diff([item.cycles for item in each.items]) <= 0) for each in found)


def test_a_kernel_with_many_places_is_summed_up_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    few = attributed(pipeline())
    monkeypatch.setattr("tlxviz.analysis.ledger._ENOUGH_KEYS", 0)
    assert attributed(pipeline()) == few
