from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest
from analysis.synthetic_traces import pipeline

from tlxviz.commands import main, terminal
from tlxviz.trace import Trace, save_trace

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "it.tlxtrace"
    save_trace(Trace([pipeline()]), path)
    return path


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("TERM", "xterm-256color")


def test_it_needs_a_terminal(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["view", str(trace)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == (
        f"tlxviz: error: view needs a terminal, and stdout is none: for text there is tlxviz report {trace}.\n"
    )


def truncated(path: Path) -> None:
    save_trace(Trace([pipeline()]), path)
    path.write_bytes(path.read_bytes()[:-200])


@pytest.mark.parametrize(
    ("make", "words", "says"),
    [
        (lambda path: None, [], "there is no file"),
        (lambda path: path.mkdir(), [], "is a folder"),
        (lambda path: path.write_text(""), [], "is empty"),
        (lambda path: path.write_text("x"), [], "is not a trace"),
        (truncated, [], "damaged"),
        (lambda path: save_trace(Trace(), path), [], "holds no launch"),
        (lambda path: save_trace(Trace([pipeline()]), path), ["--launch", "1"], "it holds only launch 0"),
        (lambda path: save_trace(Trace([pipeline()] * 2), path), ["--launch", "-1"], "it holds 0 to 1"),
        (lambda path: save_trace(Trace([pipeline()]), path), ["--theme", "pink"], "invalid choice: 'pink'"),
    ],
)
def test_what_cannot_be_viewed(make, words, says: str, tmp_path: Path, capsys, monkeypatch) -> None:
    monkeypatch.setattr(terminal, "is_terminal", lambda stream: True)
    path = tmp_path / "it.tlxtrace"
    make(path)
    assert main(["view", str(path), *words]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("tlxviz: error: ")
    assert says in captured.err


def test_a_trace_of_a_newer_version(trace: Path, capsys, monkeypatch) -> None:
    monkeypatch.setattr(terminal, "is_terminal", lambda stream: True)
    with zipfile.ZipFile(trace) as archive:
        manifest = json.loads(archive.read("manifest.json"))
    with zipfile.ZipFile(trace, "w") as archive:
        archive.writestr("manifest.json", json.dumps(manifest | {"version": [2, 0]}))
    assert main(["view", str(trace)]) == 3
    assert "newer than this tlxviz reads" in capsys.readouterr().err


def test_keys_that_are_wrong(trace: Path, tmp_path: Path, capsys, monkeypatch) -> None:
    monkeypatch.setattr(terminal, "is_terminal", lambda stream: True)
    keys = tmp_path / "config" / "tlxviz" / "keys.toml"
    keys.parent.mkdir(parents=True)
    keys.write_text('[keys]\nfly = "f"\n')
    assert main(["view", str(trace)]) == 2
    assert f"{keys}, line 2: there is no action 'fly'" in capsys.readouterr().err


def test_a_dumb_terminal(trace: Path, capsys, monkeypatch) -> None:
    monkeypatch.setattr(terminal, "is_terminal", lambda stream: True)
    monkeypatch.setenv("TERM", "dumb")
    assert main(["view", str(trace)]) == 2
    assert "TERM" in capsys.readouterr().err


def in_a_terminal(*words: str, keys: bytes) -> tuple[int, bytes]:
    """Runs the program on a terminal of its own, presses keys when it has drawn, and gives back status and output."""
    ours, theirs = pty.openpty()
    environment = os.environ | {"COLUMNS": "80", "LINES": "24", "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        [sys.executable, "-m", "tlxviz", *words], stdin=theirs, stdout=theirs, stderr=theirs, env=environment
    )
    os.close(theirs)
    seen, sent, until = b"", False, time.monotonic() + 60
    while time.monotonic() < until:
        ready, _, _ = select.select([ours], [], [], 0.2)
        if ready:
            try:
                data = os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
            seen += data
        elif process.poll() is not None:
            break
        if not sent and b"quit" in seen:
            os.write(ours, keys)
            sent = True
    status = process.wait(10)
    os.close(ours)
    return status, seen


def test_in_a_terminal(trace: Path, tmp_path: Path) -> None:
    status, seen = in_a_terminal("view", str(trace), keys=b"zq")
    assert status == 0
    assert b"pipeline" in seen
    assert b"Traceback" not in seen
    kept = list((tmp_path / "state" / "tlxviz" / "views").iterdir())
    assert [path.suffix for path in kept] == [".json"]
    assert '"cursor": 40' in kept[0].read_text()
