"""Microbenchmarks on the GPU that is there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tlxviz.commands import main
from tlxviz.devices import read_device

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import torch

    if torch.cuda.get_device_capability() != (9, 0):
        pytest.skip("the microbenchmarks are for Hopper")
    folder = tmp_path_factory.mktemp("calibration")
    assert main(["calibrate", "-o", f"{folder}/mine.toml", "--measurements", f"{folder}/all.json"]) == 0
    return folder


def test_every_benchmark_ends_well(folder: Path) -> None:
    assert json.loads((folder / "all.json").read_text())["failures"] == {}


def test_what_every_hopper_gpu_has(folder: Path) -> None:
    device = read_device(folder / "mine.toml")
    assert device.tensor_core.fp16 == pytest.approx(4096, rel=0.01)
    assert device.tensor_core.fp8 == pytest.approx(8192, rel=0.01)
    assert device.alu.mufu == pytest.approx(16, rel=0.01)
    assert device.alu.fp32 == pytest.approx(128, rel=0.03)
    assert device.memory.shared_bytes_per_cycle == pytest.approx(128, rel=0.01)
    assert device.memory.l1_latency_cycles < device.memory.l2_latency_cycles < device.memory.dram_latency_cycles


def test_repeats_agree(folder: Path) -> None:
    measurements = json.loads((folder / "all.json").read_text())["measurements"]
    for each in measurements:
        if each["law"] in ("wgmma.interval", "wgmma.completion", "mbarrier.ping_pong", "shared.latency"):
            assert each["high"] <= 1.1 * each["low"], each
