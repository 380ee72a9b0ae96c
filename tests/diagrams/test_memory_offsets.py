"""Where buffers are: offsets worked out from sizes, and those of `data/NAME.allocation.json`, which fbtriton chose."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from analysis.synthetic_traces import DEVICE, launch

from tlxviz import _triton
from tlxviz._triton import memory as compiler
from tlxviz.commands import main
from tlxviz.diagrams.memory import MemoryMap, Scratch, memory
from tlxviz.diagrams.memory_dot import memory_dot
from tlxviz.diagrams.placement import placement
from tlxviz.ir import load_program, name_from_source
from tlxviz.ir.program import Program
from tlxviz.trace import load_trace

DATA = Path(__file__).parent / "data"
BLACKWELL = Path(__file__).parents[1] / "ir" / "data" / "blackwell.ttgir"
KERNELS = Path(__file__).parents[2] / "kernels"
NAMES = ("hopper_gemm_ws", "attention_pingpong", "plain_gemm", "tutorial_gemm", "calls")


def program(name: str) -> Program:
    return load_program((DATA / f"{name}.ttgir").read_text(encoding="utf-8"))


def allocation(name: str) -> dict[str, Any]:
    return json.loads((DATA / f"{name}.allocation.json").read_text(encoding="utf-8"))


def drawn(name: str) -> MemoryMap:
    return memory(program(name), allocation=allocation(name))


def offsets(found: MemoryMap) -> dict[str, int | None]:
    return {each.name: each.offset for each in found.blocks}


def skip_other_compilers() -> None:
    pytest.importorskip("triton")
    if _triton.toolchain().distribution != "fbtriton":
        pytest.skip("triton 3.8 prints other TTGIR, and puts barriers elsewhere")


def check_gemm(found: MemoryMap) -> None:
    """Tiles of 128, 64 and 32 KiB one after the other, up to 128 bytes that tasks are given, then 24 mbarriers of 8
    bytes, and a byte for each of the 8 warps that are not the default task's."""
    a, b, c = 8 * 64 * 64 * 2, 4 * 64 * 256 * 2, 4 * 64 * 64 * 2
    tiles = {"b_tiles": 0, "a_tiles": b, "c_tiles": b + a}
    barriers = {"a_full": 0, "a_empty": 64, "b_full": 128, "b_empty": 160}
    begin = a + b + c + 128
    assert offsets(found) == tiles | {name: begin + offset for name, offset in barriers.items()}
    assert found.scratch == (
        Scratch("ttg.warp_specialize", (93,), a + b + c, ()),
        Scratch("tt.func", (65,), begin + 24 * 8, ()),
    )
    assert found.used == begin + 24 * 8 + 8 == 229704
    assert found.covered == found.shared == a + b + c + 24 * 8


def test_the_gemm_by_hand() -> None:
    check_gemm(drawn("hopper_gemm_ws"))


def test_a_trace_says_where_buffers_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    skip_other_compilers()
    monkeypatch.chdir(tmp_path)
    command = ["run", "--device", "sim:h200", "--values", "off", "-q", "-o", "x.tlxtrace"]
    main([*command, str(KERNELS / "hopper_gemm_ws.py"), "--m", "256", "--n", "256", "--k", "256"])
    (made,) = load_trace("x.tlxtrace").launches
    assert made.metadata["allocation"]["shared"] == made.metadata["shared"]
    found = load_program(made.ttgir)
    name_from_source(found, made.source, made.source_file, made.source_line)
    check_gemm(memory(found, made))


@pytest.mark.parametrize("name", NAMES)
def test_the_compiler_says_the_same(name: str) -> None:
    skip_other_compilers()
    assert compiler.allocation((DATA / f"{name}.ttgir").read_text(encoding="utf-8"), {}) == allocation(name)


def test_slots_have_addresses() -> None:
    text = memory_dot(drawn("hopper_gemm_ws"))
    found = [int(each.replace(",", "")) for each in re.findall(r'<td align="right">([\d,]+)</td>', text)]
    b = [slot * 64 * 256 * 2 for slot in range(4)]
    a = [131072 + slot * 64 * 64 * 2 for slot in range(8)]
    c = [196608 + slot * 64 * 64 * 2 for slot in range(4)]
    assert found == [*b, *a, *c, 229376, 229696]
    assert "a_full 229,504, a_empty 229,568, b_full 229,632, b_empty 229,664" in text


def test_tiles_that_do_not_live_together_share_bytes() -> None:
    """Halves of C, 64x64 f16 each, of two tasks: those of a task one after the other in the same 8 KiB."""
    found = drawn("tutorial_gemm")
    tiles = [(each.offset, each.bytes, each.aliases) for each in found.blocks if each.name.startswith("tile")]
    assert tiles == [
        (65536, 8192, ("tile of line 699",)),
        (65536, 8192, ("tile of line 697",)),
        (73728, 8192, ("tile of line 699",)),
        (73728, 8192, ("tile of line 697",)),
    ]
    rings, barriers = 4 * 64 * 64 * 2 + 2 * 64 * 128 * 2, 12 * 8
    assert (found.shared, found.covered) == (rings + 4 * 8192 + barriers, rings + 2 * 8192 + barriers)
    assert [(begin, end, len(blocks)) for begin, end, blocks in found.pieces[2:4]] == [
        (65536, 73728, 2), (73728, 81920, 2)
    ]  # fmt: skip
    text = memory_dot(found)
    assert "82,136 B of a CTA, 82,016 B of it in blocks of 98,400 B, which share bytes." in text
    assert text.count('bgcolor="#b4c6dc"') == 2


