"""What CUDA would refuse to launch, and what this version does not simulate: exact messages and exit statuses."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
import torch
from kernel_runner import Run, b200, compile_kernel, execute, fbtriton_only, h200, ttgir_launch

from tlxviz._errors import ExitCode
from tlxviz.commands import main
from tlxviz.devices.model import Device
from tlxviz.launch.model import Launch
from tlxviz.sim.errors import InvalidGridError, LaunchLimitError, UnsupportedOperation
from tlxviz.sim.recorder import SimulatedRecorder

triton = pytest.importorskip("triton")
tlx = pytest.importorskip("triton.language.extra.tlx")
tl = pytest.importorskip("triton.language")

NOTHING = """
  tt.func public @nothing() {
    tt.return
  }"""
LIMITS = h200().limits


def nothing(grid: tuple[int, int, int] = (1, 1, 1), warps: int = 4, **metadata: Any) -> Launch:
    launch = ttgir_launch(NOTHING, grid=grid, warps=warps)
    launch.metadata |= metadata
    return launch


def refused(launch: Launch, error: type[Exception] = LaunchLimitError, device: Device | None = None) -> str:
    with pytest.raises(error) as caught:
        execute(launch, device=device)
    wrong_grid = isinstance(caught.value, InvalidGridError)
    assert caught.value.exit_code == (ExitCode.SCRIPT_FAILED if wrong_grid else ExitCode.CANNOT_RUN)  # type: ignore
    return str(caught.value)


def per_sm(launch: Launch, device: Device | None = None) -> int:
    run: Run = execute(launch, device=device)
    return run.trace.statistics["ctas_per_sm"]


def test_too_many_threads():
    assert refused(nothing(warps=64)) == (
        "kernel nothing needs 2048 threads a CTA (64 warps) and NVIDIA H200 SXM has 1024: "
        "use fewer warps or fewer async tasks"
    )
    assert per_sm(nothing(warps=32)) == 2


def test_too_many_threads_in_all_tasks_together():
    text = """
  tt.func public @wide() {
    ttg.warp_specialize()
    default {
      ttg.warp_yield
    }
    partition0() num_warps(16) {
      ttg.warp_return
    }
    partition1() num_warps(16) {
      ttg.warp_return
    } : () -> ()
    tt.return
  }"""
    assert refused(ttgir_launch(text, warps=4)).startswith("kernel wide needs 1152 threads a CTA (36 warps)")


def test_too_much_shared_memory():
    most = LIMITS.shared_memory_per_block
    assert refused(nothing(shared=most + 1)) == (
        "kernel nothing needs 232,449 bytes of shared memory and NVIDIA H200 SXM gives a CTA 232,448: "
        "use fewer stages or smaller tiles"
    )
    assert per_sm(nothing(shared=most)) == 1
    assert per_sm(nothing(shared=(most + LIMITS.shared_memory_reserved) // 2 - LIMITS.shared_memory_reserved)) == 2


@triton.jit
def staged(x_ptr):
    at = tl.arange(0, 64)[:, None] * 64 + tl.arange(0, 64)[None, :]
    tiles = tlx.local_alloc((64, 64), tl.float16, 32)
    more = tlx.local_alloc((32, 64), tl.float16, 1)
    tlx.local_store(tiles[31], tl.load(x_ptr + at))
    tl.store(x_ptr + at, tlx.local_load(tiles[31]))
    half = tl.arange(0, 32)[:, None] * 64 + tl.arange(0, 64)[None, :]
    tlx.local_store(more[0], tl.load(x_ptr + half))
    tl.store(x_ptr + half, tlx.local_load(more[0]))


def test_the_largest_buffers_are_named():
    launch = compile_kernel(staged, (1,), torch.zeros(64, 64).half())
    assert launch.metadata["shared"] > LIMITS.shared_memory_per_block
    assert re.fullmatch(
        r"kernel staged needs 26\d,\d{3} bytes of shared memory and NVIDIA H200 SXM gives a CTA 232,448: "
        r"use fewer stages or smaller tiles \(largest buffers: tiles 262,144 bytes, more 4,096 bytes\)",
        refused(launch),
    )


def test_too_much_tensor_memory():
    assert refused(nothing(tmem_size=768), device=b200()) == (
        "kernel nothing needs 768 columns of tensor memory and an SM of NVIDIA B200 has 512: "
        "use fewer or narrower buffers"
    )
    assert refused(nothing(tmem_size=32)) == (
        "kernel nothing needs 32 columns of tensor memory and an SM of NVIDIA H200 SXM has none: "
        "simulate a B200 (--device sim:b200)"
    )


@pytest.mark.parametrize(("columns", "ctas"), [(512, 1), (257, 1), (256, 2), (129, 2), (128, 4), (33, 8), (8, 16)])
def test_ctas_share_tensor_memory(columns: int, ctas: int):
    """It is given out by powers of two, and not less than 32 columns; sixteen CTAs of four warps fill an SM."""
    assert per_sm(nothing(tmem_size=columns), b200()) == ctas


@triton.jit
def of_tensor_memory(x_ptr):
    tiles = tlx.local_alloc((128, 256), tl.float32, 3, tlx.storage_kind.tmem)
    small = tlx.local_alloc((64, 64), tl.float32, 1)
    at = tl.arange(0, 128)[:, None] * 256 + tl.arange(0, 256)[None, :]
    tlx.local_store(tiles[2], tl.load(x_ptr + at))
    tl.store(x_ptr + at, tlx.local_load(tiles[2]))
    at = tl.arange(0, 64)[:, None] * 256 + tl.arange(0, 64)[None, :]
    tlx.local_store(small[0], tl.load(x_ptr + at))
    tl.store(x_ptr + at, tlx.local_load(small[0]))


@fbtriton_only("no tensor memory in the tests' kernels")
def test_the_largest_buffers_of_tensor_memory_are_named():
    launch = compile_kernel(of_tensor_memory, (1,), torch.zeros(128, 256), device=b200())
    assert refused(launch, device=b200()) == (
        "kernel of_tensor_memory needs 768 columns of tensor memory and an SM of NVIDIA B200 has 512: use fewer or "
        "narrower buffers (largest buffers: tiles 393,216 bytes)"
    )


def test_too_many_registers():
    assert refused(nothing(warps=32, registers=72)) == (
        "kernel nothing needs 72 registers for each of 1024 threads and an SM of NVIDIA H200 SXM has 65,536: "
        "use fewer warps, smaller tiles or maxnreg=64"
    )
    assert per_sm(nothing(warps=32, registers=64)) == 1
    assert per_sm(nothing(warps=4, registers=64)) == 8
    assert per_sm(nothing(warps=4, registers=33)) == 12


def test_registers_that_tasks_ask_for_fill_an_sm():
    """More than an SM has are dropped by the compiler, so the launch is not refused."""
    text = """
  tt.func public @greedy() {
    ttg.warp_specialize() attributes {requestedRegisters = array<i32: 240, 240>}
    default {
      ttg.warp_yield
    }
    partition0() num_warps(8) {
      ttg.warp_return
    }
    partition1() num_warps(4) {
      ttg.warp_return
    } : () -> ()
    tt.return
  }"""
    assert per_sm(ttgir_launch(text, warps=4)) == 1


@pytest.mark.parametrize(
    ("grid", "axis", "most"),
    [((1, 65536, 1), "y", "65,535"), ((1, 1, 65536), "z", "65,535"), ((2**31, 1, 1), "x", "2,147,483,647")],
)
def test_too_large_grids(grid: tuple[int, int, int], axis: str, most: str):
    assert refused(nothing(grid)) == f"kernel nothing has grid {grid}: {axis} must lie between 0 and {most}"


def test_a_negative_grid():
    assert refused(nothing((-1, 1, 1))) == (
        "kernel nothing has grid (-1, 1, 1): x must lie between 0 and 2,147,483,647"
    )


def test_an_empty_grid_runs_nothing():
    recorder = SimulatedRecorder(h200())
    recorder.execute(nothing((4, 0, 1)))
    assert recorder.trace.launches == []


def clusters(grid: tuple[int, int, int], attributes: str) -> Launch:
    launch = nothing(grid)
    return replace(launch, ttgir=launch.ttgir.replace("ttg.target", f"{attributes}, ttg.target"))


def test_a_grid_that_clusters_do_not_divide():
    launch = clusters((6, 3, 1), '"ttg.cluster-dim-x" = 3 : i32, "ttg.cluster-dim-y" = 2 : i32')
    assert refused(launch, InvalidGridError) == (
        "kernel nothing has grid (6, 3, 1) and clusters of (3, 2, 1): y must be a multiple of 2"
    )
    assert execute(replace(launch, grid=(6, 4, 1))).trace.statistics["ctas_simulated"] == 24


def test_too_large_clusters():
    assert refused(clusters((9, 1, 1), '"ttg.cluster-dim-x" = 9 : i32')) == (
        "kernel nothing launches clusters of 9 CTAs and NVIDIA H200 SXM takes 8, unless a kernel is marked for larger "
        "ones, which Triton does not do: make ctas_per_cga smaller"
    )
    assert execute(clusters((8, 1, 1), '"ttg.cluster-dim-x" = 8 : i32')).trace.statistics["ctas_simulated"] == 8


def test_clusters_of_which_not_as_many_fit_as_sms():
    """15 clusters of 8 CTAs and 30 of 4 run at a time on an H200, though it has 132 SMs."""
    launch = clusters((16 * 8, 1, 1), '"ttg.cluster-dim-x" = 8 : i32')
    launch.metadata["shared"] = LIMITS.shared_memory_per_block
    assert execute(launch).trace.statistics["waves"] == 2
    assert execute(replace(launch, grid=(15 * 8, 1, 1))).trace.statistics["waves"] == 1
    launch = clusters((30 * 4, 1, 1), '"ttg.cluster-dim-x" = 4 : i32')
    launch.metadata["shared"] = LIMITS.shared_memory_per_block
    assert execute(launch).trace.statistics["waves"] == 1


def test_programs_of_several_ctas():
    assert refused(clusters((1, 1, 1), '"ttg.num-ctas" = 2 : i32'), UnsupportedOperation) == (
        "kernel nothing spreads each program over 2 CTAs (num_ctas), which this version does not simulate: "
        "use num_ctas=1, or clusters of programs (ctas_per_cga)"
    )


SCRIPT = """
import torch, triton
import triton.language as tl
import triton.language.extra.tlx as tlx

@triton.jit
def large(x_ptr):
    tiles = tlx.local_alloc((64, 64), tl.float16, 32)
    at = tl.arange(0, 64)[:, None] * 64 + tl.arange(0, 64)[None, :]
    tlx.local_store(tiles[31], tl.load(x_ptr + at))
    tl.store(x_ptr + at, tlx.local_load(tiles[31]))

large[(1,)](torch.zeros(64, 64, dtype=torch.float16, device="cuda"))
"""


def test_what_the_command_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.chdir(tmp_path)
    Path("large.py").write_text(dedent(SCRIPT))
    assert main(["run", "--device", "sim:h200", "large.py"]) == ExitCode.CANNOT_RUN
    said = capsys.readouterr().err
    assert said.startswith("tlxviz: error: kernel large needs ")
    assert said.count("\n") == 1
