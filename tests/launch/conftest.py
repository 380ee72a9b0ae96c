"""Runs scripts with an `execute` that only takes notes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

import pytest

pytest.importorskip("triton")
pytest.importorskip("torch")

from tlxviz.devices.file import load_device
from tlxviz.devices.model import Device
from tlxviz.launch.model import Launch, LaunchLog
from tlxviz.launch.script import run_script

PRELUDE = """\
import torch
import triton
import triton.language as tl


@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    total = tl.load(x_ptr + at, mask=inside) + tl.load(y_ptr + at, mask=inside)
    tl.store(out_ptr + at, total, mask=inside)


x = torch.ones(1000, device="cuda")
y = torch.ones(1000, device="cuda")
out = torch.zeros(1000, device="cuda")
"""


@dataclass
class Run:
    status: int
    launches: list[Launch]
    log: LaunchLog


@pytest.fixture(scope="session")
def device() -> Device:
    return load_device("h200")


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Write a script that begins with a kernel `add` and tensors `x`, `y` and `out`."""

    def write_script(body: str, *, prelude: str = PRELUDE, name: str = "script.py") -> Path:
        path = tmp_path / name
        path.write_text(prelude + dedent(body), encoding="utf-8")
        return path

    return write_script


@pytest.fixture
def run(write: Callable[..., Path], device: Device) -> Callable[..., Run]:
    """Run such a script and record its launches."""

    def run_body(body: str, *argv: str, first_config: bool = False, **options: str) -> Run:
        launches: list[Launch] = []
        log = LaunchLog()
        status = run_script(write(body, **options), argv, device, launches.append, log, first_config=first_config)
        return Run(status, launches, log)

    return run_body


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Triton has compiled nothing yet."""
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "cache"))
