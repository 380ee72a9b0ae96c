"""Small kernels that each have one known bottleneck, simulated on an H200: a function for each gives the launch.

They run with values off, so that what they compute is nothing; times are those of a run.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from sim.kernel_runner import compile_kernel, h200
from sim.tutorial_driver import folder

from tlxviz.launch.script import run_script
from tlxviz.sim.recorder import SimulatedRecorder
from tlxviz.sim.recording import Recording
from tlxviz.trace import LaunchTrace

triton = pytest.importorskip("triton")
tlx = pytest.importorskip("triton.language.extra.tlx")
tl = pytest.importorskip("triton.language")

SMS = 132
sys.path.append(str(Path(__file__).resolve().parents[2] / "kernels"))
DRIVER = Path(__file__).parents[1] / "sim" / "tutorial_driver.py"


@triton.jit
def ring(x_desc, y, STEPS, ROWS: tl.constexpr, COLUMNS: tl.constexpr, S: tl.constexpr, ROUNDS: tl.constexpr):
    """Sums STEPS tiles of each CTA over a ring of S slots, with ROUNDS exponentials for each element.

    If ROUNDS is negative, it does not even read them.
    """
    slots = tlx.local_alloc((ROWS, COLUMNS), tl.float16, S)
    full = tlx.alloc_barriers(S)
    empty = tlx.alloc_barriers(S)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            total = tl.zeros((ROWS, COLUMNS), tl.float32)
            for step in range(STEPS):
                at = step % S
                tlx.barrier_wait(full[at], (step // S) & 1)
                if ROUNDS >= 0:
                    x = tlx.local_load(slots[at]).to(tl.float32)
                    tlx.barrier_arrive(empty[at])
                    for _ in tl.static_range(ROUNDS):
                        x = tl.exp2(x) - 1.0
                    total += x
                else:
                    tlx.barrier_arrive(empty[at])
            rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
            columns = tl.arange(0, COLUMNS)
            tl.store(y + rows[:, None] * COLUMNS + columns[None, :], total.to(tl.float16))
        with tlx.async_task(num_warps=1, num_regs=40):
            for step in range(STEPS):
                at = step % S
                tlx.barrier_wait(empty[at], ((step // S) & 1) ^ 1)
                tlx.barrier_expect_bytes(full[at], ROWS * COLUMNS * 2)
                row = (tl.program_id(0) * STEPS + step) * ROWS
                tlx.async_descriptor_load(x_desc, slots[at], [row, 0], full[at])


@triton.jit
def blocking_epilogue(
    a_desc, b_desc, c_desc, TILES, STEPS, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, S: tl.constexpr
):
    """A persistent GEMM whose only consumer waits for its tile to be stored before it multiplies the next."""
    a = tlx.local_alloc((M, K), tl.float16, S)
    b = tlx.local_alloc((K, N), tl.float16, S)
    c = tlx.local_alloc((M, N), tl.float16, 1)
    full = tlx.alloc_barriers(S)
    empty = tlx.alloc_barriers(S)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            step = 0
            for tile in range(tl.program_id(0), TILES, tl.num_programs(0)):
                total = tl.zeros((M, N), tl.float32)
                for _ in range(STEPS):
                    at = step % S
                    tlx.barrier_wait(full[at], (step // S) & 1)
                    total = tlx.async_dot(a[at], b[at], total)
                    total = tlx.async_dot_wait(0, total)
                    tlx.barrier_arrive(empty[at])
                    step += 1
                tlx.local_store(c[0], total.to(tl.float16))
                tlx.fence("async_shared")
                tlx.async_descriptor_store(c_desc, c[0], [tile * M, 0])
                tlx.async_descriptor_store_wait(0)
        with tlx.async_task(num_warps=1, num_regs=40):
            step = 0
            for tile in range(tl.program_id(0), TILES, tl.num_programs(0)):
                for k in range(STEPS):
                    at = step % S
                    tlx.barrier_wait(empty[at], ((step // S) & 1) ^ 1)
                    tlx.barrier_expect_bytes(full[at], (M + N) * K * 2)
                    tlx.async_descriptor_load(a_desc, a[at], [tile * M, k * K], full[at])
                    tlx.async_descriptor_load(b_desc, b[at], [k * K, 0], full[at])
                    step += 1


@triton.jit
def turns(y, STEPS, SIZE: tl.constexpr, ROUNDS: tl.constexpr):
    """Two warp groups compute by turns: one waits at a named barrier until the other has arrived."""
    with tlx.async_tasks():
        with tlx.async_task("default"):
            x = tl.arange(0, SIZE).to(tl.float32)
            for _ in range(STEPS):
                tlx.named_barrier_wait(9, 256)
                for _ in tl.static_range(ROUNDS):
                    x = tl.exp2(x) - 1.0
                tlx.named_barrier_arrive(10, 256)
            tl.store(y + tl.arange(0, SIZE), x)
        with tlx.async_task(num_warps=4, num_regs=240):
            x = tl.arange(0, SIZE).to(tl.float32)
            for _ in range(STEPS):
                tlx.named_barrier_arrive(9, 256)
                tlx.named_barrier_wait(10, 256)
                for _ in tl.static_range(ROUNDS):
                    x = tl.exp2(x) - 1.0
            tl.store(y + SIZE + tl.arange(0, SIZE), x)


def _launched(function: Any, grid: int, *args: Any, **options: Any) -> LaunchTrace:
    """CTA 0 and the others of its SM."""
    recorder = SimulatedRecorder(h200(), Recording(), values=False)
    recorder.execute(compile_kernel(function, (grid,), *args, **options))
    return recorder.trace.launches[-1]


def _descriptor(rows: int, columns: int, block: list[int]) -> Any:
    from triton.tools.tensor_descriptor import TensorDescriptor

    return TensorDescriptor.from_tensor(torch.empty(rows, columns, dtype=torch.float16), block)


def _ring(grid: int, steps: int, rows: int, columns: int, slots: int, rounds: int) -> LaunchTrace:
    x = _descriptor(grid * steps * rows, columns, [rows, columns])
    y = torch.empty(grid * rows, columns, dtype=torch.float16)
    return _launched(ring, grid, x, y, steps, ROWS=rows, COLUMNS=columns, S=slots, ROUNDS=rounds)


def copy_latency() -> LaunchTrace:
    """A ring of one slot: nothing is copied while the consumer works, and the consumer waits for each copy."""
    return _ring(8, 40, 32, 64, slots=1, rounds=0)


def copy_bandwidth() -> LaunchTrace:
    """Large tiles that nothing is done with, on all SMs: six under way are more than memory gives at once."""
    return _ring(SMS, 40, 128, 128, slots=6, rounds=-1)


def arithmetic() -> LaunchTrace:
    """Two dozen exponentials for each element: the consumer is what takes long, and the ring is full."""
    return _ring(8, 40, 64, 64, slots=3, rounds=24)


def lopsided_grid() -> LaunchTrace:
    """A tenth more CTAs than SMs, of which each takes one: the second wave is nearly empty."""
    return _ring(SMS + SMS // 10, 12, 128, 128, slots=6, rounds=2)


def taking_turns() -> LaunchTrace:
    """Two warp groups of which only one computes at a time, though both could."""
    return _launched(turns, 1, torch.empty(8192), 30, SIZE=4096, ROUNDS=8)


def epilogue_blocks() -> LaunchTrace:
    """Tiles of two steps: most of the consumer's time goes by between its main loops."""
    m, n, k, tiles, steps = 64, 256, 64, 64, 2
    a = _descriptor(tiles * m, steps * k, [m, k])
    b, c = _descriptor(steps * k, n, [k, n]), _descriptor(tiles * m, n, [m, n])
    return _launched(blocking_epilogue, 8, a, b, c, tiles, steps, M=m, N=n, K=k, S=4)


