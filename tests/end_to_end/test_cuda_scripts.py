"""Scripts that use what `torch.cuda` has beside kernels print what they print on a GPU."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = Path(__file__).parent / "scripts" / "cuda"
NAMES = ["streams", "graph", "training", "library", "tensors"]


def stdout(folder: Path, *command: object) -> str:
    environment = os.environ | {"COLUMNS": "80"}
    done = subprocess.run(
        [sys.executable, *map(str, command)], cwd=folder, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", NAMES)
def test_with_no_gpu(tmp_path: Path, name: str) -> None:
    printed = stdout(tmp_path, ROOT / "cli.py", "run", "--device", "sim:h200", "-q", SCRIPTS / f"{name}.py")
    expected = (SCRIPTS / f"{name}.txt").read_text(encoding="utf-8")
    assert printed[: len(expected)] == expected
    report = printed[len(expected) :].lstrip()
    assert report.startswith("Launch 0\n") or " on NVIDIA H200 SXM, simulated\n" in report.splitlines(True)[0]


@pytest.mark.gpu
@pytest.mark.parametrize("name", NAMES)
def test_on_a_gpu(tmp_path: Path, name: str) -> None:
    assert stdout(tmp_path, SCRIPTS / f"{name}.py") == (SCRIPTS / f"{name}.txt").read_text(encoding="utf-8")
