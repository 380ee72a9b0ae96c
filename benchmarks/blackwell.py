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
ATTENTION = "42.2 %"
"""Share of peak: 950 of 2250 TFLOP/s."""
PUBLISHED_PEAK = 2250
"""TFLOP/s."""
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
    """Share of peak that is published, if one is."""


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
        said = f"S {length}" + (", causal" if causal else "")
        script = (
            f"import blackwell_fa_ws\nblackwell_fa_ws.attention(*(empty({shape}) for _ in range(3)), causal={causal})"
        )
        yield Case("blackwell_fa_ws", said, script, _flop(length) / (2 if causal else 1), "" if causal else ATTENTION)
    # As their own benchmark has them (testing/test_blackwell_fa_perf.py): batch 4, 32 heads, D 128, a scale of 1.3.
    blocks = "dict(BLOCK_M=256, BLOCK_N=128, NUM_BUFFERS_KV=3, NUM_BUFFERS_QK=1, NUM_MMA_GROUPS=2"
    one_q = ", NUM_BUFFERS_Q=1"
    sliced = one_q + ", NUM_MMA_SLICES=2, GROUP_SIZE_N=1, USE_WARP_BARRIER=False, RESCALE_OPT={}, USE_WHERE={}"
    always = sliced.format(False, False)
    for name, more, lengths in (
        ("blackwell_fa_ws", f"1.3, {blocks})", (1024, 4096)),
        ("blackwell_fa_ws_pipelined", f"1.3, False, {blocks})", (1024, 4096)),
        ("blackwell_fa_ws_persistent", f"1.3, False, {blocks}{one_q})", (4096,)),
        ("blackwell_fa_clc", f"1.3, False, {blocks}{always})", (4096,)),
        ("blackwell_fa_ws_pipelined_persistent", f"1.3, False, {blocks}{always})", (1024, 2048, 4096, 8192)),
    ):
        for length in lengths:
            inputs = f"*(empty(4, 32, {length}, 128) for _ in range(3))"
            script = f"{TUTORIALS} {name}\n{name}.attention({inputs}, {more})"
            yield Case(f"tutorial {name}", f"S {length}", script, _flop(length), ATTENTION)
    # Whether sums are shrunk depends on the scores.
    name = "blackwell_fa_ws_pipelined_persistent"
    for where in (False, True):
        inputs = "*(torch.randn(4, 32, 4096, 128, dtype=torch.float16, device='cuda') for _ in range(3))"
        more = f"1.3, False, {blocks}{sliced.format(True, where)})"
        script = f"{TUTORIALS} {name}\ntorch.manual_seed(0)\n{name}.attention({inputs}, {more})"
        said = f"S 4096, normal, RESCALE_OPT{', USE_WHERE' if where else ''}"
        yield Case(f"tutorial {name}", said, script, _flop(4096), ATTENTION)


def _flop(length: int) -> float:
    """Of attention without a mask."""
    return 4 * 4 * 32 * length**2 * 128


def grouped() -> Iterator[Case]:
    for rows, milliseconds in ((128, 0.155), (256, 0.239), (512, 0.419), (1024, 0.692)):
        flop = 2 * 4 * rows * 8192**2
        starts = f"torch.tensor([{rows} * g for g in range(5)], dtype=torch.int32, device='cuda')"
        script = (
            "import blackwell_grouped_gemm\n"
            f"blackwell_grouped_gemm.grouped_matmul(empty(4 * {rows}, 8192), empty(4, 8192, 8192), {starts})"
        )
        share = flop / milliseconds / 1e9 / PUBLISHED_PEAK
        said, published = f"4 groups of {rows}, N = K = 8192", f"{100 * share:.1f} %"
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


def _deviation(share: float, published: str) -> str:
    """Of a share of peak in percent from the one that is published."""
    return f"{100 * (share / float(published.removesuffix(' %')) - 1):+.0f} %" if published else ""


def main() -> None:
    peak = DEVICE.limits.sms * DEVICE.tensor_core.fp16
    print("| kernel | problem | cycles | TFLOP/s | share of peak | published | deviation |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
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
            _deviation(100 * rate / peak, case.published),
        )
        print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
