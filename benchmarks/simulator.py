"""What the simulator costs, each figure a ratio from one run.

    python benchmarks/simulator.py [--interpreter PYTHON] [--json OUT]

`--interpreter` names the Python of an environment with triton 3.8 and torch, in which the plain GEMM runs under
TRITON_INTERPRET=1 for comparison; without it that part is left out.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402

from tlxviz.devices import load_device  # noqa: E402
from tlxviz.launch.model import HostDescriptor, Launch  # noqa: E402
from tlxviz.launch.script import run_script  # noqa: E402
from tlxviz.sim.recorder import SimulatedRecorder  # noqa: E402
from tlxviz.sim.recording import Recording  # noqa: E402

INTERPRETED = """
import json, sys, time
import torch
torch.set_num_threads(1)
sys.path.insert(0, sys.argv[1])
import plain_gemm
n, m_, n_, k_ = map(int, sys.argv[2:6])
a, b = torch.randn(n, n).half(), torch.randn(n, n).half()
times = []
for _ in range(3):
    start = time.perf_counter()
    plain_gemm.matmul(a, b, block_m=m_, block_n=n_, block_k=k_)
    times.append(time.perf_counter() - start)
print(json.dumps(min(times)))
"""


def caught(kernel: str, size: tuple[int, int, int], tiles: tuple[int, int, int], **more: int) -> Launch:
    """The launch that a kernel of `kernels/` makes for a problem of `size`."""
    found: list[Launch] = []
    names = ", ".join(f"{name}={value}" for name, value in more.items())
    script = f"""
import sys
sys.path.insert(0, {str(ROOT / "kernels")!r})
import torch, {kernel}
a = torch.randn({size[0]}, {size[2]}, device="cuda").half()
b = torch.randn({size[2]}, {size[1]}, device="cuda").half()
{kernel}.matmul(a, b, block_m={tiles[0]}, block_n={tiles[1]}, block_k={tiles[2]}, {names})
"""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "script.py"
        path.write_text(script)
        run_script(path, [], load_device("h200"), found.append)
    return found[0]


def seconds(run: Callable[[], Any], repeats: int = 5) -> float:
    """The shortest of several runs."""
    taken: list[float] = []
    for _ in range(repeats):
        gc.collect()
        start = time.perf_counter()
        run()
        taken.append(time.perf_counter() - start)
    return min(taken)


def recorder(*, values: bool = True, ctas: Sequence[int] | None = None) -> SimulatedRecorder:
    """One that records every launch, as often as it is executed."""
    return SimulatedRecorder(load_device("h200"), Recording(launches=None, ctas=ctas), values=values)


def against_interpreter(python: str) -> list[dict[str, Any]]:
    """Simulation with values of the plain GEMM against Triton's interpreter, on the same shapes."""
    rows: list[dict[str, Any]] = []
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    environment = os.environ | {"TRITON_INTERPRET": "1"} | threads
    environment.pop("PYTHONPATH", None)
    for n in (256, 512):
        for tiles in ((64, 64, 32), (128, 128, 64)):
            launch = caught("plain_gemm", (n, n, n), tiles)
            record = recorder()
            first = seconds(lambda: recorder().execute(launch), 3)  # noqa: B023
            record.execute(launch)
            again = seconds(lambda: record.execute(launch))  # noqa: B023
            done = subprocess.run(
                [python, "-c", INTERPRETED, str(ROOT / "kernels"), str(n), *map(str, tiles)],
                env=environment,
                capture_output=True,
                text=True,
                check=True,
            )
            interpreted = json.loads(done.stdout)
            rows.append(
                {
                    "what": f"plain_gemm {n}^3, tiles {'x'.join(map(str, tiles))}",
                    "interpreter_ms": 1000 * interpreted,
                    "simulated_ms": 1000 * again,
                    "first_launch_ms": 1000 * first,
                    "times_faster": interpreted / again,
                    "times_faster_first": interpreted / first,
                }
            )
    return rows


def one_cta() -> dict[str, Any]:
    """One CTA of the 8192^3 hopper_gemm_ws with values off, against compiling the kernel."""
    small = caught("hopper_gemm_ws", (256, 256, 256), (128, 256, 64))
    compiled = min(compile_seconds() for _ in range(3))
    launch = enlarged(small, 8192, grid=1)
    record = recorder(values=False)
    start = time.perf_counter()
    record.execute(launch)
    first = time.perf_counter() - start
    events = len(record.trace.launches[0].events)
    taken = [seconds(lambda: record.execute(launch), 1) for _ in range(7)]
    return {
        "what": "hopper_gemm_ws 8192^3, one CTA, values off, traced; compiled in a fresh process",
        "events": events,
        "compile_ms": 1000 * compiled,
        "simulated_ms": 1000 * min(taken),
        "first_ms": 1000 * first,
        "percent_of_compile": 100 * min(taken) / compiled,
    }


