"""On a GPU: configurations of the wheel's `hopper_gemm_ws`, measured and simulated side by side.

python benchmarks/tuning_on_gpu.py measure FILE.json      # needs an H100 or H200
python benchmarks/tuning_on_gpu.py compare [FILE.json]    # anywhere; default: data/h200_tuning.json

A time is the median of seven CUDA graphs of twenty launches. Configurations that do not fit are left out.
"""

from __future__ import annotations

import importlib.util
import itertools
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

DATA = Path(__file__).with_name("data") / "h200_tuning.json"
SIZES = (1024, 2048, 4096)


def tutorial() -> Any:
    import triton.language.extra.tlx as tlx

    path = Path(tlx.__file__).parent / "tutorials" / "hopper_gemm_ws.py"
    spec = importlib.util.spec_from_file_location("hopper_gemm_ws", path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def microseconds(launch: Callable[[], Any], launches: int = 20, repeats: int = 7) -> float:
    import torch

    launch()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(launches):
            launch()
    times: list[float] = []
    for _ in range(repeats):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) * 1000 / launches)
    return median(times)


def measure(output: Path) -> None:
    import torch
    import triton
    from triton.runtime.errors import OutOfResources

    import tlxviz

    module = tutorial()
    tuner = module.matmul_kernel_tlx_ws
    rows: list[dict[str, Any]] = []
    for n in SIZES:
        a, b = (torch.randn(n, n, device="cuda", dtype=torch.float16) for _ in range(2))
        right = a.float() @ b.float()
        for bm, bn, stages, subtile, ctas in itertools.product(
            (128, 256), (128, 256), (2, 3, 4), (True, False), (1, 2)
        ):
            shown = {"BM": bm, "BN": bn, "NUM_STAGES": stages, "EPILOGUE_SUBTILE": subtile, "NUM_CTAS": ctas}
            fixed = {"BK": 64, "GROUP_SIZE_M": 8, "NUM_MMA_WARPS": 8, "NUM_MMA_GROUPS": 2, "USE_WARP_BARRIER": False}
            options: dict[str, Any] = {"num_stages": 1, "num_warps": 4, "ctas_per_cga": (ctas, 1, 1)}
            hook = module.matmul_tma_set_block_size_hook
            tuner.configs = [triton.Config(shown | fixed, pre_hook=hook, **options)]
            try:
                with tlxviz.record(None) as recorded:
                    product = module.matmul(a, b).float()
            except OutOfResources:
                continue
            row = {
                "n": n,
                **shown,
                "measured_us": round(microseconds(lambda: module.matmul(a, b)), 2),  # noqa: B023
                "simulated_cycles": recorded.trace.launches[0].cycles,
                "relative_error": float(f"{((product - right).norm() / right.norm()).item():.3g}"),
            }
            rows.append(row)
            print(json.dumps(row), flush=True)
    output.write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n", encoding="utf-8")


def compare(rows: Sequence[dict[str, Any]]) -> None:
    print("| size | configurations | rank correlation | simulated choice against the fastest | clusters of 2 |")
    print("| --- | --- | --- | --- | --- |")
    for n in SIZES:
        chosen = [row for row in rows if row["n"] == n and (row["BM"], row["BN"]) != (256, 256)]
        measured, simulated = (np.array([row[name] for row in chosen]) for name in ("measured_us", "simulated_cycles"))
        ranks = np.corrcoef(measured.argsort().argsort(), simulated.argsort().argsort())[0, 1]
        lost = measured[simulated.argmin()] / measured.min() - 1
        pairs = [(each, _twin(chosen, each)) for each in chosen if each["NUM_CTAS"] == 1]
        ratios = [
            np.mean([two[name] / one[name] for one, two in pairs]) for name in ("measured_us", "simulated_cycles")
        ]
        print(
            f"| {n}^3 | {len(chosen)} | {ranks:.2f} | {100 * lost:.1f} % slower "
            f"| {ratios[0]:.3f} measured, {ratios[1]:.3f} simulated |"
        )


def _twin(rows: Sequence[dict[str, Any]], row: dict[str, Any]) -> dict[str, Any]:
    wanted = row | {"NUM_CTAS": 2}
    names = ("BM", "BN", "NUM_STAGES", "EPILOGUE_SUBTILE", "NUM_CTAS")
    return next(each for each in rows if all(each[name] == wanted[name] for name in names))


def main() -> None:
    match sys.argv[1:]:
        case ["measure", path]:
            measure(Path(path))
        case ["compare", *paths]:
            compare(json.loads(Path(paths[0] if paths else DATA).read_text(encoding="utf-8")))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
