"""`tlxviz run --compare-sim`, with a fake GPU and a fake simulator."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from analysis.synthetic_traces import MEASURED, pipeline
from commands.fake_backend import FakeBackend, FakeCall, FakeGpu

from tlxviz._errors import TlxvizError
from tlxviz.commands import main
from tlxviz.commands.run import RunCommand
from tlxviz.trace import load_trace

pytest.importorskip("torch")  # which the handler of launches stands on


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "script.py").write_text("launch()\n")
    return tmp_path


def call(measured: int, simulated: int, fault: BaseException | None = None, kernel: str = "pipeline") -> FakeCall:
    """A launch of so many cycles on the GPU and simulated."""
    made = pipeline(cycles=measured, kernel=kernel, provenance=MEASURED)
    return FakeCall.of((made, None), (pipeline(cycles=simulated, kernel=kernel), fault))


def run(calls: list[Any], *words: str) -> tuple[int, FakeBackend]:
    backend = FakeBackend()
    return main(["run", *words, "script.py"], commands=[RunCommand(backend, FakeGpu(launches=calls))]), backend


def test_the_simulated_launch_is_kept_and_compared(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, backend = run([call(1280, 1250)], "--compare-sim", "--ctas", "0:2")
    assert status == 0
    captured = capsys.readouterr()
    assert captured.err == (
        "trace: script.tlxtrace\nnext:  tlxviz report script.tlxtrace\n       tlxviz view script.tlxtrace\n"
        "trace: script.sim.tlxtrace\nnext:  tlxviz diff script.tlxtrace script.sim.tlxtrace\n"
    )
    assert "A  script.tlxtrace: pipeline on NVIDIA H200 SXM, measured\n" in captured.out
    assert "B takes 2.3% less time than A: 1,250 cycles against 1,280 (-30, -30 ns)." in captured.out
    assert "Errors of the simulator" in captured.out
    assert load_trace(folder / "script.sim.tlxtrace").launches[0].cycles == 1250
    assert (backend.options["values"], backend.options["ctas"]) == (False, (0, 1))


def test_json_is_one_line_more(capsys: pytest.CaptureFixture[str]) -> None:
    run([call(1280, 1250)], "--compare-sim", "--json", "-q")
    report, diff = map(json.loads, capsys.readouterr().out.splitlines())
    assert report["schema"] == "tlxviz.report"
    assert diff["launches"][0]["accuracy"]["error"] == -30


def test_what_cannot_be_simulated_is_recorded_all_the_same(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "script.py").write_text("launch()\nlaunch()\n")
    failing = FakeCall.of(call(1280, 0)[:2], (pipeline(kernel="left out"), TlxvizError("no such operation.")))
    command = RunCommand(FakeBackend(recorded=["pipeline"]), FakeGpu(launches=[failing, call(1270, 1250)]))
    with pytest.warns(UserWarning, match="no such operation"):
        main(["run", "--compare-sim", "-q", "--json", "script.py"], commands=[command])
    assert len(load_trace(folder / "script.tlxtrace").launches) == 2
    assert len(load_trace(folder / "script.sim.tlxtrace").launches) == 1
    (found,) = json.loads(capsys.readouterr().out.splitlines()[-1])["launches"]
    assert (found["a"]["cycles"], found["b"]["cycles"]) == (1270, 1250)


def test_no_file_is_overwritten(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "x.sim.tlxtrace").write_text("mine")
    assert run([call(1280, 1250)], "--compare-sim", "-o", "x.tlxtrace")[0] == 2
    assert "x.sim.tlxtrace exists" in capsys.readouterr().err
    assert not (folder / "x.tlxtrace").exists()
    assert run([call(1280, 1250)], "--compare-sim", "-q", "-f", "-o", "x.tlxtrace")[0] == 0
    assert load_trace(folder / "x.sim.tlxtrace").launches


def test_it_is_for_recordings_on_a_gpu(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([], "--device", "sim:h200", "--compare-sim")[0] == 2
    assert "--compare-sim is for recordings on a GPU" in capsys.readouterr().err


def test_without_the_option_nothing_is_simulated(folder: Path) -> None:
    _, backend = run([call(1280, 1250)], "-q")
    assert backend.options == {}
    assert not (folder / "script.sim.tlxtrace").exists()
