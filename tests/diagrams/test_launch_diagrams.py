"""Diagrams of what happened: stalls, iteration and timeline.

`data/NAME.tlxtrace` are simulated launches on an H200: kernels/hopper_gemm_ws.py and kernels/plain_gemm.py with M and N
256 and K 1024, and the tutorial hopper_fa_ws_pipelined_pingpong with one head of 1024 rows; paths are files' own names.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from analysis.synthetic_traces import Scene, hung, launch, pipeline

from tlxviz._errors import UsageError
from tlxviz.diagrams.dot import dot_text
from tlxviz.diagrams.fitting import fitting, round_step
from tlxviz.diagrams.iteration import iteration
from tlxviz.diagrams.kinds import KINDS, Subject
from tlxviz.diagrams.model import Cluster, Diagram, EdgeKind, Node, NodeKind, Weight, nodes_of
from tlxviz.diagrams.renderer import find_renderer, render
from tlxviz.diagrams.stalls import stalls
from tlxviz.diagrams.timeline import timeline
from tlxviz.diagrams.weights import figure
from tlxviz.ir import load_program, name_from_source
from tlxviz.ir.program import Program
from tlxviz.trace import LaunchTrace, TrackKind, load_trace

DATA = Path(__file__).parent / "data"
NAMES = ("hopper_gemm_ws", "attention_pingpong", "plain_gemm")
KINDS_OF_LAUNCHES = ("stalls", "iteration", "timeline")


def happened(name: str) -> LaunchTrace:
    return load_trace(DATA / f"{name}.tlxtrace").launches[0]


def program_of(made: LaunchTrace) -> Program:
    found = load_program(made.ttgir)
    name_from_source(found, made.source, made.source_file, made.source_line)
    return found


def subject(name: str) -> Subject:
    made = happened(name)
    return Subject(program_of(made), made)


@pytest.mark.parametrize("kind", KINDS_OF_LAUNCHES)
@pytest.mark.parametrize("name", NAMES)
def test_dot_is_the_golden_one(name: str, kind: str) -> None:
    """Written by `tlxviz graph -f --kind KIND -o NAME.KIND.dot NAME.tlxtrace`."""
    assert KINDS[kind].dot(subject(name)) == (DATA / f"{name}.{kind}.dot").read_text(encoding="utf-8")


@pytest.mark.skipif(shutil.which("dot") is None and shutil.which("graphviz-pure") is None, reason="nothing draws")
@pytest.mark.parametrize("kind", KINDS_OF_LAUNCHES)
@pytest.mark.parametrize("name", NAMES)
def test_pictures_are_drawn(name: str, kind: str) -> None:
    made = subject(name)
    picture = ElementTree.fromstring(render(KINDS[kind].dot(made), "svg", find_renderer("svg")))
    words = " ".join(picture.itertext())
    assert made.launch is not None
    assert all(agent.name in words for agent in made.launch.agents)
    assert float(picture.attrib["width"].removesuffix("pt")) < 1300


def rows(diagram: Diagram, agent: str) -> dict[tuple[int, str], Node]:
    """By line and what it begins with."""
    (cluster,) = (each for each in diagram.clusters if each.title == agent)
    return {(node.line, node.lines[0]): node for node in nodes_of(cluster)}


def waited(made: LaunchTrace, agent: str, line: int) -> float:
    """The share of a warp group's time that its events at a line take."""
    (number,) = (row for row, each in enumerate(made.tracks) if each.name == agent)
    events = made.events
    at = np.array([site.line == line for site in made.sites])[events["site"]] & (events["track"] == number)
    spent = int((events["end"] - events["begin"])[at].sum())
    return spent / (made.tracks[number].end - made.tracks[number].begin)


