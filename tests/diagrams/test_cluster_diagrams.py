"""Diagrams of kernels whose CTAs form clusters.

`data/shared_ring.tlxtrace` is `analysis.cluster_kernels.shared_ring`, simulated on an H200; paths are files' own names.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from analysis.cluster_kernels import copied, pair
from sim.kernel_runner import fbtriton_only
from tui.cluster_scene import rings

from tlxviz.analysis.account import Account
from tlxviz.analysis.cta_view import cta_view
from tlxviz.analysis.swim_lanes import swim_lanes
from tlxviz.diagrams.barriers import barriers
from tlxviz.diagrams.dot import dot_text
from tlxviz.diagrams.kinds import KINDS, Subject
from tlxviz.diagrams.model import Diagram, nodes_of
from tlxviz.diagrams.pipeline import pipeline
from tlxviz.diagrams.stalls import stalls
from tlxviz.ir import load_program, name_from_source
from tlxviz.ir.program import Program
from tlxviz.trace import LaunchTrace, load_trace

DATA = Path(__file__).parent / "data"
mapped = fbtriton_only("triton-utlx reaches no other CTA of a cluster")


def happened() -> LaunchTrace:
    return load_trace(DATA / "shared_ring.tlxtrace").launches[0]


def program_of(made: LaunchTrace) -> Program:
    found = load_program(made.ttgir)
    name_from_source(found, made.source, made.source_file, made.source_line)
    return found


def crossing(diagram: Diagram) -> set[tuple[str, int, str, str]]:
    """Warp group, line, kind and name of the memory of the edges to another CTA's memory."""
    others = {node.key: node.lines[0] for node in diagram.others}
    lines = {node.key: (cluster.title, node.line) for cluster in diagram.clusters for node in nodes_of(cluster)}
    found: set[tuple[str, int, str, str]] = set()
    for edge in diagram.edges:
        for site, memory in ((edge.source, edge.target), (edge.target, edge.source)):
            if memory in others:
                found.add((*lines[site], str(edge.kind), others[memory]))
    return found


@pytest.mark.parametrize("kind", ["pipeline", "barriers", "stalls", "timeline"])
def test_dot_is_the_golden_one(kind: str) -> None:
    """Written by `tlxviz graph -f --kind KIND -o shared_ring.KIND.dot shared_ring.tlxtrace`."""
    made = happened()
    drawn = KINDS[kind].dot(Subject(program_of(made), made))
    assert drawn == (DATA / f"shared_ring.{kind}.dot").read_text(encoding="utf-8")


def test_what_a_cta_reaches_of_another() -> None:
    diagram = pipeline(program_of(happened()))
    assert diagram.cluster == "2 x 1 x 1"
    assert crossing(diagram) == {
        ("load", 43, "fill", "tiles"),
        ("load", 43, "complete", "full"),
        ("epilogue", 34, "arrive", "empty"),
        ("epilogue", 35, "fill", "sums"),
        ("epilogue", 35, "complete", "told"),
    }
    rows = {node.line: node.lines for cluster in diagram.clusters for node in nodes_of(cluster)}
    assert rows[34] == ("arrive empty of another CTA",)
    assert rows[35] == ("remote store sums",)
    assert rows[43] == ("TMA multicast desc to tiles",)


def test_an_arrival_at_the_own_barrier_stays() -> None:
    diagram = pipeline(program_of(happened()))
    memory = {node.key: node.lines[0] for node in diagram.memory}
    lines = {node.key: node.line for cluster in diagram.clusters for node in nodes_of(cluster)}
    arrivals = [
        lines[edge.source]
        for edge in diagram.edges
        if str(edge.kind) == "arrive" and memory.get(edge.target) == "empty"
    ]
    assert arrivals == [33]


def test_the_table_says_from_which_cta_arrivals_come() -> None:
    rows = {row[0][0]: row[3] for row in barriers(program_of(happened())).rows}
    assert rows["empty"] == ("epilogue, line 33", "epilogue, line 34, of another CTA")
    assert rows["full"] == ("load, line 41", "load, line 43, also of another CTA: bytes of a copy")


@mapped
def test_pairs_multiply_what_both_have() -> None:
    made = pair().trace
    diagram = pipeline(program_of(made))
    kinds = {(kind, memory) for _, _, kind, memory in crossing(diagram)}
    assert kinds == {
        ("read", "a"),
        ("read", "b"),
        ("fill", "sums"),
        ("arrive", "done"),
        ("arrive", "ready"),  # of the first CTA of the pair, which may be the CTA itself
    }


@mapped
def test_the_barrier_of_the_cluster_is_of_no_cta() -> None:
    diagram = pipeline(program_of(copied().trace))
    (node,) = (node for node in diagram.memory if node.key == "cluster")
    assert node.lines == ("cluster barrier", "2 CTAs")
    assert [str(edge.kind) for edge in diagram.edges if "cluster" in (edge.source, edge.target)] == [
        "arrive", "wait", "arrive", "wait"
    ]  # fmt: skip
    own = dot_text(diagram).partition("subgraph cluster_own")[2].partition("\n\t}")[0]
    assert "told" in own
    assert "cluster barrier</b>" not in own


def test_time_of_a_cluster_is_drawn_cta_by_cta() -> None:
    launch = happened()
    view = cta_view(Account(launch), 0)
    assert view is not None
    lanes, arrows = swim_lanes(view, 0, launch.cycles, (0, 1))
    assert {view.launch.tracks[lane.track].cta for lane in lanes} == {0, 1}
    tracks = view.made.track
    crosses = {
        (view.launch.tracks[tracks[arrow.source]].cta, view.launch.tracks[tracks[arrow.target]].cta) for arrow in arrows
    }
    assert crosses == {(0, 0), (0, 1), (1, 0), (1, 1)}
    assert {view.launch.tracks[lane.track].cta for lane in swim_lanes(view, 0, launch.cycles)[0]} == {0}


def test_without_clusters_a_cta_is_alone() -> None:
    launch = happened()
    text = KINDS["timeline"].dot(Subject(program_of(launch), launch, iterations=(0, 6)))
    assert "CTA 0 and 1 of its cluster" in text
    alone = replace(launch, cluster=(1, 1, 1))
    text = KINDS["timeline"].dot(Subject(program_of(alone), alone, iterations=(0, 6)))
    assert "of its cluster" not in text


def test_of_a_large_cluster_those_are_drawn_that_have_to_do_with_the_cta() -> None:
    """Three rings of two CTAs, as one cluster."""
    launch = rings(3)
    launch.cluster = (6, 1, 1)
    text = KINDS["timeline"].dot(Subject(program_of(happened()), launch, 2, (0, 3)))
    assert [cta for cta in range(6) if f"CTA {cta}, rank {cta} of cluster 0" in text] == [2, 3]


def test_stalls_keep_what_crosses() -> None:
    made = happened()
    assert crossing(stalls(program_of(made), made)) == crossing(pipeline(program_of(made)))
