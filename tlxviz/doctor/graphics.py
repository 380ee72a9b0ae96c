"""The GPU, which tlxviz does without, and Graphviz."""

from __future__ import annotations

import shutil
import subprocess

from tlxviz.doctor.model import Machine, Outcome, ok, warning
from tlxviz.doctor.packages import version_of
from tlxviz.doctor.registry import check

_SECONDS = 10


@check("gpu", "GPU")
def _gpu(machine: Machine) -> Outcome:
    told = _output("nvidia-smi", "--query-gpu=name,compute_cap,driver_version", "--format=csv,noheader")
    rows = [[part.strip() for part in line.split(",")] for line in told.splitlines()]
    gpus = [f"{row[0]}, compute capability {row[1]}, driver {row[2]}" for row in rows if len(row) == 3]
    if not gpus:
        known = machine.imported("torch").facts.get("gpus", [])
        gpus = [f"{gpu['name']}, compute capability {gpu['capability']}" for gpu in known]
    return ok("; ".join(gpus) if gpus else "none; kernels are simulated, which needs none")


@check("graphviz", "Graphviz")
def _graphviz(machine: Machine) -> Outcome:
    package = version_of("graphviz")
    python = f"the Python package {package}" if package else "no Python package graphviz"
    if shutil.which("dot") is None:
        pure = version_of("graphviz-pure")
        if pure:
            return ok(f"graphviz-pure {pure}, which draws SVG and PNG but no PDF; {python}")
        return warning(
            f"dot is not on PATH; {python}", "to draw graphs: apt-get install graphviz, or pip install graphviz-pure"
        )
    version = _output("dot", "-V").strip().removeprefix("dot - graphviz version ") or "of unknown version"
    return ok(f"dot {version}; {python}")


def _output(*command: str) -> str:
    """What a program prints; nothing where it is missing, fails or hangs."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout or done.stderr


CHECKS = (_gpu, _graphviz)