def test_rows_have_the_share_of_their_warp_group() -> None:
    made = happened("hopper_gemm_ws")
    diagram = stalls(program_of(made), made)
    for agent, line, words in (
        ("load", 108, "wait b_empty"),
        ("mma.0", 133, "wait a_full"),
        ("mma.1", 134, "wait b_full"),
    ):
        weight = rows(diagram, agent)[line, words].weight
        assert weight is not None
        assert weight.share == pytest.approx(waited(made, agent, line))
        edge = next(each for each in diagram.edges if each.target == rows(diagram, agent)[line, words].key)
        assert edge.weight == weight
    assert f"<b>{100 * waited(made, 'load', 108):.0f}%</b> ring full" in dot_text(diagram)


def test_warp_groups_say_what_they_work_issue_and_wait() -> None:
    made = happened("hopper_gemm_ws")
    for cluster in stalls(program_of(made), made).clusters:
        assert cluster.shares is not None
        assert sum(cluster.shares) == pytest.approx(1)
        (row,) = (row for row, each in enumerate(made.tracks) if each.name == cluster.title)
        kinds = np.array([each.kind.endswith("wait") for each in made.sites])[made.events["site"]]
        mine = kinds & (made.events["track"] == row)
        waits = int((made.events["end"] - made.events["begin"])[mine].sum())
        assert cluster.shares[2] == pytest.approx(waits / (made.tracks[row].end - made.tracks[row].begin))


def test_what_ends_waits_is_as_thick_as_they_are() -> None:
    made = happened("hopper_gemm_ws")
    diagram = stalls(program_of(made), made)
    load = rows(diagram, "load")[108, "wait b_empty"]
    (barrier,) = (each.source for each in diagram.edges if each.target == load.key)
    ends = [each.weight.share for each in diagram.edges if each.target == barrier and each.weight is not None]
    assert load.weight is not None
    # of its waits, one or the other group of consumers ends each; the first ones of all nobody
    assert 0.9 * load.weight.share < sum(ends) <= load.weight.share


def test_a_producer_that_waits_for_slots_loses_nothing() -> None:
    diagram = stalls(program_of(happened("hopper_gemm_ws")), happened("hopper_gemm_ws"))
    wait = rows(diagram, "load")[108, "wait b_empty"].weight
    assert wait is not None
    assert (wait.lost, wait.text) == (False, "ring full")
    drawn = dot_text(diagram)
    assert "arrowtail=odiamond" in drawn  # hollow
    assert 'color="#c0322b"' in drawn  # and others are lost


def test_other_edges_are_faint() -> None:
    made = happened("hopper_gemm_ws")
    diagram = stalls(program_of(made), made)
    assert all(each.weight is None for each in diagram.edges if each.kind in (EdgeKind.FILL, EdgeKind.READ))


def test_wider_edges_are_longer_waits() -> None:
    weights = [
        (float(width), int(share))
        for share, width in re.findall(
            r'label="\u00a0*(\d+)%".*? penwidth=([\d.]+)', dot_text(stalls(*_both("hopper_gemm_ws")))
        )
    ]
    assert len(weights) >= 4
    assert [share for _, share in sorted(weights)] == sorted(share for _, share in weights)


def _both(name: str) -> tuple[Program, LaunchTrace]:
    made = happened(name)
    return program_of(made), made


def test_iteration_says_its_period_and_what_bounds_it() -> None:
    text = iteration(pipeline(issued=True), given=(5, 6))
    assert "Iteration 5 of load in pipeline" in text
    assert "It took 100 cycles (CTA 0, 500 to 600); the loop&#x27;s period is 100, the median of 11 iterations" in text
    assert "arithmetic of load: 50 (50%)" in text
    assert "hand-off of load, line 44: 40 (40%)" in text


