"""A stretch of time by track: `pipeline` of synthetic_traces, by hand."""

from __future__ import annotations

from analysis.synthetic_traces import Scene, pipeline

from tlxviz.analysis.account import Account
from tlxviz.analysis.cta_view import CtaView, cta_view
from tlxviz.analysis.links import Activity
from tlxviz.analysis.swim_lanes import Lane, swim_lanes
from tlxviz.trace import LaunchTrace
from tlxviz.trace.vocabulary import Work


def view_of(launch: LaunchTrace) -> CtaView:
    found = cta_view(Account(launch))
    assert found is not None
    return found


def pieces(lane: Lane) -> list[tuple[int, int, Work, Activity | None, int]]:
    return [(each.begin, each.end, each.work, each.why, each.doer) for each in lane.pieces]


def test_every_cycle_of_a_warp_group_is_in_one_piece() -> None:
    lanes, arrows = swim_lanes(view_of(pipeline(issued=True)), 500, 600)
    load, mma, tma, tensor_core = lanes
    assert pieces(load) == [
        (500, 540, Work.WAIT, Activity.HAND_OFF, 0),  # the slot is free
        (540, 544, Work.ISSUE, None, -1),
        (544, 550, Work.ISSUE, None, -1),
        (550, 600, Work.BUSY, None, -1),
    ]
    assert pieces(mma) == [
        (500, 530, Work.WAIT, Activity.COPY_LATENCY, 0),
        (530, 540, Work.ISSUE, None, -1),
        (540, 590, Work.WAIT, Activity.PRODUCT, 1),
        (590, 594, Work.ISSUE, None, -1),
        (594, 600, Work.BUSY, None, -1),
    ]
    # cut at both ends
    assert [(each.begin, each.end) for each in tma.pieces] == [(500, 530), (550, 600)]
    assert [(each.begin, each.end) for each in tensor_core.pieces] == [(535, 585)]
    assert [each.at for each in arrows] == [530, 585]


def test_pieces_end_with_the_warp_group() -> None:
    scene = Scene()
    first, _ = scene.group("first", 0, 100), scene.group("second", 0, 200)
    scene.event(first, "arrive", 40, 50)
    lanes, arrows = swim_lanes(view_of(scene.launch()), 0, 150)
    assert [[(each.begin, each.end) for each in lane.pieces] for lane in lanes] == [
        [(0, 40), (40, 50), (50, 100)],
        [(0, 150)],
    ]
    assert arrows == ()


def test_an_arrow_needs_both_ends() -> None:
    scene = Scene()
    first, second = scene.group("first", 0, 300), scene.group("second", 0, 300)
    arrival = scene.event(first, "arrive", 90, 100, variable="bar")
    scene.event(second, "wait", 20, 110, variable="bar", by=arrival)
    view = view_of(scene.launch())
    assert [each.at for each in swim_lanes(view, 0, 300)[1]] == [100]
    assert swim_lanes(view, 101, 300)[1] == ()


def test_warp_groups_that_have_ended_have_no_lane() -> None:
    scene = Scene()
    scene.group("first", 0, 100)
    second = scene.group("second", 0, 300)
    scene.event(second, "arrive", 160, 170)
    lanes, _ = swim_lanes(view_of(scene.launch()), 150, 250)
    assert [lane.track for lane in lanes] == [second]