def compile_seconds() -> float:
    """What compiling hopper_gemm_ws takes in a fresh process with an empty cache, as in a first `tlxviz run`."""
    code = (
        f"import sys; sys.path[:0] = [{str(ROOT)!r}, {str(ROOT / 'benchmarks')!r}]; import simulator; "
        "print(simulator.caught('hopper_gemm_ws', (256, 256, 256), (128, 256, 64)).compile_seconds)"
    )
    environment = os.environ | {"TRITON_ALWAYS_COMPILE": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return float(done.stdout)


def enlarged(launch: Launch, n: int, grid: int) -> Launch:
    """A launch of hopper_gemm_ws as if its matrices were n x n; for values off, which read none of them."""

    def larger(name: str, value: Any) -> Any:
        if isinstance(value, HostDescriptor):
            return replace(value, shape=(n, n), strides=(n, 1))
        return n if name in ("M", "N", "K") or ".shape." in name else value

    return replace(
        launch, parameters=[(name, larger(name, value)) for name, value in launch.parameters], grid=(grid, 1, 1)
    )


def dot_share() -> dict[str, Any]:
    """The share of a 2048^3 run with values that is spent in the dot products."""
    launch = caught("hopper_gemm_ws", (2048, 2048, 2048), (128, 256, 64))
    record = recorder(ctas=())
    record.execute(launch)
    whole = seconds(lambda: record.execute(launch))
    (compiled,) = record._kernels.compiled  # pyright: ignore[reportPrivateUsage]
    spent = 0.0
    plain = {name: getattr(torch, name) for name in ("mm", "addmm")}

    def timed(function: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
        def call(*arguments: torch.Tensor) -> torch.Tensor:
            nonlocal spent
            start = time.perf_counter()
            result = function(*arguments)
            spent += time.perf_counter() - start
            return result

        return call

    compiled.bind(**{name: timed(function) for name, function in plain.items()})
    start = time.perf_counter()
    record.execute(launch)
    timed_run = time.perf_counter() - start
    return {
        "what": "hopper_gemm_ws 2048^3 with values",
        "run_ms": 1000 * whole,
        "percent_in_dots": 100 * spent / timed_run,
    }


def linearity() -> list[dict[str, Any]]:
    """Time per CTA and per iteration as the problem grows."""
    rows: list[dict[str, Any]] = []
    for what, sizes in (
        ("CTAs", [(1024, 1024, 512), (2048, 2048, 512), (4096, 4096, 512)]),
        ("iterations", [(512, 512, 1024), (512, 512, 4096), (512, 512, 16384)]),
    ):
        for size in sizes:
            launch = caught("plain_gemm", size, (128, 128, 64))
            record = recorder(ctas=())
            record.execute(launch)
            taken = seconds(lambda: record.execute(launch), 3)  # noqa: B023
            count = launch.grid[0] * (size[2] // 64)
            rows.append(
                {"what": f"plain_gemm {size}, more {what}", "ms": 1000 * taken, "us_per_step": 1e6 * taken / count}
            )
    return rows


def peak_memory() -> dict[str, Any]:
    """Peak resident memory of a process that runs hopper_gemm_ws 4096^3 with values and traces one CTA."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, str(ROOT / "cli.py"), "run", "-q", "-o", f"{folder}/out.tlxtrace"]
        command += [str(ROOT / "kernels" / "hopper_gemm_ws.py"), "--m", "4096", "--n", "4096", "--k", "4096"]
        start = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        taken = time.perf_counter() - start
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "what": "hopper_gemm_ws 4096^3 with values, CTA 0 traced, whole process",
        "seconds": taken,
        "peak_gb": usage.ru_maxrss * 1024 / 1e9,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--interpreter", help="Python of an environment with triton 3.8")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    options = parser.parse_args()
    torch.set_num_threads(1)
    figures: dict[str, Any] = {"memory": peak_memory()}
    if options.interpreter:
        figures["interpreter"] = against_interpreter(options.interpreter)
        figures["interpreter_median"] = statistics.median(row["times_faster"] for row in figures["interpreter"])
    figures |= {"one_cta": one_cta(), "dots": dot_share(), "linearity": linearity()}
    text = json.dumps(figures, indent=1)
    if options.json:
        options.json.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
