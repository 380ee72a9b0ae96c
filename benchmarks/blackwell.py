"""How fast kernels for Blackwell are on a simulated B200, as shares of its peak.

    python benchmarks/blackwell.py [NAME ...]

Prints a table in Markdown: the kernels of `kernels/`, and TLX tutorials of the installed fbtriton beside them. With
names, only the rows whose kernel is among them. FLOP are those of the problem, half for a causal mask. Values are off.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tlxviz.devices import load_device  # noqa: E402
from tlxviz.launch.script import run_script  # noqa: E402
from tlxviz.sim.recorder import SimulatedRecorder  # noqa: E402

DEVICE = load_device("b200")
START = f"""
import sys
sys.path.insert(0, {str(ROOT / "kernels")!r})
import torch
def empty(*shape):
    return torch.empty(shape, dtype=torch.float16, device="cuda")
"""
ATTENTION = "930 to 950 TFLOP/s, shape not told"
TUTORIALS = "from triton.language.extra.tlx.tutorials import"


@dataclass(frozen=True, slots=True)
class Case:
    """A row of the table."""

    kernel: str
    problem: str
    script: str
    """Launches it."""
    flop: float
    published: str = ""
    """What is published for the problem, if anything is."""


def gemms() -> Iterator[Case]:
    for size in (4096, 8192):
        ab = f"empty({size}, {size}), empty({size}, {size})"
        for options in ("", "ctas=2", "schedule='clc'", "ctas=2, schedule='clc'"):
            said = f"{size} cubed" + (f", {options}" if options else "")
            script = f"import blackwell_gemm_ws\nblackwell_gemm_ws.matmul({ab}, {options})"
            yield Case("blackwell_gemm_ws", said, script, 2 * size**3)
        config = (
            "dict(BLOCK_SIZE_M=256, BLOCK_SIZE_N=256, BLOCK_SIZE_K=64, GROUP_SIZE_M=8, NUM_SMEM_BUFFERS=4, "
            "NUM_TMEM_BUFFERS=1, NUM_MMA_GROUPS=2, EPILOGUE_SUBTILE=4, NUM_CTAS=2, SPLIT_K=1, INTERLEAVE_EPILOGUE=0, "
            "USE_WARP_BARRIER=False, ctas_per_cga=(2, 1, 1))"
        )
        script = f"{TUTORIALS} blackwell_gemm_ws\nblackwell_gemm_ws.matmul({ab}, {config})"
        yield Case("tutorial blackwell_gemm_ws", f"{size} cubed, pairs", script, 2 * size**3)


def attentions() -> Iterator[Case]:
    for length, causal in ((1024, False), (4096, False), (8192, False), (4096, True)):
        shape = f"4, 32, {length}, 128"
        flop = 4 * 4 * 32 * length**2 * 128 / (2 if causal else 1)
        said = f"S {length}" + (", causal" if causal else "")
        published = "930 to 950 TFLOP/s, shape not told" if not causal else ""
        script = (
            f"import blackwell_fa_ws\nblackwell_fa_ws.attention(*(empty({shape}) for _ in range(3)), causal={causal})"
        )
        yield Case("blackwell_fa_ws", said, script, flop, published)
    blocks = "dict(BLOCK_M=256, BLOCK_N=128, NUM_BUFFERS_KV=3, NUM_BUFFERS_QK=1, NUM_MMA_GROUPS=2"
    persistent = ", NUM_BUFFERS_Q=1, NUM_MMA_SLICES=2, GROUP_SIZE_N=1, RESCALE_OPT=True, USE_WHERE=False"
    for name, more in (
        ("blackwell_fa_ws", f"0.5, {blocks})"),
        ("blackwell_fa_ws_pipelined", f"0.5, False, {blocks})"),
        ("blackwell_fa_ws_pipelined_persistent", f"0.5, False, {blocks}{persistent}, USE_WARP_BARRIER=False)"),
    ):
        script = f"{TUTORIALS} {name}\n{name}.attention(*(empty(4, 32, 4096, 128) for _ in range(3)), {more})"
        yield Case(
            f"tutorial {name}", "S 4096", script, 4 * 4 * 32 * 4096**2 * 128, "930 to 950 TFLOP/s, shape not told"
        )


def grouped() -> Iterator[Case]:
    for rows, milliseconds in ((128, 0.155), (256, 0.239), (512, 0.419), (1024, 0.692)):
        flop = 2 * 4 * rows * 8192**2
        starts = f"torch.tensor([{rows} * g for g in range(5)], dtype=torch.int32, device='cuda')"
        script = (
            "import blackwell_grouped_gemm\n"
            f"blackwell_grouped_gemm.grouped_matmul(empty(4 * {rows}, 8192), empty(4, 8192, 8192), {starts})"
        )
        rate = flop / milliseconds / 1e9
        said, published = f"4 groups of {rows}, N = K = 8192", f"{rate:.0f} TFLOP/s"
        yield Case("blackwell_grouped_gemm", said, script, flop, published)
        script = (
            "import importlib\n"
            "tutorial = importlib.import_module('triton.language.extra.tlx.tutorials.blackwell-grouped-gemm_test')\n"
            "kernel = tutorial.grouped_matmul_tlx_kernel\n"
            "wanted = dict(BLOCK_SIZE_N=256, BLOCK_SIZE_K=64, NUM_SMEM_BUFFERS=4, EPILOGUE_SUBTILE=4, NUM_CTAS=1)\n"
            "kernel.configs = [each for each in kernel.configs if wanted.items() <= each.kwargs.items()]\n"
            f"groups = [[empty(rows, 8192) for _ in range(4)] for rows in ({rows}, 8192)]\n"
            "tutorial.group_gemm_tlx_fn(*groups)"
        )
        yield Case("tutorial blackwell-grouped-gemm_test", said, script, flop, published)


def cycles_of(case: Case) -> tuple[int, float]:
    """Cycles of the launch, and the clock in MHz."""
    recorder = SimulatedRecorder(DEVICE, values=False)
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "script.py"
        script.write_text(START + case.script)
        run_script(script, [], DEVICE, recorder.execute)
    launch = recorder.trace.launches[0]
    return launch.cycles, launch.clock_mhz


def main() -> None:
    peak = DEVICE.limits.sms * DEVICE.tensor_core.fp16
    print("| kernel | problem | cycles | TFLOP/s | share of peak | published |")
    print("| --- | --- | ---: | ---: | ---: | --- |")
    for case in (*gemms(), *attentions(), *grouped()):
        if sys.argv[1:] and case.kernel not in sys.argv[1:]:
            continue
        cycles, clock = cycles_of(case)
        rate = case.flop / cycles
        cells = (
            case.kernel,
            case.problem,
            f"{cycles:,}",
            f"{rate * clock / 1e6:,.0f}",
            f"{100 * rate / peak:.1f} %",
            case.published,
        )
        print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
