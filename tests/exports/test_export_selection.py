"""What `--ctas`, `--roles` and `--range` choose."""

from __future__ import annotations

import pytest
from analysis.synthetic_traces import hung, launch, pipeline
from exports.export_samples import all_of, awkward, copies

from tlxviz._errors import UsageError
from tlxviz.exports.formats import FORMATS
from tlxviz.exports.model import Cut
from tlxviz.exports.selection import Selection, cut, cuts
from tlxviz.trace import Track, TrackKind


def spans(chosen: Cut) -> list[tuple[str, int, int]]:
    launch = chosen.launch
    columns = (launch.events[name].tolist() for name in ("track", "begin", "end"))
    return [(launch.tracks[track].name, begin, end) for track, begin, end in zip(*columns, strict=True)]


def between(begin: int | None, end: int | None) -> Cut:
    return cut(pipeline(3), 0, Selection(cycles=(begin, end)))


def test_all() -> None:
    made = pipeline(3)
    chosen = all_of(made, 5)
    assert chosen.launch.events is made.events
    assert (chosen.number, chosen.begin, chosen.end) == (5, 0, 330)
    assert chosen.numbers().tolist() == list(range(27))
    assert chosen.released_by() is made.events["released_by"]


def test_tracks_by_pattern() -> None:
    chosen = cut(pipeline(2), 0, Selection(roles=("m*", "TMA")))
    assert [track.name for track in chosen.launch.tracks] == ["mma", "TMA"]
    assert {name for name, _, _ in spans(chosen)} == {"mma", "TMA"}
    assert len(chosen.launch.events) == 2 * 5
    assert chosen.launch.events["track"].dtype == "int32"


def test_names_are_not_patterns_of_case() -> None:
    with pytest.raises(UsageError, match="has no track tma: it has load, mma, TMA, tensor core"):
        cut(pipeline(2), 0, Selection(roles=("tma",)))


def test_ctas() -> None:
    chosen = cut(awkward(), 0, Selection(ctas=(1, 2, 3)))
    assert [track.cta for track in chosen.launch.tracks] == [2]
    assert chosen.numbers().tolist() == [1, 2]
    # Event 2 was released by event 0 of the other CTA, which is not here.
    assert chosen.launch.events["released_by"].tolist() == [-1, -1]
    assert chosen.released_by().tolist() == [-1, 0]


def test_ctas_that_were_not_recorded() -> None:
    with pytest.raises(UsageError, match=r"launch 3 .* has none of these CTAs: recorded are 2, 7"):
        cut(awkward(), 3, Selection(ctas=(0, 1)))


def test_many_ctas_are_not_all_named() -> None:
    tracks = [Track(TrackKind.WARP_GROUP, "load", cta, 0, 0) for cta in range(20)]
    with pytest.raises(UsageError, match=r"0, 1, 2, 3, 4, 5, 6, 7 and 12 more\."):
        cut(launch(tracks), 0, Selection(ctas=(99,)))


def test_events_that_reach_into_a_stretch_are_whole() -> None:
    assert spans(between(100, 130)) == [
        ("TMA", 50, 130),
        ("mma", 100, 130),
        ("load", 100, 140),
    ]


def test_a_stretch_is_the_cycles_before_its_end() -> None:
    # A copy ends at 130 and a wait too; another begins at 150.
    assert ("TMA", 50, 130) in spans(between(129, 150))
    assert ("TMA", 50, 130) not in spans(between(130, 150))
    assert ("TMA", 150, 230) not in spans(between(130, 150))
    assert ("TMA", 150, 230) in spans(between(130, 151))


def test_stretches_side_by_side_have_every_event_that_takes_no_time_once() -> None:
    made = awkward()  # event 1 is at cycle 10 only
    assert [1 in cut(made, 0, Selection(cycles=each)).numbers() for each in ((0, 10), (10, 20), (11, 20))] == [
        False,
        True,
        False,
    ]


def test_open_stretches() -> None:
    assert len(between(None, None).launch.events) == 27
    assert [(each.begin, each.end) for each in (between(50, None), between(None, 50))] == [(50, 330), (0, 50)]
    # An MMA from 35 to 85 and the wait for it are in both.
    assert len(between(50, None).launch.events) + len(between(None, 50).launch.events) == 27 + 2


def test_a_stretch_with_no_events_is_empty() -> None:
    chosen = cut(copies(), 0, Selection(roles=("load",), cycles=(30, 40)))
    assert len(chosen.launch.events) == 0
    assert [track.name for track in chosen.launch.tracks] == ["load"]
    assert (chosen.begin, chosen.end) == (30, 40)


@pytest.mark.parametrize("cycles", [(1250, None), (10**12, None), (5000, 6000)])
def test_a_stretch_behind_the_launch(cycles: tuple[int, int | None]) -> None:
    with pytest.raises(UsageError, match=r"launch 0 \(pipeline\) has nothing in cycles .*from cycle 0 to 330"):
        between(*cycles)


def test_the_cycles_in_which_stores_arrive_are_part_of_the_launch() -> None:
    assert len(between(1249, None).launch.events) == 0


def test_a_stretch_ends_with_the_launch_at_the_latest() -> None:
    for end in (1251, 10**30):
        chosen = between(100, end)
        assert (chosen.begin, chosen.end) == (100, 1250)
    assert between(0, 1249).end == 1249
    for name in ("csv", "parquet", "perfetto", "chrome"):
        assert len(bytes(FORMATS[name].load()([between(None, 10**30)])))


def test_a_stretch_before_all_events() -> None:
    tracks = [Track(TrackKind.WARP_GROUP, "load", 0, 0, 0, begin=500, end=600)]
    with pytest.raises(UsageError, match=r"nothing in cycles :500: it was recorded from cycle 500 to 600"):
        cut(launch(tracks), 0, Selection(cycles=(None, 500)))


def test_launches_without_events_or_tracks() -> None:
    assert len(all_of(launch()).launch.events) == 0
    assert (all_of(launch()).begin, all_of(launch()).end) == (0, 0)
    assert all_of(launch([Track(TrackKind.TMA, "TMA", 0, 0, -1, begin=3, end=9)])).end == 9
    assert len(cut(launch(), 0, Selection(ctas=(3,), roles=("x",))).launch.events) == 0


def test_launches_of_which_nothing_is_chosen_are_left_out() -> None:
    launches = [(0, awkward()), (1, pipeline(2)), (2, hung())]
    assert [each.number for each in cuts(launches, lambda *_: Selection(roles=("mma",)))] == [1, 2]
    assert [each.number for each in cuts(launches, lambda *_: Selection(cycles=(4000, None)))] == [2]
    with pytest.raises(UsageError, match="launch 0 "):
        cuts(launches, lambda *_: Selection(roles=("nobody",)))
