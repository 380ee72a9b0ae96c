"""Who arrives at barriers, who waits there, and for how long."""

from __future__ import annotations

from synthetic_traces import Scene, launch, pipeline

from tlxviz.analysis.barrier_use import NAMED, barrier_uses
from tlxviz.trace import BarrierRow


def test_a_ring_of_two_slots() -> None:
    made = pipeline(12)
    full, empty = barrier_uses(made)
    assert (full.name, full.slots, full.counts) == ("full", 2, (1, 1))
    assert full.arrivals == {"load": 12, "TMA": 12}
    assert full.waits == {"mma": 12}
    assert (full.mean, full.worst) == (30.0, 30)
    assert empty.arrivals == {"mma": 12}
    assert empty.waits == {"load": 12}
    assert (empty.mean, empty.worst) == (40.0, 40)
    # of equals, the first
    assert made.events["begin"][empty.worst_event] == 0


def test_named_barriers_come_last_and_count_their_slots() -> None:
    scene = Scene()
    one, two = scene.group("a", 0, 100), scene.group("b", 0, 100)
    scene.event(one, "named_wait", 0, 30, slot=1)
    longest = scene.event(two, "named_wait", 10, 50, slot=2)
    scene.event(two, "named_arrive", 60, 62, slot=1)
    scene.event(one, "arrive", 70, 72, variable="full")
    full, named = barrier_uses(scene.launch())
    assert (full.name, full.slots, full.counts, full.arrivals) == ("full", 1, (), {"a": 1})
    assert (full.waits, full.mean, full.worst, full.worst_event) == ({}, 0.0, 0, -1)
    assert (named.name, named.slots, named.arrivals, named.waits) == (NAMED, 2, {"b": 1}, {"a": 1, "b": 1})
    assert (named.mean, named.worst, named.worst_event) == (35.0, 40, scene.row(longest))


def test_a_barrier_that_nobody_uses_is_there_all_the_same() -> None:
    (unused,) = barrier_uses(launch(barriers=[BarrierRow("full", 3, (1, 1, 1))]))
    assert (unused.slots, unused.arrivals, unused.waits, unused.worst_event) == (3, {}, {}, -1)
    assert barrier_uses(launch()) == ()
