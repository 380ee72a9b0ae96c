"""mbarriers and named barriers: counts, phases, predicates; who goes on, and when."""

from __future__ import annotations

import pytest
import torch
from kernel_runner import executes, fbtriton_only, run_kernel, run_ttgir

triton = pytest.importorskip("triton")
tlx = pytest.importorskip("triton.language.extra.tlx")
tl = pytest.importorskip("triton.language")


@triton.jit
def counted(y_ptr, COUNT: tl.constexpr, TIMES: tl.constexpr):
    box = tlx.local_alloc((128,), tl.int32, 1)
    full = tlx.alloc_barriers(1, arrive_count=COUNT)
    empty = tlx.alloc_barriers(1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            at = tl.arange(0, 128)
            for n in range(TIMES):
                tlx.barrier_wait(full[0], n & 1)
                tl.store(y_ptr + n * 128 + at, tlx.local_load(box[0]))
                tlx.barrier_arrive(empty[0])
        with tlx.async_task(num_warps=4):
            at = tl.arange(0, 128)
            for n in range(TIMES):
                tlx.barrier_wait(empty[0], (n & 1) ^ 1)
                tlx.local_store(box[0], at + n * 100)
                for _ in range(COUNT - 2):
                    tlx.barrier_arrive(full[0])
                tlx.barrier_arrive(full[0], 2)


@pytest.mark.parametrize("count", [2, 3, 5])
@executes("ttng.init_barrier", "ttng.wait_barrier", "ttng.arrive_barrier")
def test_a_phase_takes_as_many_arrivals_as_its_count(count: int):
    y = torch.zeros(5, 128, dtype=torch.int32)
    run_kernel(counted, (1,), y, COUNT=count, TIMES=5)
    assert torch.equal(y, torch.arange(5, dtype=torch.int32)[:, None] * 100 + torch.arange(128, dtype=torch.int32))


@triton.jit
def by_warps(y_ptr, TIMES: tl.constexpr):
    box = tlx.local_alloc((128,), tl.int32, 1)
    full = tlx.alloc_warp_barrier(1, num_warps=4)
    empty = tlx.alloc_warp_barrier(1, num_warps=4, num_arrivals=2)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            at = tl.arange(0, 128)
            for n in range(TIMES):
                tlx.barrier_wait(full[0], n & 1)
                tl.store(y_ptr + n * 128 + at, tlx.local_load(box[0]))
                tlx.barrier_arrive(empty[0])
                tlx.barrier_arrive(empty[0])
        with tlx.async_task(num_warps=4):
            at = tl.arange(0, 128)
            for n in range(TIMES):
                tlx.barrier_wait(empty[0], (n & 1) ^ 1)
                tlx.local_store(box[0], at + n * 1000)
                tlx.barrier_arrive(full[0])


@executes("ttng.arrive_barrier", utlx=["tlx.warp_barrier_arrive"])
def test_warp_barriers_count_threads():
    y = torch.zeros(4, 128, dtype=torch.int32)
    run_kernel(by_warps, (1,), y, TIMES=4)
    assert torch.equal(y, torch.arange(4, dtype=torch.int32)[:, None] * 1000 + torch.arange(128, dtype=torch.int32))


@triton.jit
def under_conditions(y_ptr, TIMES: tl.constexpr):
    bars = tlx.alloc_barriers(2)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            at = tl.arange(0, 32)
            rounds = 0
            for n in range(TIMES):
                odd = n % 2 == 1
                tlx.barrier_wait(bars[0], rounds & 1, pred=odd)
                tlx.barrier_arrive(bars[1], 1, pred=odd)
                rounds += odd.to(tl.int32)
            tl.store(y_ptr + at, at + rounds)
        with tlx.async_task(num_warps=1):
            rounds = 0
            for n in range(TIMES):
                odd = n % 2 == 1
                tlx.barrier_arrive(bars[0], 1, pred=odd)
                tlx.barrier_wait(bars[1], rounds & 1, pred=odd)
                rounds += odd.to(tl.int32)


@fbtriton_only("barrier_arrive takes no predicate")
@executes("ttng.wait_barrier", "ttng.arrive_barrier")
def test_predicates():
    y = torch.zeros(32, dtype=torch.int32)
    run_kernel(under_conditions, (1,), y, TIMES=9)
    assert torch.equal(y, torch.arange(32, dtype=torch.int32) + 4)


@triton.jit
def named(y_ptr, TIMES: tl.constexpr):
    box = tlx.local_alloc((128,), tl.int32, 1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            at = tl.arange(0, 128)
            for n in range(TIMES):
                tlx.named_barrier_wait(9, 256)
                tl.store(y_ptr + n * 128 + at, tlx.local_load(box[0]))
                tlx.named_barrier_arrive(10, 256)
        with tlx.async_task(num_warps=4):
            at = tl.arange(0, 128)
            for n in range(TIMES):
                tlx.local_store(box[0], at * n)
                tlx.named_barrier_arrive(9, 256)
                tlx.named_barrier_wait(10, 256)


@executes(
    "ttng.wait_barrier_named",
    "ttng.arrive_barrier_named",
    utlx=["tlx.named_barrier_wait", "tlx.named_barrier_arrive"],
)
def test_named_barriers_hand_over():
    y = torch.zeros(4, 128, dtype=torch.int32)
    run_kernel(named, (1,), y, TIMES=4)
    assert torch.equal(y, torch.arange(4, dtype=torch.int32)[:, None] * torch.arange(128, dtype=torch.int32))


@triton.jit
def meeting(y_ptr):
    bars = tlx.alloc_barriers(1)
    tlx.barrier_expect_bytes(bars[0], 0)
    tlx.barrier_wait(bars[0], 0)
    tl.debug_barrier()
    tlx.fence("gpu")
    tlx.fence("sys")
    tlx.fence("async_shared")
    tlx.fence_mbarrier_init_cluster()
    tlx.cluster_barrier()
    tl.store(y_ptr, tlx.cluster_cta_rank() + 10 * tlx.cluster_size_1d())


@fbtriton_only("its fence and the size of its cluster are not registered, its cluster barrier wants more than one CTA")
@executes("ttng.barrier_expect", "ttg.barrier", "ttng.fence", "ttng.fence_async_shared")
@executes("ttng.fence_mbarrier_init_release_cluster", "nvg.cluster_id", "ttng.cluster_size_1d")
@executes("ttng.cluster_arrive", "ttng.cluster_wait")
def test_fences_and_a_cluster_of_one():
    y = torch.zeros(1, dtype=torch.int32)
    run_kernel(meeting, (1,), y)
    assert y.item() == 10


LAYOUT = "#ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>"
BAR = f"!ttg.memdesc<1xi64, {LAYOUT}, #ttg.shared_memory, mutable>"
REMOTE = BAR.replace("#ttg.shared_memory", "#ttng.shared_cluster_memory")


@executes("ttng.map_to_remote_buffer", "ttng.inval_barrier", "nvg.cluster_id")
def test_a_remote_arrive_at_home_and_the_end_of_a_barrier():
    y = torch.zeros(1, dtype=torch.int32)
    run_ttgir(
        f"""
  tt.func public @at_home(%y: !tt.ptr<i32>) {{
    %true = arith.constant true
    %c0 = arith.constant 0 : i32
    %c5 = arith.constant 5 : i32
    %bars = ttg.local_alloc : () -> {BAR}
    %bar = ttg.memdesc_index %bars[%c0] : {BAR} -> {BAR}
    ttng.init_barrier %bar, 1 : {BAR}
    %rank = nvg.cluster_id
    %there = ttng.map_to_remote_buffer %bar, %rank : {BAR} -> {REMOTE}
    ttng.arrive_barrier %there, 1 : {REMOTE}
    ttng.wait_barrier %bar, %c0, %true : {BAR}
    ttng.inval_barrier %bar : {BAR}
    tt.store %y, %c5 : !tt.ptr<i32>
    tt.return
  }}""",
        y,
    )
    assert y.item() == 5
