"""Times the kernels of this project on a real GPU in SM cycles, for comparison with the simulator.

    python benchmarks/measure_gpu.py OUT.json [small|later|clusters]

A CUDA graph holds a time stamp, many launches, and a time stamp. A stamp is the SM clock and the global timer of one
SM, so that cycles, time and the mean SM clock come from the very launches that are counted, however power moves the
clock. The attention kernels are those that the fbtriton wheel ships as tutorials. Needs torch and fbtriton; tlxviz
itself is not imported.
"""

from __future__ import annotations

import importlib
import json
import statistics
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch
import triton
import triton.language as tl

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "kernels"))
import hopper_gemm_ws
import plain_gemm
import small_kernels

ATTENTION = ("hopper_fa_ws_pipelined_pingpong", "hopper_fa_ws_pipelined", "hopper_fa_ws")
SHAPES = [(s, s, s) for s in (512, 1024, 2048, 4096, 8192)] + [
    (2048, 2048, 512),
    (2048, 2048, 8192),
    (4096, 4096, 16384),
]
LATER_SHAPES = [
    (3072, 3072, 3072),
    (1024, 1024, 4096),
    (4096, 1024, 2048),
    (2048, 2048, 32768),
    (8192, 2048, 1024),
    (1536, 1536, 1536),
]


@triton.jit
def stamp(out):
    """Row `smid` of `out` gets the SM clock and the global timer."""
    sm = tl.inline_asm_elementwise("mov.u32 $0, %smid;", "=r", [], tl.int32, is_pure=False, pack=1)
    cycles = tl.inline_asm_elementwise("mov.u64 $0, %clock64;", "=l", [], tl.int64, is_pure=False, pack=1)
    time = tl.inline_asm_elementwise("mov.u64 $0, %globaltimer;", "=l", [], tl.int64, is_pure=False, pack=1)
    tl.store(out + 2 * sm, cycles)
    tl.store(out + 2 * sm + 1, time)


