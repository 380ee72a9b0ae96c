"""Stretches of time that iterations bound."""

from __future__ import annotations

import pytest
from analysis.synthetic_traces import Scene, launch, pipeline

from tlxviz.analysis.occupation import occupation
from tlxviz.analysis.pace import by_pace
from tlxviz.analysis.steady import steady_states
from tlxviz.analysis.stretch import Stretch, stretch_of_iterations, typical_stretch
from tlxviz.trace import LaunchTrace, SiteRow, Track, TrackKind


def tiles() -> LaunchTrace:
    """Three tiles of two iterations of 20 cycles, the last of three, and a store of 5 behind these."""
    tracks = [Track(TrackKind.WARP_GROUP, "mma", 0, 0, 0, begin=0, end=170)]
    sites = [SiteRow("mma", 0, "f", 2, "", ""), SiteRow("tma_store", 0, "f", 3, "c", "")]
    rows: list[tuple[int, ...]] = []
    for tile in range(3):
        at, count = tile * 50, 3 if tile == 2 else 2
        rows += [(0, 0, at + 20 * k, at + 20 * k + 15, tile, k, -1, -1, 0, -1) for k in range(count)]
        end = at + 20 * count
        rows.append((0, 1, end, end + 5, tile, tile, -1, -1, 0, -1))
    return launch(tracks, sites, rows)


def of(made: LaunchTrace, first: int, after: int, cta: int = 0) -> Stretch | tuple[int, int] | None:
    return stretch_of_iterations(made, occupation(made), cta, first, after)


def test_the_warp_group_that_waits_least_is_first() -> None:
    made = pipeline()
    assert [made.tracks[row].name for row in by_pace(made, occupation(made), 0)] == ["load", "mma"]
    # without steady states, by their whole time
    short = pipeline(2)
    assert steady_states(short, occupation(short), cta=0) == {"load": None, "mma": None}
    assert [short.tracks[row].name for row in by_pace(short, occupation(short), 0)] == ["load", "mma"]


def test_only_the_steady_state_counts() -> None:
    """`late` waits most of its time before its loop, and least in it."""
    scene = Scene()
    early, late = scene.group("early", 0, 1000), scene.group("late", 0, 1000)
    scene.event(late, "wait", 0, 600, variable="x")
    for i in range(4):
        scene.event(early, "wait", 100 * i, 100 * i + 50, inner=i, outer=i, variable="y")
        scene.event(late, "wait", 600 + 100 * i, 610 + 100 * i, inner=i, outer=i, variable="z")
    made = scene.launch()
    assert by_pace(made, occupation(made), 0) == [late, early]


def test_a_stretch_goes_from_the_begin_of_one_iteration_to_that_of_another() -> None:
    assert of(pipeline(), 2, 5) == Stretch(200, 500, "load", 3)
    # after the last iteration nothing begins: it ends with its last event, the copy that is issued in cycles 44 to 50
    assert of(pipeline(), 10, 12) == Stretch(1000, 1150, "load", 2)
    assert of(pipeline(), 10, 99) == Stretch(1000, 1150, "load", 2)


def test_of_several_tiles_the_first_that_has_the_iterations() -> None:
    assert of(tiles(), 0, 1) == Stretch(0, 20, "mma", 1)
    assert of(tiles(), 0, 2) == Stretch(0, 35, "mma", 2)
    assert of(tiles(), 2, 3) == Stretch(140, 155, "mma", 1)


@pytest.mark.parametrize(("first", "after"), [(12, 13), (40, 50)])
def test_numbers_that_there_are_where_these_are_none(first: int, after: int) -> None:
    assert of(pipeline(), first, after) == (0, 11)


def test_nothing_that_iterates() -> None:
    alone = launch([Track(TrackKind.WARP_GROUP, "a", 0, 0, 0, begin=5, end=9)])
    assert of(alone, 0, 1) is None
    assert of(pipeline(), 0, 1, cta=7) is None
    assert typical_stretch(alone, occupation(alone), 0) == Stretch(5, 9)
    assert typical_stretch(alone, occupation(alone), 1) is None
