"""SIGTERM and SIGHUP leave no part of a file behind, and nobody who goes on drawing."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from analysis.synthetic_traces import pipeline
from commands.fake_backend import FakeBackend, FakeGpu

from tlxviz.commands import main
from tlxviz.commands.run import RunCommand
from tlxviz.trace import Trace, save_trace

TTGIR = Path(__file__).parents[1] / "diagrams" / "data" / "plain_gemm.ttgir"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT], ids=lambda each: each.name)
@pytest.mark.parametrize(
    "words",
    [
        ["export", "--to", "csv", "x.tlxtrace"],
        ["export", "-f", "-o", "x.svg", "x.tlxtrace"],
        ["graph", "-o", "a.dot", str(TTGIR)],
        ["run", "--device", "sim:h200", "x.py"],
    ],
    ids=["numbered", "forced", "graph", "run"],
)
def test_a_signal_while_a_file_is_written(
    words: list[str],
    number: signal.Signals,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    save_trace(Trace([pipeline()]), "x.tlxtrace")
    Path("x.py").write_text("launch()\n")
    Path("x.svg").write_text("mine")
    before = {path.name: path.read_bytes() for path in Path().iterdir()}
    monkeypatch.setattr(os, "fsync", lambda _: signal.raise_signal(number))
    commands = {} if words[0] != "run" else {"commands": (RunCommand(FakeBackend([pipeline()]), FakeGpu("none")),)}
    assert main(words, **commands) == 128 + number
    said = "interrupted" if number is signal.SIGINT else "terminated"
    assert capsys.readouterr().err.endswith(f"tlxviz: error: {said}\n")
    assert {path.name: path.read_bytes() for path in Path().iterdir()} == before
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_signal_while_somebody_else_draws(tmp_path: Path) -> None:
    """In a process of its own: Graphviz's stand-in says that it has begun, and would draw for a minute."""
    drawer = tmp_path / "bin" / "dot"
    drawer.parent.mkdir()
    drawer.write_text("#!/bin/sh\necho $$ > drawing.new; mv drawing.new drawing; exec sleep 60\n")
    drawer.chmod(drawer.stat().st_mode | stat.S_IXUSR)
    path = os.pathsep.join((str(drawer.parent), os.environ["PATH"]))
    root = Path(__file__).parents[2]
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(root)}
    command = [sys.executable, "-m", "tlxviz", "graph", "-o", "a.svg", str(TTGIR)]
    with subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True) as process:
        until = time.monotonic() + 60
        while not (tmp_path / "drawing").exists() and time.monotonic() < until:
            time.sleep(0.05)
        process.terminate()
        _, said = process.communicate(timeout=30)
    assert (process.returncode, said) == (143, "tlxviz: error: terminated\n")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["bin", "drawing"]
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "drawing").read_text()), 0)
