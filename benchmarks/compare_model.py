"""Compares the simulator's cycles with those measured on a GPU.

    python benchmarks/compare_model.py [benchmarks/data/h200.json]

Prints a table in Markdown. Cycles, not times: the clock moves with power. Values are off, so that the largest problem
takes less than a second.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tlxviz.devices import load_device  # noqa: E402
from tlxviz.launch.script import run_script  # noqa: E402
from tlxviz.sim.recorder import SimulatedRecorder  # noqa: E402

GEMM = """
import sys
sys.path.insert(0, {kernels!r})
import torch, {kernel}
a, b = (torch.empty(shape, dtype=torch.float16, device="cuda") for shape in (({m}, {k}), ({k}, {n})))
{kernel}.matmul(a, b, stages={stages})
"""
ATTENTION = """
import torch
from triton.language.extra.tlx.tutorials import {kernel}
q, k, v = (torch.empty(4, 16, {s}, 128, dtype=torch.float16, device="cuda") for _ in range(3))
{kernel}.attention(q, k, v, 0.5)
"""
SMALL = """
import sys
sys.path.insert(0, {benchmarks!r})
import torch, small_kernels
"""
VECTORS = (
    SMALL
    + """
small_kernels.vector_add(*(torch.empty({n}, device="cuda") for _ in range(2)))
"""
)
SOFTMAX = (
    SMALL
    + """
small_kernels.row_softmax(torch.empty({rows}, {columns}, dtype=torch.{dtype}, device="cuda"))
"""
)


CLUSTERS = """
import sys
sys.path.insert(0, {benchmarks!r})
import torch, cluster_kernels
"""
ALTERNATING = CLUSTERS + "cluster_kernels.alternating({rounds})"
MEETINGS = CLUSTERS + "cluster_kernels.meetings({rounds}, {ctas})"
SWAPPED = CLUSTERS + "cluster_kernels.swapped({rounds}, {size}, {copy})"
LAYER_NORM = (
    CLUSTERS
    + """
sizes = ({rows}, {columns}), ({columns},), ({columns},)
x, w, b = (torch.empty(*size, device="cuda", dtype=torch.float16) for size in sizes)
cluster_kernels.layer_norm(x, w, b, {ctas})
"""
)
PAIRED = (
    CLUSTERS
    + """
a, b = (torch.empty(*size, device="cuda", dtype=torch.float16) for size in (({m}, {k}), ({k}, {n})))
cluster_kernels.paired_gemm(a, b)
"""
)
TEMPLATES = {
    "vector_add": VECTORS,
    "row_softmax": SOFTMAX,
    "alternating": ALTERNATING,
    "meetings": MEETINGS,
    "swapped": SWAPPED,
    "layer_norm": LAYER_NORM,
    "paired_gemm": PAIRED,
}


def script_of(entry: dict[str, Any]) -> str:
    """A script that launches what was measured."""
    template = TEMPLATES.get(entry["kernel"], ATTENTION if "s" in entry else GEMM)
    return template.format(kernels=str(ROOT / "kernels"), benchmarks=str(ROOT / "benchmarks"), **entry)


def problem_of(entry: dict[str, Any]) -> str:
    """The problem of a measured entry, in a few words."""
    match entry["kernel"]:
        case "vector_add":
            return f"{entry['n']:,} numbers"
        case "row_softmax":
            return f"{entry['rows']} x {entry['columns']}, {entry['dtype']}"
        case "alternating":
            return f"pairs, {entry['rounds']} round trips"
        case "meetings":
            return f"{entry['ctas']} CTAs, {entry['rounds']} barriers"
        case "swapped":
            return (
                f"pairs, {entry['rounds']} times {4 * entry['size']:,} bytes, {'copies' if entry['copy'] else 'stores'}"
            )
        case "layer_norm":
            return f"{entry['rows']} x {entry['columns']}, {entry['ctas']} CTAs a row"
        case "paired_gemm":
            return f"{entry['m']} x {entry['n']} x {entry['k']}"
        case _ if "s" in entry:
            return f"S {entry['s']}"
        case _:
            return f"{entry['m']} x {entry['n']} x {entry['k']}, {entry['stages']} stage{'s' * (entry['stages'] > 1)}"


def simulated(entry: dict[str, Any]) -> int:
    """Cycles that the simulator predicts for the launch of a measured entry."""
    recorder = SimulatedRecorder(load_device("h200"), values=False)
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "script.py"
        script.write_text(script_of(entry))
        run_script(script, [], load_device("h200"), recorder.execute)
    return recorder.trace.launches[0].cycles


def main() -> None:
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "benchmarks" / "data" / "h200.json"
    errors: list[float] = []
    print("| kernel | problem | measured cycles | simulated cycles | error |")
    print("| --- | --- | ---: | ---: | ---: |")
    for entry in json.loads(path.read_text())["entries"]:
        if entry["kernel"] == "torch":
            continue
        cycles = simulated(entry)
        error = cycles / entry["cycles"] - 1
        errors.append(abs(error))
        cells = (entry["kernel"], problem_of(entry), f"{entry['cycles']:,}", f"{cycles:,}", f"{100 * error:+.1f} %")
        print(f"| {' | '.join(cells)} |", flush=True)
    inside = sum(error <= 0.15 for error in errors)
    print(f"\nMean absolute error {100 * sum(errors) / len(errors):.1f} %; {inside} of {len(errors)} within 15 %.")


if __name__ == "__main__":
    main()
