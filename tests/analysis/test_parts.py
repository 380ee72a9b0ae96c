"""A launch is cut into parts, and whatever is said of it is the same however it is cut."""

from __future__ import annotations

import numpy as np
import pytest
from analysis.random_pipelines import Spec, simulate, specs
from analysis.synthetic_traces import Scene
from hypothesis import given, settings

from tlxviz.analysis.account import Account
from tlxviz.analysis.parts import Parts
from tlxviz.analysis.summary import summarise
from tlxviz.trace import LaunchTrace, TrackKind


def account(launch: LaunchTrace, **how: int) -> Account:
    made = Account(launch)
    made.__dict__["parts"] = Parts(launch, **how)
    return made


@settings(max_examples=100, deadline=None)
@given(specs)
def test_what_is_said_of_a_launch_does_not_depend_on_where_it_is_cut(spec: Spec) -> None:
    launch = simulate(spec).trace
    one, cut = account(launch, one=True), account(launch, enough=1)
    assert summarise(cut) == summarise(one)
    assert cut.attribution == one.attribution
    assert cut.path == one.path
    assert cut.roofline == one.roofline
    assert cut.steady == one.steady
    for name in ("cycles", "counts", "longest"):
        assert getattr(cut.totals, name).tolist() == getattr(one.totals, name).tolist()


def two_ctas(begin: int, sm: int, *, linked: bool = False) -> list[int]:
    """The parts of a CTA from 0 to 100 on SM 0 and another one, by track."""
    scene = Scene()
    first, second = scene.group("a", 0, 100, cta=0, sm=0), scene.group("a", begin, begin + 100, cta=1, sm=sm)
    arrival = scene.event(first, "arrive", 10, 20)
    scene.event(second, "wait", begin + 10, begin + 30, by=arrival if linked else -1)
    return Parts(scene.launch(), enough=1).of_track


def test_ctas_that_have_nothing_to_do_with_each_other_are_in_parts_of_their_own() -> None:
    assert two_ctas(0, sm=1) == [0, 1]
    assert two_ctas(200, sm=0) == [0, 1]


@pytest.mark.parametrize("begin", [0, 99, 100, 163])
def test_ctas_that_share_an_sm_are_in_one_part(begin: int) -> None:
    """With clocks that are off by some cycles, also where one begins as the other ends."""
    assert two_ctas(begin, sm=0) == [0, 0]


def test_ctas_of_which_one_releases_the_other_are_in_one_part() -> None:
    assert two_ctas(0, sm=1, linked=True) == [0, 0]


def test_parts_are_no_smaller_than_is_of_use() -> None:
    scene = Scene()
    for cta in range(6):
        group = scene.group("a", 0, 100, cta=cta, sm=cta)
        for begin in range(0, 40, 10):
            scene.event(group, "arrive", begin, begin + 5)
    assert Parts(scene.launch(), enough=8).of_track == [0, 0, 1, 1, 2, 2]
    assert Parts(scene.launch(), enough=13).of_track == [0] * 6


def test_events_of_a_part_stand_by_kind_of_track_track_and_begin() -> None:
    launch = simulate(Spec(7, 4, 2, 2, 2, 2, 1, "waits", True, 0, 3, 200)).trace
    parts = Parts(launch, enough=1)
    rows: list[int] = []
    for number in range(len(parts)):
        part = parts[number]
        events, kinds = part.launch.events, [track.kind for track in part.launch.tracks]
        place = list(zip(events["track"].tolist(), events["begin"].tolist(), strict=True))
        assert place == sorted(place)
        assert kinds == sorted(kinds, key=list(TrackKind).index)
        assert [launch.tracks[row] for row in part.tracks.tolist()] == part.launch.tracks
        for name in ("site", "begin", "end", "outer", "inner", "slot", "phase", "bytes"):
            assert events[name].tolist() == launch.events[name][part.rows].tolist()
        by = events["released_by"]
        assert np.where(by >= 0, part.rows[by], -1).tolist() == launch.events["released_by"][part.rows].tolist()
        assert part.by_end().events["end"].tolist() == launch.events["end"][np.sort(part.rows)].tolist()
        rows += part.rows.tolist()
    assert sorted(rows) == list(range(len(launch.events)))


def test_times_that_need_more_than_32_bits_are_kept() -> None:
    late = 2**31 - 150
    scene = Scene()
    group = scene.group("a", late, late + 400)
    issue = scene.event(group, "tma_load", late, late + 20)
    copy = scene.copy(group, late + 30, late + 300, by=issue)
    scene.event(group, "wait", late + 20, late + 310, by=copy)
    launch = scene.launch()
    part = Parts(launch)[0]
    assert part.launch.events["end"].tolist() == [late + 20, late + 310, late + 300]
    [found] = account(launch).attribution
    assert (found.cycles, sum(item.cycles for item in found.items)) == (400, 400)
