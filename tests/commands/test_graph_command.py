from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest
from analysis.synthetic_traces import pipeline
from commands.fake_backend import FakeBackend

from tlxviz.commands import main
from tlxviz.commands.graph import KIND_NAMES, GraphCommand
from tlxviz.diagrams.kinds import KINDS
from tlxviz.trace import LaunchTrace, Trace, save_trace

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "diagrams" / "data"
GEMM = DATA / "hopper_gemm_ws.ttgir"


def launch_of(name: str, kernel: str) -> LaunchTrace:
    made = pipeline(kernel=kernel)
    made.ttgir = (DATA / f"{name}.ttgir").read_text(encoding="utf-8")
    return made


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, and a PATH and a Python beside which nothing draws."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin" / "python"))
    (tmp_path / "bin").mkdir()
    return tmp_path


def draws(name: str, script: str) -> None:
    """A program on PATH in the place of Graphviz."""
    path = Path(os.environ["PATH"]) / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def test_dot_of_a_ttgir_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["graph", "-o", "a.dot", str(GEMM)]) == 0
    assert Path("a.dot").read_text() == (DATA / "hopper_gemm_ws.pipeline.dot").read_text()
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "graph: a.dot\n")


def test_a_ttgir_file_of_an_editor_on_windows() -> None:
    Path("a.ttgir").write_text(GEMM.read_text(encoding="utf-8"), encoding="utf-8-sig", newline="\r\n")
    assert main(["graph", "-o", "a.dot", "a.ttgir"]) == 0
    assert Path("a.dot").read_text() == (DATA / "hopper_gemm_ws.pipeline.dot").read_text()


def test_table_of_barriers() -> None:
    assert main(["graph", "--kind", "barriers", "-q", "-o", "a.dot", str(GEMM)]) == 0
    assert Path("a.dot").read_text() == (DATA / "hopper_gemm_ws.barriers.dot").read_text()