def test_scratch_memory_in_the_bytes_of_a_buffer() -> None:
    """The epilogue changes the layout of C when the last tile of A has been read."""
    found = drawn("plain_gemm")
    assert found.scratch == (Scratch("ttg.convert_layout", (67,), 0, ("a",)),)
    assert "scratch: layout conversion, line 67, in the bytes of a<" in memory_dot(found)


def test_the_bar_is_by_address_and_as_long_as_the_limit() -> None:
    device = DEVICE | {"limits": {"shared_memory_per_block": 2 * 98304}}
    made = launch(device=device, metadata={"shared": 98304, "allocation": allocation("plain_gemm")})
    parts = re.findall(
        r'width="(\d+)" height="20" bgcolor="[^"]+">(\w+)<', memory_dot(memory(program("plain_gemm"), made))
    )
    assert parts == [("105", "a"), ("105", "b"), ("210", "free")]


def test_scratch_memory_alone_is_drawn() -> None:
    text = (Path(__file__).parents[1] / "ir" / "data" / "plain.ttgir").read_text(encoding="utf-8")
    line = next(number for number, each in enumerate(text.splitlines(), 1) if '"tt.reduce"' in each)
    told = {"shared": 16, "operations": [{"name": "tt.reduce", "line": line, "offset": 0}]}
    found = memory(load_program(text), allocation=told)
    assert [(each.operation, each.offset) for each in found.scratch] == [("tt.reduce", 0)]
    assert "scratch: reduction" in memory_dot(found)
    assert "16 B of a CTA, 0 B of it in blocks." in memory_dot(found)


def test_the_compiler_says_columns_of_tensor_memory() -> None:
    """The accumulator is all that there is."""
    skip_other_compilers()
    told = compiler.allocation(BLACKWELL.read_text(encoding="utf-8"), {})
    (acc,) = (each for each in told["operations"] if each["name"] == "ttng.tmem_alloc")
    assert (acc["row"], acc["column"]) == (0, 0)
    assert {each["name"] for each in told["operations"] if "offset" not in each} == {"ttng.tmem_alloc"}


def test_tensor_memory_has_columns() -> None:
    text = BLACKWELL.read_text(encoding="utf-8")
    told: dict[str, Any] = {"shared": 99000, "operations": []}
    for number, line in enumerate(text.splitlines(), 1):
        if "= ttg.local_alloc" in line:
            told["operations"].append({"name": "ttg.local_alloc", "line": number, "offset": 0})
        if "= ttng.tmem_alloc" in line:
            told["operations"].append({"name": "ttng.tmem_alloc", "line": number, "row": 16, "column": 128})
    found = memory(load_program(text), allocation=told)
    (acc,) = (each for each in found.blocks if each.tensor)
    assert (acc.offset, acc.corner, acc.aliases) == (None, (16, 128), ())
    assert found.blocks[-1] is acc
    text = memory_dot(found)
    assert "columns 128 to 255, lane 16<" in text
    assert "lanes 16 to 127" in text


def test_a_trace_without_offsets_says_so() -> None:
    made = launch(metadata={"shared": 229704})
    found = memory(program("hopper_gemm_ws"), made)
    assert (found.laid_out, found.scratch, found.used) == (False, (), 229704)
    assert found.notes == (
        "Blocks stand in the order of their allocation: this trace does not say where the compiler puts them.",
    )
    assert ">offset<" not in memory_dot(found)


def entries(*changed: dict[str, Any]) -> dict[str, Any]:
    told = allocation("plain_gemm")
    return {"shared": told["shared"], "operations": [*told["operations"][1:], *changed]}


@pytest.mark.parametrize(
    "told",
    [
        {},
        {"shared": 98304},
        {"shared": 98304, "operations": 7},
        {"shared": 98304, "operations": ["a"]},
        entries(),  # A has no offset
        entries({"name": "ttg.local_alloc", "line": 88}),
        entries({"name": "ttg.local_alloc", "line": 88, "offset": "0"}),
        entries({"name": "ttg.local_alloc", "line": 88, "offset": -1}),
        entries({"name": "ttng.tmem_alloc", "line": 88, "offset": 0}),
        entries({"name": "ttg.local_alloc", "line": 88000, "offset": 0}),
    ],
    ids=str,
)
def test_what_is_not_about_this_kernel_is_not_believed(told: dict[str, Any]) -> None:
    found = placement(program("plain_gemm"), told)
    assert (found.offsets, found.columns) == ({}, {})
    assert placement(program("plain_gemm"), allocation("plain_gemm")).offsets


def test_memory_of_a_called_function_is_where_the_call_puts_it() -> None:
    told = allocation("calls")
    calls = [each for each in told["operations"] if each["name"] == "tt.call"]
    calls[0]["offset"] = 4096
    found = memory(program("calls"), allocation=told)
    assert offsets(found) == {"first": 16384, "second": 16400, "a": 4096}
    assert [(each.operation, each.offset) for each in found.scratch] == [("ttg.convert_layout", 4096)]


def test_of_a_function_that_calls_put_to_different_places_nothing_is_known() -> None:
    text = (DATA / "calls.ttgir").read_text(encoding="utf-8")
    lines = text.splitlines()
    (call,) = (number for number, line in enumerate(lines) if "tt.call @__main__.multiplied" in line)
    lines.insert(call + 1, lines[call])
    told = {"shared": 99000, "operations": [dict(each) for each in allocation("calls")["operations"]]}
    for each in told["operations"]:
        each["line"] += each["line"] > call + 1
    told["operations"].append({"name": "tt.call", "line": call + 2, "offset": 4096})
    found = memory(load_program("\n".join(lines)), allocation=told)
    assert offsets(found) == {"first": 16384, "second": 16400, "a": None}
    assert found.scratch == ()
