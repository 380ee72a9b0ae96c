"""The scripts of tests/faults: as modules, and their launches, which are handed on and not executed."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import torch

from tlxviz.devices.file import load_device
from tlxviz.devices.model import Device
from tlxviz.launch.model import Launch
from tlxviz.launch.script import run_script

CORPUS = Path(__file__).parents[1] / "faults"
sys.path.append(str(CORPUS))  # the scripts import `case`
FAULTS = sorted(path for path in CORPUS.glob("*.py") if path.stem != "case" and not path.stem.startswith("test_"))
CORRECT = sorted((CORPUS / "correct").glob("*.py"))


@dataclass(frozen=True)
class Executed:
    """What a launch is said to come to that was not executed."""

    cycles: int = 0
    sms: int = 1
    written: Sequence[Any] | None = None


def loaded(script: Path) -> ModuleType:
    """A script as a module, which runs nothing."""
    spec = importlib.util.spec_from_file_location(f"checked_{script.stem}", script)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@cache
def device_of(script: Path) -> Device:
    """The GPU that a script is for."""
    return load_device(getattr(loaded(script), "TLXVIZ_DEVICE", "sim:h100").removeprefix("sim:"))


def launches(script: Path, *arguments: str, tell: Callable[[Launch], object]) -> None:
    """Runs a script and tells of each launch. Nothing is computed, so that its own comparisons are left out."""

    def execute(launch: Launch) -> Executed:
        tell(launch)
        return Executed()

    with mock.patch.object(torch.testing, "assert_close"):
        run_script(script, arguments, device_of(script), execute)


@cache
def first_launch(name: str, *arguments: str) -> Launch:
    """The first launch of the script of that name."""
    found: list[Launch] = []
    script = next(path for path in (*FAULTS, *CORRECT) if path.stem == name)
    launches(script, *arguments, tell=found.append)
    return found[0]