def tensor_core() -> LaunchTrace:
    """A large GEMM: the tensor core is always busy."""
    import hopper_gemm_ws as module

    m = n = k = 4096
    a, b = _descriptor(m, k, [64, 64]), _descriptor(k, n, [64, 256])
    c = _descriptor(m, n, [64, 64])
    blocks = {"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64, "GROUP_M": 8, "STAGES": 4, "NUM_SMS": SMS}
    return _launched(module.hopper_gemm_ws, SMS, a, b, c, m, n, k, **blocks, num_warps=4, num_stages=1)


def _attention(tutorial: str, *, first_config: bool = False) -> LaunchTrace:
    if not (folder() / f"{tutorial}.py").exists():
        pytest.skip(f"this TLX has no tutorial {tutorial}")
    recorder = SimulatedRecorder(h200(), values=False)
    options = {"sizes": [1, 4, 2048, 128]}
    run_script(
        DRIVER, [tutorial, "attention", json.dumps(options)], h200(), recorder.execute, first_config=first_config
    )
    return recorder.trace.launches[-1]


def one_consumer() -> LaunchTrace:
    """Attention of one consumer: the tensor core idles while it does its softmax."""
    return _attention("hopper_fa_ws", first_config=True)


def without_ping_pong() -> LaunchTrace:
    """Attention of two consumers that do their softmax, and their products, whenever they come to it."""
    return _attention("hopper_fa_ws_pipelined")


def with_ping_pong() -> LaunchTrace:
    """The same by turns: named barriers let one do its products while the other does its softmax."""
    return _attention("hopper_fa_ws_pipelined_pingpong")