def per_launch(run: Callable[[], object], launches: int) -> tuple[float, float, float]:
    """(cycles, microseconds, MHz) of one launch, over `launches` of them back to back."""
    sms = torch.cuda.get_device_properties(0).multi_processor_count
    before = torch.zeros(sms, 2, dtype=torch.int64, device="cuda")
    after = torch.zeros_like(before)
    run()
    stamp[(4 * sms,)](before, num_warps=1)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        stamp[(4 * sms,)](before, num_warps=1)
        for _ in range(launches):
            run()
        stamp[(4 * sms,)](after, num_warps=1)
    found: list[tuple[float, float, float]] = []
    for _ in range(7):
        graph.replay()
        torch.cuda.synchronize()
        both = (before[:, 1] > 0) & (after[:, 1] > 0)
        cycles = (after[:, 0] - before[:, 0])[both].double().median().item()
        time = (after[:, 1] - before[:, 1])[both].double().median().item()
        found.append((cycles / launches, time / 1000 / launches, 1000 * cycles / time))
    found.sort(key=lambda entry: entry[0])
    return found[len(found) // 2]


def measure(name: str, run: Callable[[], torch.Tensor], want: torch.Tensor | None, **meta: object) -> dict[str, object]:
    got = run()
    torch.cuda.synchronize()
    error = ((got.float() - want).norm() / want.norm()).item() if want is not None else None
    _, rough, _ = per_launch(run, 3)
    cycles, microseconds, mhz = per_launch(run, max(3, min(200, int(5000 / rough))))
    entry = {"kernel": name, **meta, "cycles": round(cycles), "us": microseconds, "mhz": mhz, "error": error}
    print(json.dumps(entry), flush=True)
    return entry


def attention(lengths: tuple[int, ...] = (512, 1024, 4096, 8192)) -> list[dict[str, object]]:
    """The wheel's forward attention kernels: batch 4, 16 heads of 128, sequences of several lengths."""
    entries: list[dict[str, object]] = []
    for s in lengths:
        q, k, v = (torch.randn(4, 16, s, 128, device="cuda", dtype=torch.float16) for _ in range(3))
        for name in ATTENTION:
            module = importlib.import_module(f"triton.language.extra.tlx.tutorials.{name}")
            entries.append(measure(name, partial(module.attention, q, k, v, 0.5), None, s=s))
    return entries


def gemms(m: int, n: int, k: int, hopper: tuple[int, ...], *, with_torch: bool = True) -> list[dict[str, object]]:
    """torch's matrix product and the kernels of this project, on one problem; `hopper`: stages of hopper_gemm_ws."""
    a = torch.randn(m, k, device="cuda", dtype=torch.float16)
    b = torch.randn(k, n, device="cuda", dtype=torch.float16)
    want = a.float() @ b.float()
    shape = {"m": m, "n": n, "k": k}
    entries = [measure("torch", lambda: a @ b, want, **shape)] if with_torch else []
    for stages in hopper:
        run = partial(hopper_gemm_ws.matmul, a, b, stages=stages)
        entries.append(measure("hopper_gemm_ws", run, want, stages=stages, **shape))
    for stages in (1, 2, 3, 4):
        run = partial(plain_gemm.matmul, a, b, stages=stages)
        entries.append(measure("plain_gemm", run, want, stages=stages, **shape))
    return entries


def small(
    lengths: tuple[int, ...] = (1 << 16, 1 << 22, 1 << 26),
    shapes: tuple[tuple[int, int], ...] = ((4096, 1000), (8192, 8192)),
) -> list[dict[str, object]]:
    """Sums of vectors and softmaxes of rows."""
    entries: list[dict[str, object]] = []
    for n in lengths:
        x, y = torch.randn(n, device="cuda"), torch.randn(n, device="cuda")
        entries.append(measure("vector_add", partial(small_kernels.vector_add, x, y), x + y, n=n))
    for rows, columns in shapes:
        for dtype in (torch.float32, torch.float16):
            x = torch.randn(rows, columns, device="cuda", dtype=dtype)
            want = torch.softmax(x.float(), 1)
            run = partial(small_kernels.row_softmax, x)
            name = str(dtype).removeprefix("torch.")
            entries.append(measure("row_softmax", run, want, rows=rows, columns=columns, dtype=name))
    return entries


def later() -> list[dict[str, object]]:
    """Problems that nobody looked at while the laws of the model were chosen."""
    entries: list[dict[str, object]] = []
    for m, n, k in LATER_SHAPES:
        entries += gemms(m, n, k, hopper=(3, 4), with_torch=False)
    entries += attention((256, 2048))
    return entries + small((1 << 20, 1 << 25), ((16384, 2048), (2048, 4096)))


def clusters() -> list[dict[str, object]]:
    """CTAs that arrive on each other's barriers, write into each other's shared memory, and load for each other."""
    import cluster_kernels as kernels

    entries: list[dict[str, object]] = []
    ranks = torch.arange(1, 3, device="cuda").repeat(66).float()
    for rounds in (10, 100):
        run = partial(kernels.alternating, rounds)
        entries.append(measure("alternating", run, ranks, rounds=rounds))
    for ctas in (2, 4, 8):
        want = torch.arange(1, ctas + 1, device="cuda").repeat(64 // ctas).float()
        entries.append(measure("meetings", partial(kernels.meetings, 100, ctas), want, rounds=100, ctas=ctas))
    for size in (128, 1024, 8192):
        for copy in (False, True):
            run = partial(kernels.swapped, 50, size, copy)
            want = kernels.swapped_by_torch(50, size)
            entries.append(measure("swapped", run, want, rounds=50, size=size, copy=copy))
    for rows, columns in ((512, 16384), (4096, 16384), (1024, 65536)):
        x, w, b = (torch.randn(*size, device="cuda").half() for size in ((rows, columns), (columns,), (columns,)))
        want = torch.nn.functional.layer_norm(x.float(), (columns,), w.float(), b.float())
        for ctas in (2, 4, 8):
            run = partial(kernels.layer_norm, x, w, b, ctas)
            entries.append(measure("layer_norm", run, want, rows=rows, columns=columns, ctas=ctas))
    for m, n, k in ((1024, 1024, 1024), (2048, 2048, 2048), (4096, 4096, 4096), (2048, 2048, 8192)):
        a, b = (torch.randn(*size, device="cuda").half() for size in ((m, k), (k, n)))
        want = a.float() @ b.float()
        entries.append(measure("paired_gemm", partial(kernels.paired_gemm, a, b), want, m=m, n=n, k=k))
    return entries


PARTS = {"small": small, "later": later, "clusters": clusters}


def main() -> None:
    """Measures a part of what there is if the second argument says so; `small` is what takes seconds."""
    out = Path(sys.argv[1])
    torch.manual_seed(0)
    if sys.argv[2:]:
        found = {"device": torch.cuda.get_device_name(), "entries": PARTS[sys.argv[2]]()}
        out.write_text(json.dumps(found, indent=1))
        return
    entries = small() + attention()
    for m, n, k in SHAPES:
        entries += gemms(m, n, k, (2, 3, 4) if m == 4096 or k == 8192 else (4,))
        mean = statistics.mean(float(str(entry["mhz"])) for entry in entries)
        found = {"device": torch.cuda.get_device_name(), "mean_mhz": mean, "entries": entries}
        out.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
