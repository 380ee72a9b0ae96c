"""The path that is as long as the run."""

from __future__ import annotations

from analysis.synthetic_traces import Scene, launch, pipeline

from tlxviz.analysis.dependencies import Activity, dependencies
from tlxviz.analysis.occupation import occupation
from tlxviz.analysis.path import CriticalPath, critical_path
from tlxviz.trace import LaunchTrace, Track, TrackKind


def path_of(made: LaunchTrace) -> CriticalPath:
    occupied = occupation(made)
    found = critical_path(made, occupied, dependencies(made, occupied))
    assert found is not None
    inside = sum(step.end - step.begin for step in found.stretches)
    assert found.start + inside + found.between + found.rest == found.cycles
    assert sum(share.cycles for share in found.shares) == inside == sum(found.activities.values())
    return found


def told(made: LaunchTrace) -> list[tuple[str, str, int, int]]:
    steps = path_of(made).stretches
    return [(made.tracks[step.track].name, step.activity.name, step.begin, step.end) for step in steps]


def test_one_cta_with_overhead_before_and_after() -> None:
    """`load` ends early; `mma` waits for its copy and computes for 40 cycles at the end."""
    scene = Scene()
    load, mma = scene.group("load", 100, 150), scene.group("mma", 100, 300)
    issue = scene.event(load, "tma_load", 120, 130, variable="tile")
    copy = scene.copy(load, 130, 230, by=issue, variable="tile")
    scene.event(mma, "wait", 110, 240, variable="full", by=copy)
    scene.event(mma, "fence", 250, 260)
    made = scene.launch(cycles=350)
    assert told(made) == [
        ("load", "ARITHMETIC", 100, 120),
        ("load", "ISSUE", 120, 130),
        ("TMA", "COPY_LATENCY", 130, 230),
        ("mma", "HAND_OFF", 230, 240),
        ("mma", "ARITHMETIC", 240, 250),
        ("mma", "ISSUE", 250, 260),
        ("mma", "ARITHMETIC", 260, 300),
    ]
    path = path_of(made)
    assert (path.cycles, path.start, path.between, path.rest, path.ctas) == (350, 100, 0, 50, (0,))
    assert path.activities == {
        Activity.ARITHMETIC: 70,
        Activity.ISSUE: 20,
        Activity.HAND_OFF: 10,
        Activity.COPY_LATENCY: 100,
    }
    longest = path.shares[0]
    assert (longest.agent, longest.activity, longest.kind, longest.variable) == (
        "load",
        Activity.COPY_LATENCY,
        "tma_load",
        "tile",
    )
    assert longest.share == 100 / 350
    assert [(each.agent, each.cycles) for each in path.shares[1:]] == [
        ("mma", 50),
        ("load", 20),
        ("load", 10),
        ("mma", 10),
        ("mma", 10),
    ]


def test_ctas_one_after_the_other_on_an_sm() -> None:
    """CTA 0 of another SM ends before; CTA 2 of this SM runs beside CTA 1, and ends before CTA 3 begins as well."""
    scene = Scene()
    scene.group("mma", 0, 180, cta=0, sm=1)
    scene.group("mma", 10, 200, cta=1)
    scene.group("mma", 10, 190, cta=2)
    scene.group("mma", 215, 400, cta=3)
    path = path_of(scene.launch())
    assert path.ctas == (1, 3)
    assert (path.start, path.between, path.rest) == (10, 15, 0)
    assert [(step.begin, step.end) for step in path.stretches] == [(10, 200), (215, 400)]


def test_a_warp_group_that_starts_late() -> None:
    scene = Scene()
    scene.group("load", 20, 60)
    mma = scene.group("mma", 50, 200)
    scene.event(mma, "fence", 70, 80)
    made = scene.launch()
    assert told(made) == [
        ("mma", "ARITHMETIC", 20, 50),
        ("mma", "ARITHMETIC", 50, 70),
        ("mma", "ISSUE", 70, 80),
        ("mma", "ARITHMETIC", 80, 200),
    ]
    assert path_of(made).start == 20


def test_the_warp_group_that_starts_late_is_the_one_that_the_path_leads_to() -> None:
    scene = Scene()
    load, mma = scene.group("load", 0, 200), scene.group("mma", 50, 100)
    arrival = scene.event(mma, "arrive", 80, 90, variable="empty")
    scene.event(load, "wait", 10, 120, variable="empty", by=arrival)
    assert told(scene.launch())[0] == ("mma", "ARITHMETIC", 0, 50)


def test_through_another_cta_of_the_cluster() -> None:
    """Both begin at once, on SMs of their own; the path changes over at the arrival."""
    scene = Scene()
    here, there = scene.group("here", 10, 200), scene.group("there", 10, 100, cta=1, sm=1)
    arrival = scene.event(there, "arrive", 60, 70, variable="empty")
    scene.event(here, "wait", 20, 90, variable="empty", by=arrival)
    scene.group("earlier", 0, 8, cta=2, sm=1)
    made = scene.launch()
    assert told(made) == [
        ("earlier", "ARITHMETIC", 0, 8),
        ("there", "ARITHMETIC", 10, 60),
        ("there", "ISSUE", 60, 70),
        ("here", "HAND_OFF", 70, 90),
        ("here", "ARITHMETIC", 90, 200),
    ]
    path = path_of(made)
    assert (path.ctas, path.start, path.between) == ((2, 1, 0), 0, 2)


def test_what_nobody_recorded_is_unknown() -> None:
    scene = Scene()
    mma = scene.group("mma", 0, 1000)
    copy = scene.copy(mma, 300, 500, by=-1, variable="tile")
    scene.event(mma, "wait", 100, 510, variable="full", by=copy)
    scene.event(mma, "wait", 520, 900, variable="other")
    assert told(scene.launch()) == [
        ("TMA", "UNKNOWN", 0, 300),
        ("TMA", "COPY_LATENCY", 300, 500),
        ("mma", "HAND_OFF", 500, 510),
        ("mma", "ARITHMETIC", 510, 520),
        ("mma", "UNKNOWN", 520, 900),
        ("mma", "ARITHMETIC", 900, 1000),
    ]


def test_an_event_that_outlives_its_track() -> None:
    scene = Scene()
    mma = scene.group("mma", 0, 100)
    scene.event(mma, "wait", 60, 130, variable="full")
    assert told(scene.launch()) == [("mma", "ARITHMETIC", 0, 60), ("mma", "HAND_OFF", 60, 100)]


def test_a_pipeline_is_held_up_by_its_copies() -> None:
    """Each iteration's copy is what the next waits for."""
    path = path_of(pipeline())
    assert (path.start, path.between, path.rest, path.cycles) == (0, 0, 50, 1250)
    assert path.stretches[0].begin == 0


def test_nothing_traced() -> None:
    for made in (launch(), launch([Track(TrackKind.TMA, "TMA", 0, 0, -1, begin=0, end=10)])):
        occupied = occupation(made)
        assert critical_path(made, occupied, dependencies(made, occupied)) is None
    scene = Scene()
    scene.group("mma", 5, 100)
    assert told(scene.launch()) == [("mma", "ARITHMETIC", 5, 100)]