def test_picture_lies_beside_a_trace_and_gets_a_number(elsewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    draws("dot", 'echo "$@"; /bin/cat > /dev/null')
    folder = elsewhere / "folder"
    folder.mkdir()
    save_trace(Trace([launch_of("plain_gemm", "plain")]), folder / "x.tlxtrace")
    for _ in range(2):
        assert main(["graph", "folder/x.tlxtrace"]) == 0
    assert capsys.readouterr().err == "graph: folder/x.pipeline.svg\ngraph: folder/x.pipeline.1.svg\n"
    assert (folder / "x.pipeline.1.svg").read_text() == "-Tsvg\n"


def test_suffix_chooses_the_format() -> None:
    draws("dot", 'echo "$1"; /bin/cat > /dev/null')
    for format_ in ("svg", "png", "pdf"):
        assert main(["graph", "-o", f"a.{format_}", str(GEMM)]) == 0
        assert Path(f"a.{format_}").read_text() == f"-T{format_}\n"


def test_graphviz_pure_draws_where_there_is_no_dot() -> None:
    draws("graphviz-pure", "echo pure; /bin/cat > /dev/null")
    assert main(["graph", "-o", "a.svg", str(GEMM)]) == 0
    assert Path("a.svg").read_text() == "pure\n"


def test_without_a_renderer_the_dot_is_kept(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.dot").write_text("mine")
    assert main(["graph", "-o", "a.svg", str(GEMM)]) == 3
    assert capsys.readouterr().err == (
        "tlxviz: error: no SVG was drawn: Graphviz is not installed: apt-get install graphviz or pip install "
        "graphviz-pure.\nThe graph is kept as a.1.dot; with Graphviz: dot -Tsvg -O a.1.dot\n"
    )
    assert Path("a.dot").read_text() == "mine"
    assert Path("a.1.dot").read_text() == (DATA / "hopper_gemm_ws.pipeline.dot").read_text()
    assert not Path("a.svg").exists()


def test_graphviz_pure_draws_no_pdf(capsys: pytest.CaptureFixture[str]) -> None:
    draws("graphviz-pure", "echo pure; /bin/cat > /dev/null")
    assert main(["graph", "-o", "a.pdf", str(GEMM)]) == 3
    assert "apt-get install graphviz, which alone writes PDF" in capsys.readouterr().err
    assert Path("a.dot").exists()
    assert not Path("a.pdf").exists()


def test_renderer_that_fails(capsys: pytest.CaptureFixture[str]) -> None:
    draws("dot", 'echo "no memory" >&2; exit 1')
    assert main(["graph", "-o", "a.svg", str(GEMM)]) == 3
    assert "no SVG was drawn: dot failed: no memory.\n" in capsys.readouterr().err
    assert Path("a.dot").exists()


def test_nothing_is_overwritten(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.dot").write_text("mine")
    assert main(["graph", "-o", "a.dot", str(GEMM)]) == 2
    assert Path("a.dot").read_text() == "mine"
    assert "a.dot exists. Give --force to overwrite it, or another name with -o." in capsys.readouterr().err
    assert main(["graph", "-f", "-o", "a.dot", str(GEMM)]) == 0
    assert Path("a.dot").read_text().startswith("digraph")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-o", "a.jpg", str(GEMM)], "cannot write a.jpg: the name of a picture ends in .svg, .png, .pdf or .dot."),
        (["none.ttgir"], "there is no file none.ttgir."),
        (["none.tlxtrace"], "there is no file none.tlxtrace."),
        (["none.py"], "there is no script none.py."),
        (["."], ". is a folder, not a script."),
        ([str(GEMM), "--kind"], "takes no arguments, and there is --kind. Options stand before the file."),
        (["bytes.ttgir"], "bytes.ttgir is not TTGIR: it is not text in UTF-8."),
        (["text.ttgir"], "text.ttgir:1:1: "),
        (["empty.ttgir"], "empty.ttgir:1:1: the module holds no `tt.func`"),
        (["-o", "nowhere/a.svg", str(GEMM)], "cannot write nowhere/a.svg: nowhere does not exist."),
    ],
)
def test_what_cannot_be_drawn(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("bytes.ttgir").write_bytes(b"\xff\xfe")
    Path("text.ttgir").write_text("hello\n")
    Path("empty.ttgir").write_text("module {\n}\n")
    assert main(["graph", *arguments]) == 2
    assert said in capsys.readouterr().err
    assert sorted(path.name for path in Path().iterdir()) == ["bin", "bytes.ttgir", "empty.ttgir", "text.ttgir"]


def test_kernel_and_launch_of_a_trace(capsys: pytest.CaptureFixture[str]) -> None:
    save_trace(Trace([launch_of("plain_gemm", "plain"), launch_of("hopper_gemm_ws", "ws")]), "x.tlxtrace")
    assert main(["graph", "-o", "first.dot", "x.tlxtrace"]) == 0
    assert capsys.readouterr().err == "drawn is plain; --kernel NAME draws ws\ngraph: first.dot\n"
    assert main(["graph", "--kernel", "w*", "-o", "kernel.dot", "x.tlxtrace"]) == 0
    assert main(["graph", "--launch", "1", "-o", "launch.dot", "x.tlxtrace"]) == 0
    assert "Pipeline of plain_gemm" in Path("first.dot").read_text()
    assert "Pipeline of hopper_gemm_ws" in Path("kernel.dot").read_text()
    assert Path("launch.dot").read_text() == Path("kernel.dot").read_text()
    assert main(["graph", "--kernel", "z", "x.tlxtrace"]) == 2
    assert "x.tlxtrace has no launch of z: it has plain, ws." in capsys.readouterr().err
    assert main(["graph", "--launch", "0", "--kernel", "w*", "x.tlxtrace"]) == 2
    assert "launch 0 of x.tlxtrace is of plain, not of w*." in capsys.readouterr().err
    assert main(["graph", "-q", "-f", "--launch", "1", "--kernel", "w*", "-o", "launch.dot", "x.tlxtrace"]) == 0


def test_trace_without_ttgir(capsys: pytest.CaptureFixture[str]) -> None:
    made = pipeline()
    made.ttgir = ""
    save_trace(Trace([made]), "x.tlxtrace")
    assert main(["graph", "-o", "a.dot", "x.tlxtrace"]) == 2
    assert "x.tlxtrace holds no TTGIR of pipeline" in capsys.readouterr().err


def test_script_that_fails_after_its_launch_is_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    Path("script.py").write_text("import sys\nlaunch()\nprint(sys.argv[1])\nsys.exit(1)\n")
    backend = FakeBackend([launch_of("plain_gemm", "plain")])
    assert main(["graph", "-o", "a.dot", "script.py", "word"], [GraphCommand(backend)]) == 0
    assert capsys.readouterr().out == "word\n"
    assert backend.options["values"] is False
    assert "Pipeline of plain_gemm" in Path("a.dot").read_text()


def test_script_that_launches_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    Path("script.py").write_text("pass\n")
    assert main(["graph", "script.py"], [GraphCommand(FakeBackend())]) == 2
    assert "script.py launched no kernel, so there is nothing to show." in capsys.readouterr().err
    assert not list(Path().glob("*.svg"))


TRACE = DATA / "hopper_gemm_ws.tlxtrace"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["--kind", "stalls", str(GEMM)],
            "stalls shows what happened in a launch: give a trace or a script, not a .ttgir",
        ),
        (["--kind", "stalls", "--cta", "0", str(TRACE)], "--cta is for --kind iteration or timeline."),
        (["--iteration", "0", str(TRACE)], "pipeline shows no part of one CTA's time: --iterations is for"),
        (
            ["--kind", "iteration", "--iterations", "1:3", str(TRACE)],
            "give --iteration N, or --kind timeline for several.",
        ),
        (["--kind", "iteration", "--iteration", "-1", str(TRACE)], "'-1' is no number from 0 on"),
        (["--kind", "timeline", "--iterations", "3:1", str(TRACE)], "names no iterations: write 4:8 for 4 to 7"),
        (["--kind", "timeline", "--iterations", "1:2", "--iteration", "1", str(TRACE)], "not allowed with argument"),
        (["--kind", "timeline", "--cta", "1", str(TRACE)], "CTA 1 was not traced: there is 0."),
        (["--device", "sim:h100", str(TRACE)], f"--device is for a script, and {TRACE} is none."),
        (["--device", "sim:h100", str(GEMM)], f"--device is for a script, and {GEMM} is none."),
        (["--kernel", "x", str(GEMM)], f"--kernel is for a trace or a script, and {GEMM} is none."),
        (["--launch", "0", str(GEMM)], f"--launch is for a trace or a script, and {GEMM} is none."),
        (["-m", "package/module"], "there is no module package/module to run."),
    ],
)
def test_what_kinds_cannot_show(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["graph", "-o", "a.dot", *arguments]) == 2
    assert said in capsys.readouterr().err
    assert not Path("a.dot").exists()


