"""The wait-for graph of launches that hang, whose missing arrival is known by construction."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from analysis.synthetic_traces import hung, launch, pipeline

from tlxviz.commands import main
from tlxviz.diagrams.deadlock import deadlock
from tlxviz.diagrams.deadlock_dot import deadlock_dot
from tlxviz.diagrams.kinds import KINDS
from tlxviz.diagrams.renderer import CannotDraw, find_renderer, render
from tlxviz.diagrams.wait_for import WaitEdgeKind, WaitGraph, WaitNodeKind
from tlxviz.trace import LaunchTrace, Trace, load_trace, save_trace

DATA = Path(__file__).parent / "data"

SCRIPT = """
import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def copies(y_ptr, K, S: tl.constexpr):
    full, empty = tlx.alloc_barriers(S), tlx.alloc_barriers(S, arrive_count=2)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            for k in range(K):
                tlx.barrier_wait(empty[k % S], ((k // S) & 1) ^ 1)
                tlx.barrier_arrive(full[k % S])
        with tlx.async_task(num_warps=4, replicate=2):
            for k in range(K):
                tlx.barrier_wait(full[k % S], (k // S) & 1)
                if tlx.async_task_replica_id() == 0 or k > 0:  # the second replica keeps the first slot
                    tlx.barrier_arrive(empty[k % S])


copies[(3,)](torch.zeros(1, device="cuda"), 6, S=2)
"""


def waiter(agent: str, variable: str, **more: Any) -> dict[str, Any]:
    return {
        "agent": agent,
        "operation": "wait",
        "variable": variable,
        "slot": 0,
        "line": 0,
        "pending": 1,
        "count": 1,
    } | more


def arriver(agent: str, variable: str, **more: Any) -> dict[str, Any]:
    return {"agent": agent, "variable": variable, "slot": -1, "line": 7, "ended": False} | more


def hanging(waiters: list[dict[str, Any]], arrivers: list[dict[str, Any]] | None, **more: Any) -> LaunchTrace:
    report = {"cta": 0, "waiters": waiters, "ended": []} | ({"arrivers": arrivers} if arrivers is not None else {})
    return launch(hang=report | more)


def edges(drawn: WaitGraph, *, causes: bool = False) -> set[tuple[str, str, str]]:
    """From, kind and to, by the names that nodes begin with."""
    names = {node.key: node.lines[0].removesuffix(" waits forever") for node in drawn.nodes}
    return {
        (names[edge.source], edge.kind.value, names[edge.target]) for edge in drawn.edges if edge.cause or not causes
    }


def test_golden_dot() -> None:
    assert deadlock_dot(deadlock(hung())) == (DATA / "hung.deadlock.dot").read_text(encoding="utf-8")


def test_a_warp_group_that_has_ended_is_what_another_waits_for() -> None:
    drawn = deadlock(hung())
    assert (drawn.title, drawn.sentence) == (
        "pipeline hangs at cycle 5,000 in CTA 0",
        "mma waits for load, which has ended",
    )
    assert [(node.kind, node.lines, node.cause) for node in drawn.nodes] == [
        (
            WaitNodeKind.WAITER,
            (
                "mma waits forever",
                "line 43: tlx.barrier_wait(full[slot], phase)",
                "since cycle 300, iteration 3 of outer iteration 0",
            ),
            True,
        ),
        (
            WaitNodeKind.BARRIER,
            (
                "full[1]",
                "phase 1 (parity 1) does not complete",
                "has 0 of 1 arrival",
                "4,096 B missing",
                "last arrival: load, line 42, cycle 144",
            ),
            True,
        ),
        (WaitNodeKind.ENDED, ("load", "has ended"), True),
    ]
    assert [(edge.kind, edge.lines, edge.cause) for edge in drawn.edges] == [
        (WaitEdgeKind.WAITS, (), True),
        (WaitEdgeKind.MISSING, ("line 42: load(a)",), True),
    ]


def test_the_circle_is_what_is_emphasised() -> None:
    drawn = deadlock(
        hanging(
            [waiter("store", "done"), waiter("a", "x"), waiter("b", "y")],
            [arriver("a", "done"), arriver("b", "x"), arriver("a", "y")],
        )
    )
    assert drawn.sentence == "a and b wait for each other"
    circle = {("a", "waits", "x[0]"), ("x[0]", "missing", "b"), ("b", "waits", "y[0]"), ("y[0]", "missing", "a")}
    assert edges(drawn, causes=True) == circle
    assert edges(drawn) == circle | {("store", "waits", "done[0]"), ("done[0]", "missing", "a")}
    assert {node.lines[0] for node in drawn.nodes if node.cause} == {
        "a waits forever", "b waits forever", "x[0]", "y[0]"
    }  # fmt: skip


def test_a_replica_that_does_not_arrive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two arrivals, that of the second replica is missing in phase 0 of slot 0."""
    pytest.importorskip("triton.language.extra.tlx")
    monkeypatch.chdir(tmp_path)
    Path("copies.py").write_text(SCRIPT)
    main(["run", "--device", "sim:h200", "-q", "-o", "x.tlxtrace", "copies.py"])
    drawn = deadlock(load_trace("x.tlxtrace").launches[0])
    assert drawn.title.endswith(" in CTA 0")
    lines = SCRIPT.splitlines()
    (release,) = (number for number, line in enumerate(lines, 1) if "barrier_arrive(empty" in line)
    names = {node.key: node.lines[0].removesuffix(" waits forever") for node in drawn.nodes}
    of_empty = {names[edge.target]: edge for edge in drawn.edges if names[edge.source] == "empty[0]"}
    first, second = sorted(of_empty)
    assert (first, second) == ("compute.1", "compute.2")  # compute.0 is the default task
    assert of_empty[first].kind is WaitEdgeKind.ARRIVED
    assert of_empty[second].kind is WaitEdgeKind.MISSING
    assert of_empty[second].lines == (f"line {release}: tlx.barrier_arrive(empty[k % S])",)
    assert any("has 1 of 2 arrivals" in node.lines for node in drawn.nodes)
    producer = next(names[edge.source] for edge in drawn.edges if names[edge.target] == "empty[0]")
    assert drawn.sentence == f"{producer} and {second} wait for each other"
    assert ("empty[0]", "arrived", first) not in edges(drawn, causes=True)


def test_a_script_that_hangs_is_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("triton.language.extra.tlx")
    monkeypatch.chdir(tmp_path)
    Path("copies.py").write_text(SCRIPT)
    assert main(["graph", "-q", "--kind", "deadlock", "-o", "a.dot", "copies.py"]) == 0
    assert "wait for each other" in Path("a.dot").read_text(encoding="utf-8")


def test_an_arrival_that_nobody_makes() -> None:

    made = launch()
    made.hang = {
        "cta": 0,
        "waiters": [waiter("a", "x", pending=2, count=2)],
        "arrivers": [],
    }
    drawn = deadlock(made)
    assert drawn.sentence == "a waits at x[0] for 2 arrivals, but nothing in the kernel arrives there"
    assert edges(drawn, causes=True) == {("a", "waits", "x[0]"), ("x[0]", "missing", "2 arrivals")}


def test_who_has_arrived_in_the_phase_is_not_missing() -> None:
    made = pipeline(1)
    # in this trace `mma` arrives once on empty[0], at phase 0, in cycles 90 to 94
    made.hang = {
        "cta": 0,
        "waiters": [waiter("load", "empty", cta=0, line=44, completed_phases=0, count=2)],
        "arrivers": [arriver("mma", "empty", line=47, ended=True)],
    }
    drawn = deadlock(made)
    assert edges(drawn) == {
        ("load", "waits", "empty[0]"),
        ("empty[0]", "arrived", "mma"),
        ("empty[0]", "missing", "1 more arrival"),
    }
    assert "arrived at cycle 94" in drawn.edges[1].lines
    assert drawn.sentence == "load waits at empty[0] for 1 more arrival, but whoever arrives there has done so"
    made.hang["waiters"][0]["completed_phases"] = 1
    assert ("empty[0]", "missing", "mma") in edges(deadlock(made))


def test_the_last_arrival_is_known_in_a_cta_that_was_not_traced() -> None:
    last = {"agent": "a", "cta": 3, "cycle": 90, "line": 7}
    at = {"cta": 3, "completed_phases": 4, "pending": 1, "count": 2, "last_arrival": last}
    arriving = [arriver("a", "x"), arriver("b", "x", ended=True)]
    drawn = deadlock(hanging([waiter("w", "x", **at), waiter("a", "y", cta=3)], arriving))
    assert {edge for edge in edges(drawn) if edge[0] == "x[0]"} == {("x[0]", "arrived", "a"), ("x[0]", "missing", "b")}
    # where the phase has none, the last arrival was one of the phase before
    drawn = deadlock(hanging([waiter("w", "x", **at | {"pending": 2}), waiter("a", "y", cta=3)], arriving))
    assert {edge for edge in edges(drawn) if edge[0] == "x[0]"} == {("x[0]", "missing", "a"), ("x[0]", "missing", "b")}


def test_threads_of_a_named_barrier() -> None:
    at = {"operation": "named_wait", "slot": 9, "pending": 96, "count": 256, "completed_phases": 0}
    drawn = deadlock(
        hanging([waiter("store", "", **at)], [arriver("store", "", slot=9), arriver("compute", "", slot=9, ended=True)])
    )
    (barrier,) = (node for node in drawn.nodes if node.kind is WaitNodeKind.BARRIER)
    assert barrier.lines[:3] == ("named barrier 9", "phase 0 does not complete", "has 160 of 256 threads")
    assert edges(drawn) == {("store", "waits", "named barrier 9"), ("named barrier 9", "missing", "compute")}


def test_ctas_of_a_cluster() -> None:
    """CTA 1 has gone on to the cluster's barrier without its arrival on the barrier of CTA 0."""
    at = {"operation": "cluster_wait", "slot": -1, "pending": 4, "count": 8}
    drawn = deadlock(
        hanging(
            [
                waiter("compute", "empty", cta=0, count=2),
                waiter("compute", "", cta=1, absent=[{"cta": 0, "pending": 4, "count": 4}], **at),
            ],
            [arriver("compute", "empty", line=185, remote=True)],
            cluster=[0, 1],
        )
    )
    assert drawn.sentence == "compute of CTA 0 and compute of CTA 1 wait for each other"
    assert "in the cluster of CTAs 0 (rank 0), 1 (rank 1)" in drawn.title
    ranks = [node.lines for node in drawn.nodes if node.kind is WaitNodeKind.WAITER]
    assert ["rank 0 of the cluster" in ranks[0], "rank 1 of the cluster" in ranks[1]] == [True, True]
    assert edges(drawn, causes=True) == {
        ("compute of CTA 0", "waits", "empty[0] of CTA 0"),
        ("empty[0] of CTA 0", "missing", "compute of CTA 1"),
        ("compute of CTA 1", "waits", "barrier of the cluster"),
        ("barrier of the cluster", "missing", "compute of CTA 0"),
    }


def test_arrivals_from_other_ctas_are_not_missing() -> None:
    """Of three CTAs that arrive on each other's barrier, CTA 1 has, and CTA 2 has ended without."""
    came = {"agent": "compute", "cta": 1, "cycle": 70, "line": 185}
    at = {"count": 3, "completed_phases": 1}
    report = [
        waiter("compute", "empty", cta=0, remote_arrivals=[came], **at),
        waiter("compute", "empty", cta=1, remote_arrivals=[came | {"cta": 0}], **at),
    ]
    arriving = [arriver("compute", "empty", line=185, remote=True)]
    drawn = deadlock(hanging(report, arriving, cluster=[0, 1, 2], ended=["compute of CTA 2"]))
    assert edges(drawn) == {
        ("compute of CTA 0", "waits", "empty[0] of CTA 0"),
        ("empty[0] of CTA 0", "arrived", "compute of CTA 1"),
        ("empty[0] of CTA 0", "missing", "compute of CTA 2"),
        ("compute of CTA 1", "waits", "empty[0] of CTA 1"),
        ("empty[0] of CTA 1", "arrived", "compute of CTA 0"),
        ("empty[0] of CTA 1", "missing", "compute of CTA 2"),
    }
    assert drawn.sentence == "compute of CTA 0 waits for compute of CTA 2, which has ended"
    arrived = next(edge for edge in drawn.edges if edge.kind is WaitEdgeKind.ARRIVED)
    assert arrived.lines == ("line 185", "arrived at cycle 70")
    # and where the recorder did not look, all others are
    for each in report:
        del each["remote_arrivals"]
    drawn = deadlock(hanging(report, arriving, cluster=[0, 1, 2], ended=["compute of CTA 2"]))
    assert ("empty[0] of CTA 0", "missing", "compute of CTA 1") in edges(drawn)


def test_what_all_other_ctas_have_brought_is_missing_from_the_waiters_own() -> None:
    """Both CTAs multicast a half to both, and CTA 1 has not."""
    came = {"agent": "load", "cta": 0, "cycle": 70, "line": 185}
    at = {"pending": 0, "missing_bytes": 4096, "completed_phases": 0, "remote_arrivals": [came]}
    drawn = deadlock(
        hanging(
            [waiter("load", "full", cta=0, **at), waiter("load", "full", cta=1, **at)],
            [arriver("load", "full", line=185, remote=True)],
            cluster=[0, 1],
        )
    )
    assert {edge for edge in edges(drawn) if edge[1] != "waits"} == {
        ("full[0] of CTA 0", "arrived", "load of CTA 0"),
        ("full[0] of CTA 0", "missing", "load of CTA 1"),
        ("full[0] of CTA 1", "arrived", "load of CTA 0"),
        ("full[0] of CTA 1", "missing", "load of CTA 1"),
    }
    assert drawn.sentence == "load of CTA 1 waits for itself"


def test_the_default_task_waits_for_the_others() -> None:
    drawn = deadlock(hanging([waiter("default", "", operation="join", slot=-1), waiter("a", "x")], []))
    assert ("default", "waits", "a") in edges(drawn)
    assert drawn.sentence == "a waits at x[0] for 1 arrival, but nothing in the kernel arrives there"


def test_nobody_is_blamed_where_the_recorder_did_not_look() -> None:
    drawn = deadlock(hanging([waiter("a", "x")], None))
    assert drawn.sentence == "the trace does not say who would arrive"
    assert edges(drawn) == {("a", "waits", "x[0]")}
    assert not any(node.cause for node in drawn.nodes)


def test_of_many_warp_groups_those_that_explain_it_are_drawn() -> None:
    waiting = [waiter(f"g{number}", f"x{number}") for number in range(60)]
    arriving = [arriver("g59", f"x{number}") for number in range(58)] + [arriver("g58", "x59"), arriver("g59", "x58")]
    drawn = deadlock(hanging(waiting, arriving))
    names = {node.lines[0] for node in drawn.nodes if node.kind is WaitNodeKind.WAITER}
    assert len(names) == 24
    assert {"g58 waits forever", "g59 waits forever"} <= names
    assert drawn.sentence == "g58 and g59 wait for each other; 36 more warp groups not drawn"


def test_a_report_that_says_nothing_is_drawn() -> None:
    drawn = deadlock(launch(hang={}))
    assert (drawn.nodes, drawn.edges) == ((), ())
    assert deadlock_dot(drawn).startswith("digraph")


def test_a_launch_that_ended_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(CannotDraw, match="no deadlock in this launch of pipeline: it ended"):
        deadlock(pipeline())
    with pytest.raises(CannotDraw, match="recording was interrupted"):
        deadlock(pipeline(complete=False))
    monkeypatch.chdir(tmp_path)
    made = pipeline()
    made.ttgir = (DATA / "plain_gemm.ttgir").read_text(encoding="utf-8")
    save_trace(Trace([made]), "x.tlxtrace")
    assert main(["graph", "--kind", "deadlock", "x.tlxtrace"]) == 3
    assert capsys.readouterr().err == "tlxviz: error: there is no deadlock in this launch of pipeline: it ended.\n"
    assert not Path("x.deadlock.svg").exists()
    assert main(["graph", "--kind", "deadlock", str(DATA / "plain_gemm.ttgir")]) == 2


def test_names_cannot_break_the_dot() -> None:
    drawn = deadlock(hanging([waiter('a<b> & "c"', "x<y>")], []))
    text = deadlock_dot(drawn)
    assert "a&lt;b&gt; &amp; &quot;c&quot; waits forever" in text
    assert "<b>x&lt;y&gt;[0]</b>" in text


@pytest.mark.skipif(shutil.which("dot") is None and shutil.which("graphviz-pure") is None, reason="nothing draws")
def test_the_picture_holds_every_line() -> None:
    drawn = deadlock(hung())
    words = " ".join(ElementTree.fromstring(render(deadlock_dot(drawn), "svg", find_renderer("svg"))).itertext())
    assert all(line in words for node in drawn.nodes for line in node.lines)
    assert KINDS["deadlock"].needs_launch
