"""Runs cases of `tutorial_driver` in the simulator."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import tutorial_driver
from kernel_runner import h200

from tlxviz import _triton
from tlxviz.devices.model import Device
from tlxviz.launch.script import run_script
from tlxviz.sim.recorder import SimulatedRecorder

DRIVER = Path(__file__).with_name("tutorial_driver.py")


def run(
    name: str, case: str, options: dict[str, Any], *, values: bool = True, device: Device | None = None
) -> SimulatedRecorder:
    """Runs a case of a tutorial, on the H200 by default; skips the test where the installed TLX has no such one."""
    if not (tutorial_driver.folder() / f"{name}.py").exists():
        assert _triton.toolchain().distribution != "fbtriton"
        pytest.skip(f"triton-utlx has no tutorial {name}")
    gpu = device or h200()
    recorder = SimulatedRecorder(gpu, values=values)
    status = run_script(DRIVER, [name, case, json.dumps(options)], gpu, recorder.execute)
    assert status == 0 or not values  # without values, outputs hold what was in memory before
    return recorder
