from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from analysis.synthetic_traces import hung, pipeline

from tlxviz.commands import main
from tlxviz.trace import Trace, save_trace


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "two.tlxtrace"
    save_trace(Trace([pipeline(), pipeline(3, kernel="second")]), path)
    return path


def test_all_launches(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(trace)]) == 0
    captured = capsys.readouterr()
    assert "Launch 0\npipeline on NVIDIA H200 SXM, simulated\n" in captured.out
    assert "Launch 1\nsecond on" in captured.out
    assert captured.err == ""


def test_one_launch(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(trace), "--launch", "1"]) == 0
    assert capsys.readouterr().out.startswith("second on")


def test_json(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "--json", str(trace)]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [launch["kernel"] for launch in document["launches"]] == ["pipeline", "second"]


def test_json_does_not_depend_on_the_terminal(
    trace: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    main(["report", "--json", str(trace)])
    first = capsys.readouterr().out
    monkeypatch.setenv("COLUMNS", "200")
    main(["report", "--json", str(trace)])
    assert capsys.readouterr().out == first


def test_a_hang_is_a_finding(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save_trace(Trace([hung()]), tmp_path / "hung.tlxtrace")
    assert main(["report", str(tmp_path / "hung.tlxtrace")]) == 1
    assert "HANG at cycle 5,000 in CTA 0" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("make", "words", "says"),
    [
        (lambda path: None, [], "there is no file"),
        (lambda path: path.mkdir(), [], "is a folder"),
        (lambda path: path.write_text("x"), [], "is not a trace"),
        (lambda path: save_trace(Trace(), path), [], "holds no launch"),
        (lambda path: save_trace(Trace([pipeline()]), path), ["--launch", "1"], "it holds only launch 0"),
        (lambda path: save_trace(Trace([pipeline()] * 2), path), ["--launch", "-1"], "it holds 0 to 1"),
    ],
)
def test_what_cannot_be_reported(make, words: list[str], says: str, tmp_path: Path, capsys) -> None:
    path = tmp_path / "it.tlxtrace"
    make(path)
    assert main(["report", str(path), *words]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("tlxviz: error: ")
    assert says in captured.err


def test_a_script_is_to_be_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "kernel.py"
    script.write_text("print()\n")
    assert main(["report", str(script)]) == 2
    assert f"tlxviz run {script}" in capsys.readouterr().err


def tlxviz(*words: str, **environment: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "tlxviz", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | environment,
        cwd=Path(__file__).parents[2],
    )


def test_a_reader_that_has_gone_is_no_error(trace: Path) -> None:
    process = tlxviz("report", str(trace))
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    errors = process.stderr.read()
    assert (process.wait(60), errors) == (0, b"")
    process.stderr.close()


@pytest.mark.parametrize(("encoding", "shape"), [("utf-8", "█"), ("ascii", "#")])
def test_piped_it_is_plain(trace: Path, encoding: str, shape: str) -> None:
    out, errors = tlxviz("report", str(trace), PYTHONIOENCODING=encoding).communicate(timeout=60)
    text = out.decode(encoding)
    assert errors == b""
    assert "\x1b" not in text
    assert shape in text
    assert max(map(len, text.splitlines())) <= 80
