from __future__ import annotations

import json
import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest
from diagrams.edges_by_hand import ATTENTION, HOPPER_GEMM, PLAIN_GEMM, TUTORIAL_GEMM, E, edges

from tlxviz.commands import main
from tlxviz.diagrams.barriers import barriers
from tlxviz.diagrams.dot import dot_text
from tlxviz.diagrams.kinds import KINDS, Subject
from tlxviz.diagrams.levels import levels
from tlxviz.diagrams.looks import EDGES
from tlxviz.diagrams.model import EdgeKind, NodeKind, nodes_of
from tlxviz.diagrams.pipeline import pipeline
from tlxviz.diagrams.renderer import find_renderer, render
from tlxviz.ir import load_program, name_from_source
from tlxviz.ir.program import Program
from tlxviz.trace import load_trace
from tlxviz.tui.looks import APPEARANCES, Look

DATA = Path(__file__).parent / "data"
KERNELS = Path(__file__).parents[2] / "kernels"
STATIC = [name for name, kind in KINDS.items() if not kind.needs_launch]
BLACKWELL = Path(__file__).parents[1] / "ir" / "data" / "blackwell.ttgir"


def program(name: str) -> Program:
    return load_program((DATA / f"{name}.ttgir").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("hopper_gemm_ws", HOPPER_GEMM),
        ("tutorial_gemm", TUTORIAL_GEMM),
        ("attention_pingpong", ATTENTION),
        ("plain_gemm", PLAIN_GEMM),
    ],
)
def test_edges_are_those_of_the_source(name: str, expected: list[E]) -> None:
    assert edges(pipeline(program(name))) == sorted(expected)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "hopper_gemm_ws",
            [
                ("a_full", "8 slots, count 1", "expects 8 KiB"),
                ("a_empty", "8 slots, count 1"),
                ("b_full", "4 slots, count 1", "expects 32 KiB"),
                ("b_empty", "4 slots, count 2"),
                ("a_tiles", "8 slots of 8 KiB", "64x64 f16"),
                ("b_tiles", "4 slots of 32 KiB", "64x256 f16"),
                ("c_tiles", "4 slots of 8 KiB", "64x64 f16"),
            ],
        ),
        (
            "attention_pingpong",
            [
                ("q_fulls", "2 slots, count 1", "expects 16 KiB"),
                ("k_empties", "2 slots, count 2"),
                ("k_fulls", "2 slots, count 1", "expects 32 KiB"),
                ("v_empties", "2 slots, count 2"),
                ("v_fulls", "2 slots, count 1", "expects 32 KiB"),
                ("named barrier 9", "256 threads"),
                ("named barrier 10", "256 threads"),
                ("q_tiles", "2 slots of 16 KiB", "64x128 f16"),
                ("k_tiles", "2 slots of 32 KiB", "128x128 f16"),
                ("v_tiles", "2 slots of 32 KiB", "128x128 f16"),
                # desc_o.store, of each of the two groups
                ("tile of line 253", "1 slot of 16 KiB", "64x128 f16"),
                ("tile of line 253", "1 slot of 16 KiB", "64x128 f16"),
            ],
        ),
        ("plain_gemm", [("a", "3 slots of 16 KiB", "128x64 f16"), ("b", "3 slots of 16 KiB", "64x128 f16")]),
    ],
)
def test_memory_says_its_slots_counts_and_bytes(name: str, expected: list[tuple[str, ...]]) -> None:
    """As the kernels' sources allocate it."""
    assert [node.lines for node in pipeline(program(name)).memory] == expected


def test_lines_under_a_condition_say_so() -> None:
    mma = pipeline(program("hopper_gemm_ws")).clusters[1]
    assert [node.line for node in nodes_of(mma) if node.conditional] == [139, 140]


def test_lines_are_in_the_order_of_the_program() -> None:
    (compute,) = pipeline(program("plain_gemm")).clusters
    assert [(node.line, node.lines) for node in nodes_of(compute)] == [
        (60, ("cp.async a (2x)",)),
        (61, ("cp.async b (2x)",)),
        (60, ("wait for all cp.async but 2",)),
        (62, ("MMA a, b",)),
        (62, ("wait for all MMAs but 1",)),
        (60, ("cp.async a",)),
        (61, ("cp.async b",)),
        (58, ("wait for all MMAs", "wait for all cp.async")),
    ]