def test_rows_on_the_critical_path_are_bold_and_links_doubled() -> None:
    scene = Scene()
    load, mma = scene.group("load", 0, 400), scene.group("mma", 0, 400)
    for i in range(4):
        at = 100 * i
        issue = scene.event(load, "tma_load", at, at + 10, inner=i, outer=i, variable="tile", line=5)
        copy = scene.copy(load, at + 10, at + 90, by=issue, inner=i, outer=i, variable="tile", line=5)
        scene.event(load, "wait", at + 10, at + 100, by=copy, inner=i, outer=i, variable="full", line=6)
        scene.event(mma, "wait", at, at + 95, by=copy, inner=i, outer=i, variable="full", line=7)
    text = iteration(scene.launch(), given=(1, 2))
    # all of load's iteration is on it: 10 issuing, 80 the copy, 10 from there on
    assert "<b>5  issue load tile[0]</b>" in text
    assert "<b>5  load tile[0] of load</b>" in text
    assert "<b>6  wait full[0]</b>" in text
    assert "<b>10 of 90</b>" in text
    assert "<b>7  wait full[0]</b>" not in text
    assert text.count('color="#c0322b:white:#c0322b"') == 2  # issue, and data
    assert "copy latency of load, line 5: 80 (80%)" in text


def test_iterations_that_are_asked_for() -> None:
    made = happened("hopper_gemm_ws")
    assert "Iteration 3 of mma.0" in iteration(made, given=(3, 4))
    assert "Iterations 2 to 3 of mma.0" in timeline(made, given=(2, 4))
    # as far as there are some
    assert "Iterations 15 to 15" not in timeline(made, given=(15, 40))
    assert "Iteration 15 of mma.0" in timeline(made, given=(15, 40))


def test_lanes_have_all_pieces_at_their_times() -> None:
    """`pipeline` from 500 to 800, three iterations of 260 points each: 2.6 points a cycle."""
    text = timeline(pipeline(issued=True), given=(5, 8))
    assert "Iterations 5 to 7 of load in pipeline" in text
    boxes = re.findall(r'n\d+ \[label="?([^"\]]*)"? .*?height=([\d.]+) pos="([\d.]+),(-?[\d.]+)!"', text)
    works = [(float(y), float(height) * 72) for words, height, _, y in boxes if words == "works"]
    # load works from 550 to 600, mma from 594 to 600, and so on
    assert works[0] == (pytest.approx(-75 * 2.6, abs=0.1), pytest.approx(50 * 2.6, abs=0.1))
    assert [float(y) for words, _, _, y in boxes if words.startswith("MMA wait")] == [
        pytest.approx(-(65 + 100 * i) * 2.6, abs=0.1) for i in range(3)
    ]
    assert "wait full[1]: copy\\nlatency of load" in text or "wait full[1]: copy latency of" in text


def test_lanes_are_cut_to_what_is_legible() -> None:
    with pytest.raises(UsageError, match=r"1[,\d]+ things happen, and a picture shows at most 500.*--iterations 0:\d+"):
        timeline(pipeline(120, issued=True), given=(0, 120))


@pytest.mark.parametrize("draw", [iteration, timeline])
def test_what_cannot_be_shown_is_said(draw: Callable[..., str]) -> None:
    with pytest.raises(UsageError, match="no event of kernel was recorded"):
        draw(launch())
    with pytest.raises(UsageError, match=r"CTA 3 was not traced: there is 0\."):
        draw(pipeline(), 3)
    with pytest.raises(UsageError, match=r"pipeline has no CTA 132: it has 0 to 131\."):
        draw(pipeline(), 132)
    with pytest.raises(UsageError, match=r"CTA 0 has no steady state.*: (load|mma) has 2\. --iteration"):
        draw(pipeline(2))
    with pytest.raises(UsageError, match="has no iteration 12: it has 0 to 11"):
        draw(pipeline(), None, (12, 13))
    with pytest.raises(UsageError, match="no warp group of CTA 0 has a loop"):
        draw(without_loop(), None, (0, 1))


def without_loop() -> LaunchTrace:
    scene = Scene()
    scene.event(scene.group("only", 0, 100), "arrive", 10, 40, variable="bar")
    return scene.launch()


