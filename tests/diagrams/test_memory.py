"""What lives where: bytes and slots worked out from the kernels' sources."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from analysis.synthetic_traces import DEVICE, launch, pipeline
from tui.ring_scene import ring

from tlxviz.analysis.slot_times import COLUMNS, slot_times
from tlxviz.commands import main
from tlxviz.diagrams.kinds import KINDS, Subject
from tlxviz.diagrams.memory import Column, memory
from tlxviz.diagrams.memory_dot import memory_dot
from tlxviz.ir import load_program
from tlxviz.ir.program import Program
from tlxviz.trace import Track, TrackKind

DATA = Path(__file__).parent / "data"
IR = Path(__file__).parents[1] / "ir" / "data"


def text_of(name: str) -> str:
    return (DATA / f"{name}.ttgir").read_text(encoding="utf-8")


def program(name: str) -> Program:
    return load_program(text_of(name))


def test_bytes_of_the_gemm() -> None:
    """A: 8 slots of 64x64 f16, B: 4 of 64x256, C: 4 of 64x64; barriers of 8 + 8 + 4 + 4 slots of 8 bytes."""
    drawn = memory(program("hopper_gemm_ws"))
    assert [(each.name, each.line, each.slots, each.bytes) for each in drawn.blocks] == [
        ("a_tiles", 85, 8, 8 * 64 * 64 * 2),
        ("b_tiles", 86, 4, 4 * 64 * 256 * 2),
        ("c_tiles", 87, 4, 4 * 64 * 64 * 2),
        ("a_full", 88, 8, 64),
        ("a_empty", 89, 8, 64),
        ("b_full", 90, 4, 32),
        ("b_empty", 91, 4, 32),
    ]
    assert (drawn.shared, drawn.tensor, drawn.used, drawn.limit) == (65536 + 131072 + 32768 + 192, 0, None, None)


def test_what_each_line_of_the_gemm_does() -> None:
    drawn = memory(program("hopper_gemm_ws"))
    load, mma = "load", "mma"
    assert drawn.columns == (
        Column(load, 106), Column(load, 110), Column(load, 115),
        Column(mma, 135), Column(mma, 151), Column(mma, 152), Column(mma, 153), Column(mma, 154),
    )  # fmt: skip
    done = {each.name: each.done for each in drawn.blocks if not each.barrier}
    assert done["a_tiles"] == {0: "fill", 2: "fill", 3: "read"}
    assert done["b_tiles"] == {1: "fill", 3: "read"}
    assert set(done["c_tiles"].values()) == {"fill, read"}
    assert {each.name: each.last for each in drawn.blocks[:3]} == {"a_tiles": 3, "b_tiles": 3, "c_tiles": 7}


def test_memory_of_a_later_place_is_not_there_before() -> None:
    drawn = memory(load_program((IR / "blackwell.ttgir").read_text(encoding="utf-8")))
    (tile,) = (each for each in drawn.blocks if each.name == "tile of line 62")
    assert (tile.first, tile.last) == (1, 1)
    (acc,) = (each for each in drawn.blocks if each.tensor)
    assert (acc.name, acc.bytes, drawn.tensor) == ("acc", 128 * 128 * 4, 65536)
    assert "128 of an SM&#x27;s 512 columns, 65,536 B of 262,144 B" in memory_dot(drawn)


def test_what_the_compiler_reports_and_the_device_allows() -> None:
    device = DEVICE | {"limits": {"shared_memory_per_block": 232448}}
    made = launch(device=device, metadata={"shared": 229704})
    drawn = memory(program("hopper_gemm_ws"), made)
    assert (drawn.used, drawn.limit) == (229704, 232448)
    text = memory_dot(drawn)
    assert "229,704 B of a CTA, 229,568 B of it in blocks; it may have 232,448 B (99 % taken)." in text
    # parts of the bar of 420 points
    parts = dict(re.findall(r'width="(\d+)" height="20" bgcolor="[^"]+">(\w+)<', text)[::-1])
    assert parts == {"118": "a_tiles", "237": "b_tiles", "59": "c_tiles"}


def test_blocks_that_share_memory_are_said_to() -> None:
    made = launch(metadata={"shared": 200000})
    drawn = memory(program("hopper_gemm_ws"), made)
    assert any("29568 B more than the CTA takes" in note for note in drawn.notes)


def laid_out() -> Program:
    """A file of a later stage: the compiler has put C into the bytes of B."""
    text = text_of("hopper_gemm_ws")
    for name, offset in (("a_tiles", 131072), ("b_tiles", 0), ("c_tiles", 98304), ("a_full", 196608)):
        text = text.replace(
            f"%{name} = ttg.local_alloc : ", f"%{name} = ttg.local_alloc {{allocation.offset = {offset} : i32}} : "
        )
    return load_program(text.replace("module attributes {", 'module attributes {"ttg.shared" = 196800 : i32, '))


def test_offsets_of_a_later_stage() -> None:
    drawn = memory(laid_out())
    assert [(each.name, each.offset) for each in drawn.blocks][:4] == [
        ("b_tiles", 0), ("c_tiles", 98304), ("a_tiles", 131072), ("a_full", 196608)
    ]  # fmt: skip
    aliases = {each.name: each.aliases for each in drawn.blocks}
    # C ends where A begins
    assert (aliases["b_tiles"], aliases["c_tiles"], aliases["a_tiles"]) == (("c_tiles",), ("b_tiles",), ())
    assert drawn.used == 196800
    text = memory_dot(drawn)
    assert "98,304" in text
    assert "the same memory: b_tiles" in text
    assert drawn.notes == ()


def test_views_of_the_same_memory_are_named() -> None:
    text = text_of("hopper_gemm_ws")
    view = (
        "    %staging = ttg.memdesc_reinterpret %c_tiles : !ttg.memdesc<4x64x64xf16, #shared, #smem, mutable> -> "
        "!ttg.memdesc<2x64x128xf16, #shared, #smem, mutable> loc(#loc140)\n"
    )
    at = text.index("    %a_full = ttg.local_alloc")
    drawn = memory(load_program(text[:at] + view + text[at:]))
    assert {each.name: each.aliases for each in drawn.blocks if each.aliases} == {"c_tiles": ("staging",)}


def test_slots_over_time() -> None:
    """Of each 200 cycles, a slot is being filled from 10 to 90, full until 95, and read until it is free at 114."""
    found = slot_times(ring(24))
    assert found is not None
    assert (found.cta, found.end - found.begin, found.iterations, found.begin % 100) == (0, 400, 4, 0)
    expected: dict[int, str] = {0: "", 1: ""}
    for slot in expected:
        for column in range(COLUMNS):
            since = (found.begin + (column + 0.5) * 400 / COLUMNS - 100 * slot) % 200
            ends = ((10, "-"), (90, "f"), (95, "u"), (114, "r"), (200, "-"))
            expected[slot] += next(state for end, state in ends if since < end)
    assert found.states == {"a": expected}
    # in 50 cycles, 10 of 12 columns of the one and 3 of the other; in the next 50 all of the one
    assert found.in_use == (round(4096 * 13 / 12), 4096) * 4


@pytest.mark.parametrize(
    "made",
    [launch(), launch([Track(TrackKind.WARP_GROUP, "a", 0, 0, 0, begin=0, end=9)]), pipeline(0), pipeline(1)],
    ids=["nothing", "no events", "no iterations", "one iteration"],
)
def test_little_is_drawn_as_well(made: object) -> None:
    drawn = memory(program("plain_gemm"), made)  # type: ignore[arg-type]
    assert memory_dot(drawn).startswith("digraph")


def test_kernel_without_shared_memory_says_so() -> None:
    drawn = memory(load_program((IR / "plain.ttgir").read_text(encoding="utf-8")))
    assert drawn.blocks == ()
    assert "It allocates no shared and no tensor memory." in memory_dot(drawn)


def test_times_stand_in_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = memory(program("hopper_gemm_ws"), ring(24))
    assert drawn.times is not None
    text = memory_dot(replace(drawn, times=replace(drawn.times, states={"a_tiles": drawn.times.states["a"]})))
    assert f"Times: CTA 0, SM cycles {drawn.times.begin:,} to {drawn.times.end:,}, 4 iterations of " in text
    widths = [int(each) for each in re.findall(r'fixedsize="true" width="(\d+)" height="15" bgcolor', text)]
    assert sum(widths) == 2 * COLUMNS * 4
    assert text.count("not a ring that TMA fills") == 2  # B and C
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tlxviz.commands.allocation.find_spec", lambda name: None)  # no Triton
    assert main(["graph", "-q", "--kind", "memory", "-o", "a.dot", str(DATA / "plain_gemm.ttgir")]) == 0
    assert "no Triton is here that can tell where the compiler puts them" in Path("a.dot").read_text(encoding="utf-8")
    assert Path("a.dot").read_text(encoding="utf-8") == KINDS["memory"].dot(Subject(program("plain_gemm")))


def test_names_cannot_break_the_dot() -> None:
    made = program("plain_gemm")
    made.name = made.buffers[0].name = "x<y>&z"
    text = memory_dot(memory(made))
    assert "Memory of x&lt;y&gt;&amp;z" in text
    assert "<b>x&lt;y&gt;&amp;z</b>" in text
