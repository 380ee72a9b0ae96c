"""A script can name the device that it is simulated on."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis.synthetic_traces import pipeline
from commands.fake_backend import FakeBackend, FakeGpu

from tlxviz.commands import main
from tlxviz.commands.choices import simulated_device
from tlxviz.commands.layouts import LayoutsCommand
from tlxviz.commands.run import RunCommand
from tlxviz.commands.script_device import device_of_script

KNOWN = ("b200", "h200")
KERNELS = Path(__file__).resolve().parents[2] / "kernels"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def script(text: str) -> Path:
    path = Path("script.py")
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("text", "device"),
    [
        ('TLXVIZ_DEVICE = "sim:b200"\n', "sim:b200"),
        ('TLXVIZ_DEVICE: str = "sim:b200"\n', "sim:b200"),
        ('TLXVIZ_DEVICE = "sim:h100"\nTLXVIZ_DEVICE = "sim:b200"\n', "sim:b200"),
        ('DEVICE = "sim:b200"\n', None),
        ('def f():\n    TLXVIZ_DEVICE = "sim:b200"\n', None),
        ("TLXVIZ_DEVICE = chosen()\n", None),
        ('TLXVIZ_DEVICE = "sim:b200\n', None),
        ('raise SystemExit  # it is not run\nTLXVIZ_DEVICE = "sim:b200"\n', "sim:b200"),
    ],
)
def test_what_counts(text: str, device: str | None) -> None:
    assert device_of_script(script(text)) == device


def test_a_file_that_is_not_there_or_no_text(folder: Path) -> None:
    assert device_of_script(folder / "absent.py") is None
    (folder / "binary.py").write_bytes(b"\0\xff\xfe")
    assert device_of_script(folder / "binary.py") is None


def test_only_auto_without_a_gpu_asks_the_script() -> None:
    named = script('TLXVIZ_DEVICE = "sim:b200"\n')
    assert simulated_device("auto", KNOWN, lambda: "none here", named) == "b200"
    assert simulated_device("sim:h200", KNOWN, lambda: "none here", named) == "h200"
    assert simulated_device("auto", KNOWN, lambda: None, named) is None
    assert simulated_device("auto", KNOWN, lambda: "none here") == "h200"


@pytest.mark.parametrize("wrong", ["sim:b300", "cuda", "auto", "b200", ""])
def test_a_device_that_there_is_not(wrong: str, capsys: pytest.CaptureFixture[str]) -> None:
    script(f'TLXVIZ_DEVICE = "{wrong}"\nlaunch()\n')
    backend = FakeBackend([pipeline()])
    assert main(["run", "script.py"], commands=[RunCommand(backend, FakeGpu("none here"))]) == 2
    expected = f"there is no device {wrong!r}, which TLXVIZ_DEVICE of script.py names. Devices: sim:h100, sim:h200.\n"
    assert capsys.readouterr().err == f"tlxviz: error: {expected}"


def test_run_takes_it() -> None:
    script('TLXVIZ_DEVICE = "sim:h100"\nlaunch()\n')
    backend = FakeBackend([pipeline()])
    assert main(["run", "-q", "script.py"], commands=[RunCommand(backend, FakeGpu("none here"))]) == 0
    assert backend.device is not None
    assert backend.device.name == "h100"


def test_layouts_takes_it() -> None:
    """That nothing is launched is told after the script has run."""
    script('TLXVIZ_DEVICE = "sim:h100"\n')
    backend = FakeBackend([])
    assert main(["layouts", "-q", "script.py"], commands=[LayoutsCommand(backend)]) == 2
    assert backend.device is not None
    assert backend.device.name == "h100"


@pytest.mark.parametrize("path", sorted(KERNELS.glob("*.py")), ids=lambda path: path.stem)
def test_kernels_for_blackwell_name_it(path: Path) -> None:
    assert device_of_script(path) == ("sim:b200" if path.stem.startswith("blackwell") else None)
