"""Data files that a calibration writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tlxviz.calibrate.data_file import Base, base_of, file_name, written
from tlxviz.calibrate.figures import Figure
from tlxviz.devices import load_device, read_device
from tlxviz.devices.file import FOLDER


def test_the_file_of_the_device_itself() -> None:
    base = base_of("NVIDIA H200", (9, 0))
    assert base == Base("h200", same=True)
    assert file_name("NVIDIA H200", base) == "h200.toml"


@pytest.mark.parametrize(
    ("cuda_name", "capability", "name"),
    [
        ("NVIDIA H100 PCIe", (9, 0), "h100_pcie.toml"),
        ("NVIDIA GeForce RTX 4090", (8, 9), "geforce_rtx_4090.toml"),
        ("NVIDIA", (9, 0), "nvidia.toml"),
        ("???", (9, 0), "gpu.toml"),
    ],
)
def test_a_device_that_is_not_shipped(cuda_name: str, capability: tuple[int, int], name: str) -> None:
    base = base_of(cuda_name, capability)
    assert not base.same
    assert file_name(cuda_name, base) == name


def test_nothing_measured_changes_nothing() -> None:
    text = written(Base("h200", same=True), "h200", "NVIDIA H200", (9, 0), {})
    assert text == (FOLDER / "h200.toml").read_text(encoding="utf-8")


def test_figures_replace_value_and_source(tmp_path: Path) -> None:
    source = 'measured: a "quoted" µ'
    path = tmp_path / "mine.toml"
    path.write_text(
        written(Base("h200", same=True), "mine", "NVIDIA H200", (9, 0), {"tma.issue_cycles": Figure(14.5, source)}),
        encoding="utf-8",
    )
    device, shipped = read_device(path), load_device("h200")
    assert (device.name, device.title) == ("mine", shipped.title)
    assert device.tma.issue_cycles == 14.5
    assert device.sources["tma.issue_cycles"] == source
    assert device.alu == shipped.alu
    assert {name for name in device.sources if device.sources[name] != shipped.sources[name]} == {"tma.issue_cycles"}


def test_figures_of_another_device_stand_in(tmp_path: Path) -> None:
    path = tmp_path / "h100_pcie.toml"
    figures = {"limits.sms": Figure(114, "CUDA driver")}
    path.write_text(written(Base("h100", same=False), "h100_pcie", "NVIDIA H100 PCIe", (9, 0), figures))
    device = read_device(path)
    assert (device.title, device.cuda_name, device.limits.sms) == ("NVIDIA H100 PCIe", "NVIDIA H100 PCIe", 114)
    for name, source in device.sources.items():
        assert name == "limits.sms" or source.startswith(("assumed", "stand-in"))
    assert path.read_text().splitlines()[0] == (
        "# NVIDIA H100 PCIe, measured by 'tlxviz calibrate'; the rest stands in from h100.toml."
    )