def test_arrivals_other_than_one_are_said() -> None:
    text = (Path(__file__).parents[1] / "sim" / "loops" / "attention.ttgir").read_text(encoding="utf-8")
    diagram = pipeline(load_program(text))
    said = {line for cluster in diagram.clusters for node in nodes_of(cluster) for line in node.lines}
    assert "arrive q_desc_empty.0 (+128)" in said
    assert {edge.count for edge in diagram.edges if edge.kind is EdgeKind.ARRIVE} == {1, 128}


def test_bytes_other_than_a_slot_are_a_label() -> None:
    made = program("plain_gemm")
    made.buffers[0].slots = 6  # as where a copy fills two
    assert dot_text(pipeline(made)).count('label="16 KiB"') == 3
    assert 'label="16 KiB"' not in dot_text(pipeline(program("plain_gemm")))


def test_named_barriers_are_told_from_mbarriers() -> None:
    named = [node for node in pipeline(program("attention_pingpong")).memory if node.kind is NodeKind.NAMED_BARRIER]
    assert [node.lines for node in named] == [("named barrier 9", "256 threads"), ("named barrier 10", "256 threads")]


def test_producers_are_left_of_consumers_and_memory_is_between_them() -> None:
    diagram = pipeline(load_program(BLACKWELL.read_text(encoding="utf-8")))
    column = levels(diagram)
    titles = {cluster.title: column[cluster.key] for cluster in diagram.clusters}
    memory = {node.lines[0]: column[node.key] for node in diagram.memory}
    assert titles == {"load": 0, "mma": 2, "epilogue": 4}
    assert (memory["a_tiles"], memory["empty"], memory["acc"], memory["done"]) == (1, 1, 3, 3)


def test_warp_groups_that_share_a_buffer_are_beside_each_other() -> None:
    diagram = pipeline(program("hopper_gemm_ws"))
    column = levels(diagram)
    assert [column[cluster.key] for cluster in diagram.clusters] == [0, 2, 2]


def test_barriers_say_who_arrives_who_waits_and_what_they_guard() -> None:
    rows = {row[0][0]: row[1:] for row in barriers(program("attention_pingpong")).rows}
    assert rows["q_fulls"] == (
        ("2",),
        ("1",),
        ("load, line 76 (2x)", "load, line 78: bytes of a copy (2x)"),
        ("softmax.0, line 116: phase 0", "softmax.1, line 116: phase 0"),
        ("16 KiB",),
        ("q_tiles is full",),
    )
    assert rows["v_empties"] == (
        ("2",),
        ("2",),
        ("softmax.0, line 223", "softmax.0, line 238", "softmax.1, line 223", "softmax.1, line 238"),
        ("load, line 95: phase",),
        (),
        ("v_tiles is free",),
    )
    assert rows["named barrier 10"] == (
        ("",),
        ("256 threads",),
        ("softmax.0, line 143", "softmax.0, line 189"),
        ("softmax.1, line 137", "softmax.1, line 183"),
        (),
        (),
    )
    assert list(rows) == [
        "q_fulls", "k_empties", "k_fulls", "v_empties", "v_fulls", "named barrier 9", "named barrier 10"
    ]  # fmt: skip


def test_kernel_without_barriers_has_an_empty_table() -> None:
    table = barriers(program("plain_gemm"))
    assert table.rows == ()
    assert ">none<" in dot_text(table)


@pytest.mark.parametrize("kind", STATIC)
@pytest.mark.parametrize("name", ["hopper_gemm_ws", "attention_pingpong", "plain_gemm"])
def test_dot_is_the_golden_one(name: str, kind: str) -> None:
    """Written by `tlxviz graph -f --kind KIND -o NAME.KIND.dot NAME.ttgir`."""
    golden = DATA / f"{name}.{kind}.dot"
    # where fbtriton puts their memory
    allocation = json.loads((DATA / f"{name}.allocation.json").read_text(encoding="utf-8"))
    assert KINDS[kind].dot(Subject(program(name), allocation=allocation)) == golden.read_text(encoding="utf-8")


