from __future__ import annotations

from analysis.blackwell_traces import tiles
from analysis.synthetic_traces import hung, launch, pipeline

from tlxviz.analysis.summary import summarise
from tlxviz.trace import AgentRow, Track, TrackKind


def test_four_iterations_in_the_middle_of_the_busiest_warp_group() -> None:
    strip = summarise(pipeline(), strip_columns=40).strip
    assert strip is not None
    assert (strip.agent, strip.iterations, strip.begin, strip.end, strip.cta) == ("load", 4, 400, 800, 0)
    assert strip.cycles_per_column == 10
    cells = {row.name: row.cells for row in strip.rows}
    assert list(cells) == ["load", "mma", "TMA", "tensor core"]
    assert cells["load"] == "wwwwibbbbb" * 4
    assert cells["mma"] == "wwwiwwwwwb" * 4
    assert cells["TMA"] == "bbb--bbbbb" * 4
    assert cells["tensor core"] == "---bbbbbb-" * 4


def test_tensor_memory_counts_as_work_and_clc_has_a_row() -> None:
    strip = summarise(tiles(1, 8, asks=True), strip_columns=64).strip
    assert strip is not None
    # a tile takes 374 cycles, the pace of mma; columns of 6 cycles
    assert (strip.agent, strip.iterations, strip.begin, strip.end) == ("mma", 4, 1501, 1885)
    cells = {row.name: row.cells for row in strip.rows}
    assert list(cells) == ["mma", "epilogue", "scheduler", "tensor core", "CLC"]
    # its arrival is over at 1496; it works until 1536, and reads from 1806 until 1866
    assert cells["epilogue"] == "b" * 6 + "w" * 45 + "b" * 10 + "b" * 3
    # a request at 1600, whose answer is there from 1610 to 1810
    assert cells["CLC"] == "-" * 18 + "b" * 34 + "-" * 12


def test_few_iterations_are_taken_where_they_are() -> None:
    strip = summarise(pipeline(4), strip_columns=30).strip
    assert strip is not None
    assert (strip.iterations, strip.begin, strip.end) == (3, 0, 300)


def test_too_few_iterations_show_the_whole_cta() -> None:
    strip = summarise(pipeline(2), strip_columns=20).strip
    assert strip is not None
    assert (strip.agent, strip.iterations, strip.begin, strip.end) == ("", 0, 0, 200)


def test_a_warp_group_is_idle_outside_its_life() -> None:
    tracks = [
        Track(TrackKind.WARP_GROUP, "a", 0, 0, 0, begin=0, end=100),
        Track(TrackKind.WARP_GROUP, "b", 0, 0, 1, begin=50, end=80),
    ]
    agents = [AgentRow("a", "compute", 0, 4), AgentRow("b", "compute", 1, 4)]
    strip = summarise(launch(tracks, agents=agents), strip_columns=10).strip
    assert strip is not None
    assert [row.cells for row in strip.rows] == ["b" * 10, "-----bbb--"]


def test_a_typical_stretch_is_preferred_to_an_odd_one() -> None:
    made = pipeline(90)
    late = made.events["begin"] >= 4500
    made.events.columns["begin"][late] += 70
    made.events.columns["end"][late] += 70
    strip = summarise(made).strip
    assert strip is not None
    assert strip.end - strip.begin == 400


def test_a_hung_launch_has_a_strip() -> None:
    strip = summarise(hung()).strip
    assert strip is not None
    assert strip.end == 300
