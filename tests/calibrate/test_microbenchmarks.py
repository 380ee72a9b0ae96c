"""Microbenchmarks without a GPU: what they launch assembles, and what they measure has a name of its own."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

import pytest
from paper_machine import PaperMachine

from tlxviz.calibrate.kernel import Kernel
from tlxviz.calibrate.results import Measurement
from tlxviz.calibrate.worker import benchmarks

KNOWN = benchmarks()


def ptxas() -> str:
    """The assembler that Triton ships, or the machine's own."""
    spec = find_spec("triton")
    shipped = Path(spec.submodule_search_locations[0]) if spec and spec.submodule_search_locations else Path()
    found = shipped / "backends" / "nvidia" / "bin" / "ptxas"
    path = str(found) if found.is_file() else shutil.which("ptxas")
    if path is None:
        pytest.skip("no ptxas")
    return path


def assemble(kernels: Iterable[Kernel], folder: Path) -> str:
    """Assembles kernels as one module; gives what ptxas says."""
    head = ""
    entries: list[str] = []
    for kernel in kernels:
        head, begin, rest = kernel.ptx.partition(".visible")
        entries.append(begin + rest)
    source = folder / "kernels.ptx"
    source.write_text(head + "\n".join(entries))
    done = subprocess.run(
        [ptxas(), "-arch=sm_90a", "-v", source, "-o", folder / "kernels.cubin"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stderr


def on_paper(name: str) -> tuple[list[Measurement], list[Kernel]]:
    machine = PaperMachine()
    return list(KNOWN[name].run(machine)), list(machine.kernels.values())


def test_benchmarks_are_described() -> None:
    for name, entry in KNOWN.items():
        assert re.fullmatch(r"[a-z0-9_]+\.[a-z0-9_]+", name)
        assert entry.name == name
        assert entry.summary.endswith(".")


@pytest.mark.parametrize("name", KNOWN)
def test_a_benchmark_measures_something(name: str) -> None:
    measurements, kernels = on_paper(name)
    assert measurements
    assert kernels
    for each in measurements:
        assert each.low <= each.median <= each.high
        assert each.unit


def test_no_point_is_measured_twice() -> None:
    names = [each.name for name in KNOWN for each in on_paper(name)[0]]
    assert len(names) == len(set(names))


def test_a_kernel_of_each_benchmark_assembles(tmp_path: Path) -> None:
    shortest = (min(on_paper(name)[1], key=lambda kernel: len(kernel.ptx)) for name in KNOWN)
    said = assemble({kernel.name: kernel for kernel in shortest}.values(), tmp_path)
    assert "setmaxnreg ignored" not in said


@pytest.mark.slow
def test_all_kernels_assemble_and_spill_nothing(tmp_path: Path) -> None:
    said = assemble({kernel.name: kernel for name in KNOWN for kernel in on_paper(name)[1]}.values(), tmp_path)
    assert set(re.findall(r"(\d+) bytes spill stores", said)) == {"0"}
    assert set(re.findall(r"(\d+) bytes stack frame", said)) == {"0"}