def test_kernel_without_a_loop_is_shown_from_begin_to_end() -> None:
    text = timeline(without_loop())
    assert "All of CTA 0 in kernel" in text
    assert "SM cycles 0 to 100" in text
    assert "arrive bar[0]" in text
    with pytest.raises(UsageError, match="no warp group of CTA 0 has a loop"):
        iteration(without_loop())


@pytest.mark.parametrize(
    ("words", "width", "height", "found"),
    [
        (("wait full[1]: copy latency of load",), 138, 30, "wait full[1]: copy latency of\nload"),
        (("wait full[1]: copy latency of load",), 138, 10, "wait full[1]: copy latency of..."),
        (("expect a[1]", "issue load a[1]", "expect a[1]"), 138, 12, "expect a[1], issue load a[1]"),
        (("wait full[1]",), 138, 9, ""),  # lower than a line
        (("a_tiles [10]",), 33, 20, "a_tiles\n[10]"),
        (("a_long_name[10]",), 44, 20, "a_lo...[10]"),
        (("wait empty_of_a_long_name[1]: copy latency",), 84, 30, "wait\nempty_of_a_lo...[1]:\ncopy latency"),
        ((), 138, 30, ""),
    ],
)
def test_words_have_room_or_are_cut(words: tuple[str, ...], width: float, height: float, found: str) -> None:
    assert fitting(words, width, height) == found


@pytest.mark.parametrize(("least", "step"), [(0.1, 1), (1, 1), (1.5, 2), (3, 5), (21, 50), (51, 100), (1001, 2000)])
def test_steps_of_the_axis_are_round(least: float, step: int) -> None:
    assert round_step(least) == step


def test_launch_without_events_has_no_stalls() -> None:
    program, made = _both("plain_gemm")
    empty = replace(made, events=made.events.select(np.zeros(len(made.events), np.bool_)))
    with pytest.raises(UsageError, match="no event of plain_gemm was recorded"):
        stalls(program, empty)


def test_launch_that_never_ended_is_drawn_as_far_as_it_came() -> None:
    program, made = _both("hopper_gemm_ws")
    stuck = replace(made, hang={"cycle": made.cycles}, complete=False)
    assert "and it did not end" in dot_text(stalls(program, stuck))
    assert "Iteration 1 of" in iteration(hung(), given=(1, 2))
    assert "Iterations 0 to 2 of" in timeline(hung(), given=(0, 3))


def test_many_ctas() -> None:
    """Three hundred of them, of which the longest is drawn."""
    made = happened("plain_gemm")
    groups = [track for track in made.tracks if track.kind is TrackKind.WARP_GROUP]
    assert len(groups) == 1
    many = [replace(track, cta=cta, sm=cta) for cta in range(300) for track in made.tracks]
    events = [
        {name: made.events[name] + (len(made.tracks) * cta if name == "track" else 0) for name in made.events.columns}
        for cta in range(300)
    ]
    whole = type(made.events).concat([type(made.events)(columns) for columns in events]).in_order()
    big = replace(made, tracks=many, events=whole, grid=(300, 1, 1))
    diagram = stalls(program_of(made), big)
    one = stalls(program_of(made), made)
    assert [_shares(each) for each in diagram.clusters] == [_shares(each) for each in one.clusters]
    assert diagram.note.endswith("in 300 CTAs")
    assert "CTA 7," in iteration(big, 7)


def _shares(cluster: Cluster) -> list[object]:
    return [cluster.shares and [pytest.approx(each) for each in cluster.shares], cluster.title]


@pytest.mark.parametrize(
    ("share", "drawn"), [(0.009, ""), (0.012, "<b>1%</b> ring empty"), (0.3, "<b>30%</b> ring empty")]
)
def test_shares_below_a_percent_are_not_drawn(share: float, drawn: str) -> None:
    node = Node("agent0.0", NodeKind.SITE, ("wait full",), weight=Weight(share, True, "ring empty"))
    assert drawn in figure(node, "p")
    assert figure(node, "p").startswith('<td port="p"')
    assert bool(drawn) == ("%" in figure(node, "p"))
