"""Gluon kernels run here and compute what torch does."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import pytest
import torch
from gluon_kernels import (
    COLUMNS,
    LINE,
    ROWS,
    attention,
    described,
    doubled,
    incremented,
    matmul_arguments,
    persistent_matmul,
    pipelined_matmul,
    task_with_results,
    tiles,
    tma_incremented,
    transpose,
    vector_functions,
    views,
)
from kernel_runner import Run, executes, h200, run_kernel
from triton.compiler.errors import CompilationError

from tlxviz.launch.script import run_script
from tlxviz.sim.recorder import SimulatedRecorder

TOLERANCE = 1e-3


def error(got: torch.Tensor, wanted: torch.Tensor) -> float:
    """Relative Frobenius error."""
    return ((got.float() - wanted.float()).norm() / wanted.float().norm()).item()


# ---------------------------------------------------------------------- moving data


@pytest.mark.parametrize(("m", "n"), [(128, 64), (100, 70), (1, 3)])
def test_loads_and_stores_with_layouts(m: int, n: int):
    x, y = torch.randn(m, n), torch.zeros(n, m)
    try:
        run_kernel(transpose, (tiles(m, 64), tiles(n, 64)), x, y, m, n, BLOCK=64, read=ROWS, write=COLUMNS)
    except CompilationError as failure:
        if "to be a distributed_type but got" in str(failure):
            pytest.skip("the gl.load of fbtriton 3.7.4 loses the layout")
        raise
    assert torch.equal(y, x.T)


@pytest.mark.parametrize("size", [1024, 1000, 1])
@pytest.mark.parametrize("stages", [2, 4])
@executes("ttg.async_copy_global_to_local", "ttg.async_commit_group", "ttg.async_wait", "ttg.local_load")
def test_asynchronous_copies_ahead(size: int, stages: int):
    x, y = torch.randn(size), torch.zeros(size)
    run_kernel(doubled, (1,), x, y, size, BLOCK=128, layout=LINE, STAGES=stages)
    assert torch.equal(y, x * 2)


@pytest.mark.parametrize("increment", [False, True])
@pytest.mark.parametrize("size", [512, 450])
@executes("ttng.async_copy_mbarrier_arrive")
def test_asynchronous_copies_that_arrive_on_an_mbarrier(increment: bool, size: int):
    x, y = torch.randn(size), torch.zeros(size)
    arrivals = 1 if increment else 128
    run = run_kernel(incremented, (1,), x, y, size, BLOCK=128, layout=LINE, INCREMENT=increment, ARRIVALS=arrivals)
    assert torch.equal(y, x + 1)
    kinds = [run.trace.sites[site].kind for site in run.trace.events["site"].tolist()]
    assert kinds.count("wait") == 4
    assert kinds.count("async_copy") == 4
    assert kinds.count("arrive") == (8 if increment else 4)
    waits = [event for event, kind in enumerate(kinds) if kind == "wait"]
    released_by = [kinds[run.trace.events["released_by"][event]] for event in waits]
    assert released_by == ["arrive"] * 4


@pytest.mark.parametrize(("m", "n"), [(128, 192), (100, 72), (1, 8)])
@executes("ttng.async_tma_copy_global_to_local", "ttng.async_tma_copy_local_to_global", "ttng.fence_async_shared")
def test_tma_copies(m: int, n: int):
    x, y = torch.randn(m, n).half(), torch.zeros(m, n).half()
    grid = (tiles(m, 64), tiles(n, 64))
    run_kernel(tma_incremented, grid, described(x, [64, 64]), described(y, [64, 64]), layout=ROWS)
    assert torch.equal(y, x + 1)


@executes("ttg.memdesc_index", "ttg.memdesc_trans", "ttg.memdesc_subslice", "ttg.memdesc_reshape")
def test_views_of_shared_memory():
    x, y = torch.randn(2, 32, 64), torch.zeros(3, 2048)
    run_kernel(views, (1,), x, y, layout=ROWS, across=COLUMNS)
    assert torch.equal(y[0].view(64, 32), x[1].T)
    assert torch.equal(y[1], x[1].flatten())
    assert torch.equal(y[2, :1024].view(32, 32), x[0, :, 32:])


# ---------------------------------------------------------------------- computing


@executes("tt.scan", "tt.reduce", "tt.gather", "tt.histogram", "tt.map_elementwise", "tt.atomic_rmw")
def test_functions_of_vectors():
    n, size = 128, 100
    x, out = torch.randn(n), torch.zeros(7, n)
    places = torch.randint(0, n, (n,), dtype=torch.int32)
    run_kernel(vector_functions, (1,), x, places, out, size, N=n, layout=LINE)
    value = torch.where(torch.arange(n) < size, x, 0)
    torch.testing.assert_close(out[0], torch.exp2(value) + value.abs().sqrt())
    torch.testing.assert_close(out[1], value.cumsum(0))
    torch.testing.assert_close(out[2, :4], torch.stack([value.sum(), value.max(), value.min(), value.sum()]))
    assert torch.equal(out[3], value[places.long()])
    assert torch.equal(out[4], torch.bincount(places, minlength=n).float())
    torch.testing.assert_close(out[5], value + value + value * value)
    assert torch.equal(out[6], torch.where(places > 5, value, -value))


@executes("ttg.warp_specialize", "ttg.warp_yield")
def test_results_of_the_default_task():
    out = torch.zeros(256, dtype=torch.int32)
    run_kernel(task_with_results, (1,), out, layout=LINE)
    lane = torch.arange(128, dtype=torch.int32)
    assert torch.equal(out, torch.cat([lane * 14, lane]))


def multiply(kernel: Any, sizes: tuple[int, int, int], *, stages: int, values: bool = True) -> Run:
    (x, y, z), descriptors = matmul_arguments(*sizes, (128, 128, 64))
    if kernel is persistent_matmul:
        run = run_kernel(kernel, (3,), *descriptors, *sizes, STAGES=stages, num_warps=8, values=values)
    else:
        grid = (tiles(sizes[0], 128), tiles(sizes[1], 128))
        run = run_kernel(kernel, grid, *descriptors, sizes[2], STAGES=stages, NUM_WARPS=8, num_warps=8, values=values)
    if values:
        assert error(z, x.float() @ y.float().T) <= TOLERANCE
    return run


@pytest.mark.parametrize("sizes", [(256, 256, 256), (300, 200, 136), (8, 8, 8)], ids=["whole", "ragged", "tiny"])
@pytest.mark.parametrize("stages", [2, 3])
@executes("ttng.warp_group_dot", "ttng.warp_group_dot_wait")
def test_pipelined_matmul(sizes: tuple[int, int, int], stages: int):
    run = multiply(pipelined_matmul, sizes, stages=stages)
    assert [(agent.name, agent.warps) for agent in run.trace.agents] == [("compute", 8)]


@pytest.mark.parametrize("sizes", [(512, 384, 256), (300, 200, 136), (8, 8, 8)], ids=["whole", "ragged", "tiny"])
@pytest.mark.parametrize("stages", [2, 3])
def test_persistent_matmul_of_warp_groups(sizes: tuple[int, int, int], stages: int):
    run = multiply(persistent_matmul, sizes, stages=stages)
    agents = [(agent.name, agent.warps, agent.registers) for agent in run.trace.agents]
    assert agents == [("mma", 8, None), ("load", 1, 24)]
    assert [(barrier.name, barrier.slots, barrier.counts) for barrier in run.trace.barriers] == [
        ("full", stages, (1,) * stages),
        ("empty", stages, (1,) * stages),
    ]
    assert [buffer.name for buffer in run.trace.buffers] == ["a_tiles", "b_tiles", "c_tile"]
    lines = Path(run.launch.source_file).read_text().splitlines()
    copies = [lines[site.line - 1].strip() for site in run.trace.sites if site.kind == "tma_load"]
    assert [line.partition("(")[2][:4] for line in copies] == ["a, [", "b, ["]


def attend(heads: int, length: int, dim: int, *, values: bool = True) -> Run:
    q, k, v, o = (torch.randn(heads * length, dim).half() for _ in range(4))
    blocks = [[128, dim], [64, dim], [64, dim], [128, dim]]
    descriptors = [described(tensor, block) for tensor, block in zip((q, k, v, o), blocks, strict=True)]
    scale = 0.5
    log2_e = 1.4426950408889634
    run = run_kernel(
        attention, (length // 128, heads), *descriptors, length, scale * log2_e, STAGES=2, num_warps=8, values=values
    )
    if values:
        q, k, v = (tensor.float().view(heads, length, dim) for tensor in (q, k, v))
        wanted = torch.softmax(q @ k.transpose(1, 2) * scale, dim=-1) @ v
        assert error(o.view(heads, length, dim), wanted) <= TOLERANCE
    return run


@pytest.mark.parametrize(("heads", "length", "dim"), [(2, 256, 64), (1, 384, 128), (3, 128, 64)])
def test_attention(heads: int, length: int, dim: int):
    run = attend(heads, length, dim)
    assert [agent.name for agent in run.trace.agents] == ["softmax", "load"]


# ---------------------------------------------------------------------- times, and `tlxviz run`


def test_times_are_the_same_without_values():
    for run in (
        lambda values: multiply(pipelined_matmul, (300, 200, 136), stages=3, values=values),
        lambda values: multiply(persistent_matmul, (300, 200, 136), stages=3, values=values),
        lambda values: attend(2, 256, 64, values=values),
        lambda values: run_kernel(
            incremented,
            (1,),
            *(torch.zeros(450), torch.zeros(450), 450),
            values=values,
            BLOCK=128,
            layout=LINE,
            INCREMENT=False,
            ARRIVALS=128,
        ),
    ):
        with_values, without = run(True).trace, run(False).trace
        assert with_values.cycles == without.cycles > 0
        for column in ("site", "begin", "end", "slot", "phase", "released_by"):
            assert (with_values.events[column] == without.events[column]).all()


def test_a_script_launches_gluon(tmp_path: Path):
    kernels = Path(__file__).with_name("gluon_kernels.py")
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(f"""
        import sys
        import torch
        sys.path.insert(0, {str(kernels.parent)!r})
        from gluon_kernels import described, persistent_matmul
        a = torch.randn(200, 136, device="cuda", dtype=torch.float16)
        b = torch.randn(264, 136, device="cuda", dtype=torch.float16)
        c = torch.zeros(200, 264, device="cuda", dtype=torch.float16)
        tensors = described(a, [128, 64]), described(b, [128, 64]), described(c, [128, 128])
        persistent_matmul[(2,)](*tensors, 200, 264, 136, 3, num_warps=8)
        torch.testing.assert_close(c.float(), a.float() @ b.float().T, rtol=1e-2, atol=1e-2)
        """)
    )
    recorder = SimulatedRecorder(h200(), values=True)
    assert run_script(script, [], h200(), recorder.execute) == 0
    (launch,) = recorder.trace.launches
    assert (launch.kernel, launch.grid) == ("persistent_matmul", (2, 1, 1))
    assert "tma.async_copy_global_to_shared" not in launch.source
    assert "gl.warp_specialize" in launch.source
