"""The verb: what it refuses, and the files that it writes."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tlxviz.calibrate import run
from tlxviz.calibrate.driver import NoGpu
from tlxviz.calibrate.results import Calibration, measured
from tlxviz.commands import main
from tlxviz.devices import read_device


@pytest.fixture
def gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """A GPU on which every benchmark finds the same; the benchmarks that were asked for, a list per run."""
    asked: list[list[str]] = []

    def calibrate(
        names: Sequence[str], told: Callable[[str], None], kept: Callable[[Calibration], None]
    ) -> Calibration:
        asked.append(list(names))
        found = Calibration({"cuda_name": "NVIDIA H200", "capability": [9, 0], "driver": "580", "date": "2026-12-02"})
        kept(found)
        found.measurements.append(measured("shared.latency", [23.0], op="ld.b32"))
        for name in names:
            told(f"{name}: 1 figures, 0.1 s")
            if name == "launch.turnover":
                found.failures[name] = "Fault: gave up"
        kept(found)
        return found

    monkeypatch.setattr(run, "calibrate", calibrate)
    monkeypatch.chdir(tmp_path)
    return asked


def test_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["calibrate", "--list", "--only", "wgmma.power"]) == 0
    assert capsys.readouterr().out == (
        "wgmma.power  What all SMs sustain for a second on zeros and on random numbers: FLOP per cycle, "
        "and the SM clock.\n"
    )


def test_an_unknown_benchmark(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["calibrate", "--only", "weather.*"]) == 2
    assert capsys.readouterr().err == (
        "tlxviz: error: no benchmark is called 'weather.*'. See 'tlxviz calibrate --list'.\n"
    )


def test_the_file_of_the_device(gpu: list[list[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["calibrate", "--only", "shared.*"]) == 0
    assert gpu == [["shared.latency", "shared.rate", "shared.conflicts", "shared.fence"]]
    device = read_device(tmp_path / "h200.toml")
    assert device.memory.shared_latency_cycles == 23
    assert device.sources["memory.shared_latency_cycles"].startswith("measured: tlxviz calibrate, 2026-12-02, ")
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines()[-2:] == [
        "1 figures measured: h200.toml",
        "simulate with them: tlxviz run --device sim:h200.toml script.py",
    ]


def test_measurements_and_failures(gpu: list[list[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["-o", "mine.toml", "--measurements", "all.json", "--json", "--only", "launch.turnover"]
    assert main(["calibrate", *arguments]) == 1
    out, err = capsys.readouterr()
    data: dict[str, Any] = json.loads(out)
    assert json.loads((tmp_path / "all.json").read_text()) == data
    assert data["failures"] == {"launch.turnover": "Fault: gave up"}
    assert data["measurements"][0]["law"] == "shared.latency"
    assert err.endswith("1 of 1 benchmarks failed: launch.turnover\n")
    assert read_device(tmp_path / "mine.toml").name == "mine"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-o", "mine.json"], "cannot write mine.json: the name of a data file ends in .toml."),
        (["-o", "no/mine.toml"], "cannot write no/mine.toml: no does not exist."),
        (["-o", "folder.toml"], "cannot write folder.toml: it is a folder."),
        (["-o", "taken.toml"], "taken.toml exists. Give --force to overwrite it, or another name."),
        (["--measurements", "taken.toml"], "taken.toml exists. Give --force to overwrite it, or another name."),
    ],
)
def test_outputs_that_cannot_be_written(
    gpu: list[list[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    (tmp_path / "folder.toml").mkdir()
    (tmp_path / "taken.toml").touch()
    assert main(["calibrate", *arguments]) == 2
    assert capsys.readouterr().err == f"tlxviz: error: {message}\n"
    assert gpu == []


def test_a_file_of_the_devices_name_is_kept(gpu: list[list[str]], tmp_path: Path) -> None:
    (tmp_path / "h200.toml").write_text("mine")
    assert main(["calibrate", "--only", "shared.*"]) == 2
    assert (tmp_path / "h200.toml").read_text() == "mine"
    assert main(["calibrate", "--only", "shared.*", "--force"]) == 0
    assert read_device(tmp_path / "h200.toml").memory.shared_latency_cycles == 23


def test_without_a_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def calibrate(*_: object) -> Calibration:
        raise NoGpu("calibrating needs an NVIDIA GPU, and the driver sees none.")

    monkeypatch.setattr(run, "calibrate", calibrate)
    monkeypatch.chdir(tmp_path)
    assert main(["calibrate"]) == 3
    assert capsys.readouterr().err == ("tlxviz: error: calibrating needs an NVIDIA GPU, and the driver sees none.\n")
    assert list(tmp_path.iterdir()) == []
