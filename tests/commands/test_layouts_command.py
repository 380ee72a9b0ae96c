"""`tlxviz layouts`: inputs, options, exit statuses, text and JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from analysis.synthetic_traces import pipeline

from tlxviz.commands import main
from tlxviz.devices import load_device
from tlxviz.trace import LaunchTrace, Trace, save_trace

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "diagrams" / "data"
GEMM = DATA / "hopper_gemm_ws.ttgir"
PLAIN = DATA / "plain_gemm.ttgir"
BLACKWELL = ROOT / "tests" / "ir" / "data" / "blackwell.ttgir"
Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder to work in, a terminal of 80 columns, and no compiler to be asked."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("tlxviz.commands.allocation.find_spec", lambda name: None)


def launch_of(name: str, **changes: Any) -> LaunchTrace:
    made = pipeline(kernel=name)
    made.ttgir = (DATA / f"{name}.ttgir").read_text(encoding="utf-8")
    made.device = load_device("h200").to_manifest()
    for key, value in changes.items():
        setattr(made, key, value)
    return made


def saved(*launches: LaunchTrace) -> str:
    save_trace(Trace(list(launches)), Path("t.tlxtrace"))
    return "t.tlxtrace"


def document(capsys: Capture, *words: str) -> dict[str, Any]:
    assert main(["layouts", "--json", *words]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return json.loads(captured.out)


def test_text_of_a_ttgir_file(capsys: Capture):
    assert main(["layouts", str(GEMM)]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    lines = captured.out.splitlines()
    assert lines[0] == "hopper_gemm_ws  cycles by the figures of NVIDIA H200 SXM"
    assert "    nvmma, swizzle 128 B  default or pinned: unknown" in lines
    assert "      wgmma A, K-major  line 135 (mma.0, mma.1)" in lines
    assert "        no bank conflict: 16 transactions a warp, 4 instructions of 16 bytes a" in lines
    assert "  byte 384    3d    3c    3b    3a    3h    3g    3f    3e  " in lines
    assert max(map(len, lines)) <= 80


def test_text_of_conversions_and_tensors(capsys: Capture):
    assert main(["layouts", str(PLAIN)]) == 0
    text = capsys.readouterr().out
    assert "  wgmma m64n128k16 accumulator, 8x1 warps  default or pinned: unknown\n    acc  128x128 f32, 64" in text
    assert "    through shared memory: up to 32 KiB of scratch, 512 transactions to store" in text


def test_scratch_that_the_compiler_tells(capsys: Capture, monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("triton")
    monkeypatch.undo()
    (made,) = document(capsys, str(PLAIN))["kernels"][0]["conversions"]
    assert made["scratch"] == 32768


@pytest.mark.parametrize("columns", ["20", "40", "56", "60", "200"])
@pytest.mark.parametrize("file", [GEMM, PLAIN, BLACKWELL])
def test_terminals_of_all_widths(columns: str, file: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", columns)
    assert main(["layouts", str(file)]) == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) <= int(columns)


def test_letters_stand_for_colours_where_there_are_none(capsys: Capture, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("NO_COLOR", "1")
    assert main(["layouts", str(GEMM)]) == 0
    text = capsys.readouterr().out
    assert "\x1b" not in text
    assert "0a    0b    0c" in text


def test_json(capsys: Capture):
    made = document(capsys, str(GEMM))
    assert (made["schema"], made["version"]) == ("tlxviz.layouts", 1)
    (kernel,) = made["kernels"]
    assert (kernel["kernel"], kernel["ctas"], kernel["changes"]) == ("hopper_gemm_ws", 1, [])
    a = kernel["buffers"][0]
    assert a["layout"] == {
        "kind": "nvmma_shared",
        "words": "nvmma, swizzle 128 B",
        "swizzle": 128,
        "transposed": False,
        "element_bits": 16,
        "fp4_padded": False,
    }
    assert (a["chosen"], a["location"]["line"], a["slots"]) == ("unknown", 85, 8)
    store = kernel["buffers"][2]["uses"][0]
    assert store["transactions"]["transactions"] == 16
    assert kernel["tensors"][0]["layout"]["kind"] == "nvidia_mma"


def test_a_trace(capsys: Capture):
    noted = {"rest": "compiler", "places": []}
    trace = saved(launch_of("plain_gemm"), launch_of("hopper_gemm_ws", metadata={"layouts": noted}))
    made = document(capsys, trace)["kernels"]
    assert [each["kernel"] for each in made] == ["plain_gemm", "hopper_gemm_ws"]
    assert [each["buffers"][0]["chosen"] for each in made] == ["unknown", "compiler"]
    assert [each["kernel"] for each in document(capsys, "--kernel", "hopper*", trace)["kernels"]] == ["hopper_gemm_ws"]
    assert [each["kernel"] for each in document(capsys, "--launch", "0", trace)["kernels"]] == ["plain_gemm"]


def test_a_given_layout(capsys: Capture):
    assert main(["layouts", "--set", "c_tiles=swizzle:32", str(GEMM)]) == 0
    text = capsys.readouterr().out
    assert "  is     nvmma, swizzle 128 B\n  given  nvmma, swizzle 32 B\n" in text
    assert "nobody refuses it; cycles of shared memory: 256 as it is, 256 as given" in text
    assert "a_tiles" not in text


def test_a_given_layout_that_is_refused(capsys: Capture):
    assert main(["layouts", "--set", "c_tiles = padded(64:8)", str(GEMM)]) == 1
    text = capsys.readouterr().out
    assert "refused: TMA writes and reads nvmma layouts alone" in text
    assert "somebody refuses it" in text


def test_buffers_that_no_warp_reads(capsys: Capture):
    assert main(["layouts", "--set", "a_tiles=swizzle:64", "--set", "b_tiles=none", str(GEMM)]) == 1
    text = capsys.readouterr().out
    assert "no warp loads or stores it, and what other units do is not counted" in text.replace("\n  ", " ")
    assert "refused: wgmma needs a swizzle where rows are not 16 bytes" in text


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("a_tiles", "'a_tiles' gives no layout: write NAME=LAYOUT"),
        ("=none", "'=none' gives no layout"),
        ("a_tiles=", "'a_tiles=' gives no layout"),
        ("nothing=none", "has no buffer nothing: it has a_tiles, b_tiles, c_tiles."),
        ("a_tiles=swizzle:48", "'swizzle:48' is no layout for a_tiles: write none, swizzle:32"),
        ("a_tiles=swizzled(8,1)", "is no layout for a_tiles"),
        ("a_tiles=swizzled(3,1,8)", "3 is no power of two"),
        ("a_tiles=swizzled(0,1,8)", "0 is no power of two"),
        ("a_tiles=padded(64)", "is no layout for a_tiles"),
        ("a_tiles=padded(64:99999999999999999999)", "is no power of two"),
    ],
)
def test_given_layouts_that_are_none(given: str, message: str, capsys: Capture):
    assert main(["layouts", "--set", given, str(GEMM)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err


def test_layouts_of_tensor_memory_are_not_given(capsys: Capture):
    assert main(["layouts", "--set", "acc=none", str(BLACKWELL)]) == 2
    assert "acc is in tensor memory, whose layouts cannot be given." in capsys.readouterr().err


@pytest.mark.parametrize(
    "given", ["none", "swizzled(1,1,1)", "swizzled(8,2,4),columns", "padded(64:8,128:16)", "swizzle:0"]
)
def test_forms_of_given_layouts(given: str, capsys: Capture):
    assert main(["layouts", "--json", "--set", f"a={given}", str(PLAIN)]) in (0, 1)
    (change,) = json.loads(capsys.readouterr().out)["kernels"][0]["changes"]
    assert change["after"]["layout"]["kind"] in ("nvmma_shared", "swizzled_shared", "padded_shared")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["missing.ttgir"], "there is no file missing.ttgir."),
        (["missing.py"], "there is no script missing.py."),
        ([str(GEMM), "more"], "takes no arguments, and there is more."),
        (["--kernel", "k", str(GEMM)], "--kernel is for a trace or a script"),
        (["--launch", "0", str(GEMM)], "--launch is for a trace or a script"),
        (["--device", "sim:none", str(GEMM)], "there is no device 'sim:none'."),
    ],
)
def test_usage(words: list[str], message: str, capsys: Capture):
    assert main(["layouts", *words]) == 2
    assert message in capsys.readouterr().err


def test_traces_without_what_is_asked_for(capsys: Capture):
    trace = saved(launch_of("plain_gemm"))
    for words, message in (
        (["--kernel", "x*"], "has no launch of x*: it has plain_gemm."),
        (["--launch", "1"], "has no launch 1: it holds only launch 0."),
    ):
        assert main(["layouts", *words, trace]) == 2
        assert message in capsys.readouterr().err
    save_trace(Trace([launch_of("plain_gemm", ttgir="")]), Path("t.tlxtrace"), force=True)
    assert main(["layouts", trace]) == 2
    assert "the trace holds no TTGIR of plain_gemm" in capsys.readouterr().err


def test_other_figures(capsys: Capture):
    made = document(capsys, "--device", "sim:h100", str(PLAIN))["kernels"][0]
    assert made["device"] == "NVIDIA H100 SXM"
    made = document(capsys, "--device", "sim:h100", saved(launch_of("plain_gemm")))["kernels"][0]
    assert made["device"] == "NVIDIA H100 SXM"


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5, 0.9])
def test_damaged_ttgir_is_a_message(share: float, capsys: Capture):
    text = GEMM.read_text(encoding="utf-8")
    Path("cut.ttgir").write_text(text[: int(len(text) * share)], encoding="utf-8")
    assert main(["layouts", "cut.ttgir"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("tlxviz: error: cut.ttgir:")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("sizePerThread = [1, 8]", "sizePerThread = []"),
        ("order = [1, 0]", "order = [7, 9]"),
        ("order = [1, 0]", "order = [0, 0]"),
        ("threadsPerWarp = [4, 8]", "threadsPerWarp = [4, 8, 2]"),
        ("threadsPerWarp = [4, 8]", "threadsPerWarp = [3, 7]"),
        ("warpsPerCTA = [8, 1]", "warpsPerCTA = [0, 1]"),
        ("warpsPerCTA = [8, 1]", "warpsPerCTA = [-8, 1]"),
        ("instrShape = [16, 128, 16]", "instrShape = [16]"),
        ("instrShape = [16, 128, 16]", "instrShape = [0, 0, 0]"),
        ("swizzlingByteWidth = 128", "swizzlingByteWidth = 24"),
        ("swizzlingByteWidth = 128", "swizzlingByteWidth = -32"),
        ("elementBitWidth = 16", "elementBitWidth = 0"),
        ("elementBitWidth = 16", "elementBitWidth = 7"),
        ("dim = 1, parent", "dim = 5, parent"),
        ("128x64xf16", "0x64xf16"),
        ("128x64xf16", "100x60xf16"),
        ("f16", "i1"),
        ("f16", "f4E2M1FN"),
    ],
)
def test_strange_layouts_are_left_alone(before: str, after: str, capsys: Capture):
    text = PLAIN.read_text(encoding="utf-8")
    assert before in text
    Path("strange.ttgir").write_text(text.replace(before, after), encoding="utf-8")
    assert main(["layouts", "strange.ttgir"]) == 0
    assert main(["layouts", "--set", "a=swizzle:64", "strange.ttgir"]) in (0, 1, 2)
    assert "Traceback" not in capsys.readouterr().err


def test_a_kernel_of_scalars(capsys: Capture):
    Path("k.ttgir").write_text("module {\ntt.func public @k(%i: i32) {\ntt.return\n}\n}\n")
    assert main(["layouts", "k.ttgir"]) == 0
    assert capsys.readouterr().out.split("\n\n")[1:] == [
        "Buffers\n  none",
        "Tensors\n  none that the source names",
        "Conversions in registers\n  none\n",
    ]
    assert main(["layouts", "--set", "a=none", "k.ttgir"]) == 2
    assert "k.ttgir has no buffer a: it has none." in capsys.readouterr().err


def test_the_documentation_shows_what_is_printed(capsys: Capture, monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("triton")
    monkeypatch.undo()
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(DATA)
    blocks = [part.splitlines() for part in (ROOT / "docs" / "layouts.md").read_text(encoding="utf-8").split("```")]
    shown = [block[1:] for block in blocks[1::2] if len(block) > 1 and block[1].startswith("$ ")]
    assert len(shown) == 2
    for command, *lines in shown:
        assert main(command.removeprefix("$ tlxviz ").split()) == 0
        printed = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
        for line in lines:
            assert line == "..." or line in printed
