"""One iteration as a graph: `pipeline` of synthetic_traces, whose every figure can be worked out by hand."""

from __future__ import annotations

import pytest
from analysis.synthetic_traces import Scene, pipeline

from tlxviz.analysis.account import Account
from tlxviz.analysis.cta_view import CtaView, cta_view, reference, typical
from tlxviz.analysis.iteration_graph import ChainShare, IterationGraph, LinkKind, iteration_graph
from tlxviz.analysis.links import Activity
from tlxviz.trace import LaunchTrace

LOAD, MMA = 0, 1


def view_of(launch: LaunchTrace, cta: int | None = None) -> CtaView:
    found = cta_view(Account(launch), cta)
    assert found is not None
    return found


def steps(view: CtaView, made: IterationGraph) -> dict[tuple[str, int], list[tuple[str, int, int, int, int, int]]]:
    """By track and iteration: kind, begin from that of the graph, cycles, those on the path, and of the gap before."""
    found: dict[tuple[str, int], list[tuple[str, int, int, int, int, int]]] = {}
    for each in made.passages:
        found[view.launch.tracks[each.track].name, each.number] = [
            (
                view.launch.sites[int(view.launch.events["site"][step.row])].kind,
                step.begin - made.begin,
                step.end - step.begin,
                step.path,
                step.gap,
                step.gap_path,
            )
            for step in each.steps
        ]
    return found


def test_an_iteration_with_what_it_depends_on() -> None:
    view = view_of(pipeline(issued=True))
    made = iteration_graph(view, MMA, 5)
    assert (made.begin, made.end) == (500, 600)
    assert steps(view, made) == {
        ("mma", 5): [
            ("wait", 0, 30, 0, 6, 0),
            ("mma", 30, 10, 5, 0, 0),  # until the tensor core begins
            ("mma_wait", 40, 50, 5, 0, 0),
            ("arrive", 90, 4, 4, 0, 0),
        ],
        # what it waits for was asked for by the iteration before
        ("load", 4): [("wait", -100, 40, 0, 50, 0), ("expect", -60, 4, 0, 0, 0), ("tma_load", -56, 6, 0, 0, 0)],
        ("TMA", -1): [("tma_load", -50, 80, 30, 0, 0)],
        ("tensor core", -1): [("mma", 35, 50, 50, 0, 0)],
    }
    (own,) = (each for each in made.passages if each.track == MMA)
    assert (own.tail, own.tail_path) == (6, 6)


def test_the_critical_chain_is_as_long_as_the_iteration() -> None:
    made = iteration_graph(view_of(pipeline(issued=True)), MMA, 5)
    assert made.chain == (
        ChainShare(MMA, Activity.PRODUCT, 45, 50),
        ChainShare(LOAD, Activity.COPY_LATENCY, 42, 30),
        ChainShare(MMA, Activity.ARITHMETIC, 0, 6),
        ChainShare(MMA, Activity.ISSUE, 45, 5),
        ChainShare(MMA, Activity.HAND_OFF, 46, 5),
        ChainShare(MMA, Activity.ISSUE, 47, 4),
    )
    assert sum(each.cycles for each in made.chain) == 100


def test_links_say_what_was_waited_for_and_how_long() -> None:
    view = view_of(pipeline(issued=True))
    made = iteration_graph(view, MMA, 5)

    def kind(row: int) -> str:
        return view.launch.sites[int(view.launch.events["site"][row])].kind

    found = {
        (kind(each.source), kind(each.target), each.kind, each.held, each.cycles, each.path) for each in made.links
    }
    assert found == {
        ("tma_load", "wait", LinkKind.DATA, True, 30, True),
        ("mma", "mma_wait", LinkKind.DATA, True, 45, True),
        ("mma", "mma", LinkKind.ISSUE, True, 0, True),
        ("tma_load", "tma_load", LinkKind.ISSUE, True, 0, False),
        ("arrive", "wait", LinkKind.RELEASE, False, 6, False),  # a slot that was free before the producer came
    }


def test_a_producer_that_is_never_held_up_is_its_own_path() -> None:
    made = iteration_graph(view_of(pipeline(issued=True)), LOAD, 5)
    assert {each.activity: each.cycles for each in made.chain if each.activity is not Activity.ISSUE} == {
        Activity.ARITHMETIC: 50,
        Activity.HAND_OFF: 40,
    }
    assert sum(each.cycles for each in made.chain) == 100