def test_kernel_that_synchronises_nothing_says_so() -> None:
    text = (Path(__file__).parents[1] / "ir" / "data" / "plain.ttgir").read_text(encoding="utf-8")
    assert "It uses no barrier, no shared memory and no tensor core." in dot_text(pipeline(load_program(text)))


def test_names_cannot_break_the_dot() -> None:
    text = (DATA / "plain_gemm.ttgir").read_text(encoding="utf-8")
    made = load_program(text)
    made.name = 'a<b> & "c"'
    made.buffers[0].name = "x<y>&z"
    drawn = dot_text(pipeline(made))
    assert "a&lt;b&gt; &amp; &quot;c&quot;" in drawn
    assert "<b>x&lt;y&gt;&amp;z</b>" in drawn


def test_colours_are_those_of_the_timeline() -> None:
    pairs = {EdgeKind.FILL: Look.FILL, EdgeKind.READ: Look.READ, EdgeKind.WAIT: Look.WAIT, EdgeKind.ARRIVE: Look.ISSUE}
    assert {kind: EDGES[kind].color for kind in pairs} == {
        kind: APPEARANCES[look].light for kind, look in pairs.items()
    }


def test_kinds_of_edges_differ_without_colour() -> None:
    assert len({(look.style, look.head, look.width) for look in EDGES.values()}) == len(EdgeKind)


@pytest.mark.parametrize(("name", "expected"), [("hopper_gemm_ws", HOPPER_GEMM), ("plain_gemm", PLAIN_GEMM)])
def test_kernels_are_compiled_to_the_same_edges(
    name: str, expected: list[E], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    command = ["run", "--device", "sim:h200", "--values", "off", "-q", "-o", "x.tlxtrace", str(KERNELS / f"{name}.py")]
    main([*command, "--m", "256", "--n", "256", "--k", "256"])
    (launch,) = load_trace("x.tlxtrace").launches
    made = load_program(launch.ttgir)
    name_from_source(made, launch.source, launch.source_file, launch.source_line)
    assert edges(pipeline(made)) == sorted(expected)


TUTORIALS = {
    "hopper_gemm_ws": """
from triton.language.extra.tlx.tutorials.hopper_gemm_ws import matmul
a, b = (torch.ones(512, 512, device="cuda", dtype=torch.float16) for _ in "ab")
matmul(a, b)
""",
    "hopper_fa_ws_pipelined_pingpong": """
from triton.language.extra.tlx.tutorials.hopper_fa_ws_pipelined_pingpong import attention
q, k, v = (torch.ones(1, 1, 512, 128, device="cuda", dtype=torch.float16) for _ in "qkv")
attention(q, k, v, 0.5)
""",
}


@pytest.mark.parametrize(
    ("name", "expected"), [("hopper_gemm_ws", TUTORIAL_GEMM), ("hopper_fa_ws_pipelined_pingpong", ATTENTION)]
)
def test_tutorials_are_compiled_to_the_same_edges(
    name: str, expected: list[E], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("script.py").write_text(f"import torch\n{TUTORIALS[name]}")
    options = ["--device", "sim:h200", "--values", "off", "--first-config", "-q", "-o", "x.tlxtrace"]
    assert main(["run", *options, "script.py"]) == 0
    (launch,) = load_trace("x.tlxtrace").launches
    made = load_program(launch.ttgir)
    name_from_source(made, launch.source, launch.source_file, launch.source_line)
    assert edges(pipeline(made)) == sorted(expected)


@pytest.mark.skipif(shutil.which("dot") is None and shutil.which("graphviz-pure") is None, reason="nothing draws")
@pytest.mark.parametrize("kind", STATIC)
def test_pictures_hold_every_name(kind: str) -> None:
    made = program("attention_pingpong")
    text = KINDS[kind].dot(Subject(made))
    picture = ElementTree.fromstring(render(text, "svg", find_renderer("svg")))
    words = " ".join(picture.itertext())
    assert all(barrier.name in words for barrier in made.barriers)
    assert render(text, "png", find_renderer("png")).startswith(b"\x89PNG")
