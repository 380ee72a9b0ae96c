"""Warp groups: partitions, replicas, captures; and what tells threads apart."""

from __future__ import annotations

import pytest
import torch
from kernel_runner import executes, fbtriton_only, run_kernel, run_ttgir

triton = pytest.importorskip("triton")
tlx = pytest.importorskip("triton.language.extra.tlx")
tl = pytest.importorskip("triton.language")


@triton.jit
def shared_out(x_ptr, y_ptr, scale, size, BLOCK: tl.constexpr):
    start = tl.program_id(0) * BLOCK * 4
    with tlx.async_tasks():
        with tlx.async_task("default"):
            at = start + tl.arange(0, BLOCK)
            tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < size) * scale, mask=at < size)
        with tlx.async_task(num_warps=2, replicate=2):
            at = start + (1 + tlx.async_task_replica_id()) * BLOCK + tl.arange(0, BLOCK)
            tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < size) * scale, mask=at < size)
        with tlx.async_task(num_warps=1):
            at = start + 3 * BLOCK + tl.arange(0, BLOCK)
            tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < size) * scale, mask=at < size)


@fbtriton_only("tasks of fewer warps than the first have no tensors")
@executes("ttg.warp_specialize", "ttg.warp_yield", "ttg.warp_return")
def test_every_partition_and_replica_does_its_part():
    x, y = torch.randn(1000), torch.zeros(1000)
    run = run_kernel(shared_out, (4,), x, y, 3.0, 1000, BLOCK=64)
    assert torch.equal(y, x * 3)
    assert [agent.warps for agent in run.trace.agents] == [4, 2, 2, 1]


@triton.jit
def twice(y_ptr):
    bars = tlx.alloc_barriers(2)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.barrier_wait(bars[0], 0)
            tl.store(y_ptr, tl.load(y_ptr) + 1)
        with tlx.async_task(num_warps=4):
            tl.store(y_ptr, 10)
            tlx.barrier_arrive(bars[0])
    tl.debug_barrier()
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.barrier_wait(bars[1], 0)
            tl.store(y_ptr, tl.load(y_ptr) + 5)
        with tlx.async_task(num_warps=4):
            tl.store(y_ptr, tl.load(y_ptr) * 2)
            tlx.barrier_arrive(bars[1])
    tl.store(y_ptr + 1, tl.load(y_ptr) + 100)


@executes("ttg.warp_specialize")
def test_one_set_of_tasks_after_the_other():
    y = torch.zeros(2, dtype=torch.int32)
    run_kernel(twice, (1,), y)
    assert y.tolist() == [27, 127]


@triton.jit
def in_a_loop(y_ptr, times):
    bars = tlx.alloc_barriers(1)
    for n in range(times):
        with tlx.async_tasks():
            with tlx.async_task("default"):
                tlx.barrier_wait(bars[0], n & 1)
                tl.store(y_ptr, tl.load(y_ptr) + 1)
            with tlx.async_task(num_warps=1):
                tl.store(y_ptr, tl.load(y_ptr) * 2)
                tlx.barrier_arrive(bars[0])


def test_tasks_in_a_loop():
    y = torch.ones(1, dtype=torch.int32)
    run_kernel(in_a_loop, (1,), y, 5)
    assert y.item() == 63


@executes("ttg.warp_specialize", "ttg.warp_yield", "ttg.warp_return")
def test_captured_tensors():
    """The compiler of today refuses them in TLX; TTGIR allows them."""
    layout = "#ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>"
    value, pointers = f"tensor<128xi32, {layout}>", f"tensor<128x!tt.ptr<i32>, {layout}>"
    y, z = torch.zeros(128, dtype=torch.int32), torch.zeros(128, dtype=torch.int32)
    run_ttgir(
        f"""
  tt.func public @captures(%y: !tt.ptr<i32>, %z: !tt.ptr<i32>, %n: i32) {{
    %range = tt.make_range {{end = 128 : i32, start = 0 : i32}} : {value}
    %splat = tt.splat %n : i32 -> {value}
    %mixed = arith.muli %range, %splat : {value}
    %base = tt.splat %z : !tt.ptr<i32> -> {pointers}
    %places = tt.addptr %base, %range : {pointers}, {value}
    ttg.warp_specialize(%mixed, %places)
    default {{
      %target = tt.splat %y : !tt.ptr<i32> -> {pointers}
      %at = tt.addptr %target, %range : {pointers}, {value}
      %sum = arith.addi %mixed, %splat : {value}
      tt.store %at, %sum : {pointers}
      ttg.warp_yield
    }}
    partition0(%a: {value}, %p: {pointers}) num_warps(4) {{
      %twice = arith.addi %a, %a : {value}
      tt.store %p, %twice : {pointers}
      ttg.warp_return
    }} : ({value}, {pointers}) -> ()
    tt.return
  }}""",
        y,
        z,
        7,
    )
    numbers = torch.arange(128, dtype=torch.int32)
    assert torch.equal(y, numbers * 7 + 7)
    assert torch.equal(z, numbers * 14)


@triton.jit
def first_threads(y_ptr):
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tl.store(y_ptr, tlx.thread_id(0))
        with tlx.async_task(num_warps=1):
            tl.store(y_ptr + 1, tlx.thread_id(0))
        with tlx.async_task(num_warps=2, replicate=2):
            tl.store(y_ptr + 2 + tlx.async_task_replica_id(), tlx.thread_id(0))
        with tlx.async_task(num_warps=4):
            tl.store(y_ptr + 4, tlx.thread_id(0))
            tl.store(y_ptr + 5, tlx.thread_id(1))


@executes("gpu.thread_id")
def test_the_first_thread_speaks_for_a_warp_group():
    """The compiler lays partitions out by size, with idle ones that fill the last four warps: here 4, 2, 2, 2, 1, 1."""
    y = torch.full((6,), -1, dtype=torch.int32)
    run_kernel(first_threads, (1,), y)
    assert y.tolist() == [0, 448, 256, 320, 128, 0]


@triton.jit
def timed(y_ptr, x_ptr, BLOCK: tl.constexpr):
    begin = tlx.clock64()
    at = tl.arange(0, BLOCK)
    tl.store(x_ptr + at, tl.exp(tl.load(x_ptr + at)))
    tl.store(y_ptr, tlx.clock64() - begin)


@fbtriton_only("clock64 is not registered")
@executes("ttg.clock64")
def test_the_clock_goes_on():
    y = torch.zeros(1, dtype=torch.int64)
    run_kernel(timed, (1,), y, torch.zeros(1024), BLOCK=1024)
    assert 200 < y.item() < 5000


@triton.jit
def voted(x_ptr, y_ptr):
    at = tl.arange(0, 128)
    flags = tl.load(x_ptr + at) > 0
    tl.store(y_ptr + at, tlx.vote_ballot_sync(0xFFFFFFFF, flags))


@fbtriton_only("the compiler crashes on vote_ballot_sync")
@executes("ttng.vote_ballot_sync")
def test_votes_of_warps():
    x, y = torch.randn(128), torch.zeros(128, dtype=torch.int32)
    run_kernel(voted, (1,), x, y)
    for warp in range(4):
        bits = sum(1 << lane for lane in range(32) if x[warp * 32 + lane] > 0)
        wanted = bits - 2**32 if bits >= 2**31 else bits
        assert y[warp * 32 : warp * 32 + 32].tolist() == [wanted] * 32