def test_options_of_iterations() -> None:
    assert main(["graph", "-q", "--kind", "iteration", "--iteration", "4", "-o", "a.dot", str(TRACE)]) == 0
    assert "Iteration 4 of mma.0 in hopper_gemm_ws" in Path("a.dot").read_text()
    assert (
        main(["graph", "-qf", "--kind", "timeline", "--cta", "0", "--iterations", "4:6", "-o", "a.dot", str(TRACE)])
        == 0
    )
    assert "Iterations 4 to 5 of mma.0 in hopper_gemm_ws" in Path("a.dot").read_text()


def test_module_is_run(elsewhere: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.syspath_prepend(str(elsewhere))
    (elsewhere / "drawings").mkdir()
    (elsewhere / "drawings" / "__init__.py").write_text("")
    (elsewhere / "drawings" / "drawn.py").write_text("import sys\nlaunch()\nprint(__name__, sys.argv[1:])\n")
    draws("dot", 'echo "$@"; /bin/cat > /dev/null')
    backend = FakeBackend([launch_of("plain_gemm", "plain")])
    assert main(["graph", "-m", "drawings.drawn", "--m", "4"], [GraphCommand(backend)]) == 0
    captured = capsys.readouterr()
    assert captured.out == "__main__ ['--m', '4']\n"
    assert captured.err == "graph: drawn.pipeline.svg\n"


def test_the_command_knows_every_kind() -> None:
    assert set(KIND_NAMES) == set(KINDS)