def test_every_iteration_has_a_chain_of_its_length() -> None:
    view = view_of(pipeline(issued=True))
    for track, loop in view.loops.items():
        for number in range(len(loop)):
            made = iteration_graph(view, track, number)
            assert sum(each.cycles for each in made.chain) == made.end - made.begin
            drawn = sum(step.path + step.gap_path for each in made.passages for step in each.steps)
            assert drawn + sum(each.tail_path for each in made.passages) == made.end - made.begin


def test_the_last_iteration_ends_with_its_last_event() -> None:
    made = iteration_graph(view_of(pipeline(issued=True)), MMA, 11)
    assert (made.begin, made.end) == (1100, 1194)


def test_events_of_other_iterations_are_there_if_the_path_leads_through_them() -> None:
    """Two warp groups take turns on the tensor core; the second one's iteration waits for a product of the first's."""
    scene = Scene()
    first, second = scene.group("first", 0, 1000), scene.group("second", 0, 1000)
    for i in range(4):
        at = 200 * i
        one = scene.event(first, "mma", at, at + 10, inner=i, outer=i, line=7)
        product = scene.product(first, at, at + 100, by=one, inner=i, outer=i, line=7)
        scene.event(first, "mma_wait", at + 10, at + 100, by=product, inner=i, outer=i, line=8)
        other = scene.event(second, "mma", at + 20, at + 30, inner=i, outer=i, line=7)
        behind = scene.product(second, at + 100, at + 200, by=other, inner=i, outer=i, line=7)
        scene.event(second, "mma_wait", at + 30, at + 200, by=behind, inner=i, outer=i, line=8)
    view = view_of(scene.launch())
    made = iteration_graph(view, 1, 2)
    assert (made.begin, made.end) == (420, 620)
    shares = [(each.track, each.activity, each.cycles) for each in made.chain]
    assert shares == [(1, Activity.PRODUCT, 100), (0, Activity.PRODUCT, 80), (1, Activity.ARITHMETIC, 20)]
    path = {link.kind: link.cycles for link in made.links if link.path}
    # the product was issued at 430 and began at 500; its wait began then, too
    assert path == {LinkKind.BEHIND: 70, LinkKind.DATA: 170}


def test_who_waits_least_sets_the_pace() -> None:
    view = view_of(pipeline(issued=True))
    assert reference(view) == LOAD  # 40 % against 80 %
    assert typical(view, MMA) == 5
    assert typical(view, MMA, 3) == 4


def test_without_a_loop_there_is_no_pace() -> None:
    scene = Scene()
    only = scene.group("only", 0, 100)
    scene.event(only, "arrive", 10, 20)
    view = view_of(scene.launch())
    assert reference(view) is None
    assert typical(view, only) is None


def test_two_iterations_are_no_steady_state() -> None:
    view = view_of(pipeline(2, issued=True))
    assert reference(view) in (LOAD, MMA)
    assert typical(view, MMA) is None


@pytest.mark.parametrize("cta", [1, 132])
def test_a_cta_that_was_not_traced(cta: int) -> None:
    assert cta_view(Account(pipeline(issued=True)), cta) is None


def test_what_nobody_is_known_to_have_issued_is_said_to_be_unknown() -> None:
    """Of the product nothing says who issued it: what was before it is not known."""
    made = iteration_graph(view_of(pipeline()), MMA, 5)
    assert {each.activity: each.cycles for each in made.chain} == {
        Activity.PRODUCT: 50,
        Activity.UNKNOWN: 35,
        Activity.ARITHMETIC: 6,
        Activity.HAND_OFF: 5,
        Activity.ISSUE: 4,
    }


def test_others_that_have_nothing_to_do_with_it_are_left_out_unless_they_iterate_meanwhile() -> None:
    scene = Scene()
    first, early, beside = (scene.group(name, 0, 600) for name in ("first", "early", "beside"))
    for i in range(3):
        scene.event(first, "arrive", 300 + 100 * i, 310 + 100 * i, inner=i, outer=i, line=1)
        scene.event(early, "arrive", 10 * i, 10 * i + 5, inner=i, outer=i, line=2)
        scene.event(beside, "arrive", 200 + 150 * i, 210 + 150 * i, inner=i, outer=i, line=3)
    made = iteration_graph(view_of(scene.launch()), first, 1)
    assert {(each.track, each.number) for each in made.passages} == {(first, 1), (beside, 1)}
