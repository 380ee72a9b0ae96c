"""Clusters: ranks, barriers, arrivals, stores, copies and multicast between CTAs."""

from __future__ import annotations

import gc
import math

import numpy as np
import pytest
import torch
from cluster_runner import CLUSTER, PAIR, WAKE, both, descriptor, events
from kernel_runner import compile_kernel, execute, executes, h200, run_kernel, ttgir_launch

from tlxviz.sim.engine import Cta
from tlxviz.sim.errors import InvalidGridError, SimulationError

triton = pytest.importorskip("triton")
tlx = pytest.importorskip("triton.language.extra.tlx")
tl = pytest.importorskip("triton.language")
if not hasattr(tlx, "remote_view") or "+fb" not in triton.__version__:
    pytest.skip(
        "triton 3.8 has no mapped buffers, so triton-utlx reaches no other CTA of a cluster", allow_module_level=True
    )


# ---------------------------------------------------------------------- who is who


@triton.jit
def ranks(y_ptr):
    at = tl.program_id(0) + tl.num_programs(0) * (tl.program_id(1) + tl.num_programs(1) * tl.program_id(2))
    tl.store(y_ptr + at, tlx.cluster_cta_rank() + 10 * tlx.cluster_size_1d())


@executes("nvg.cluster_id", "ttng.cluster_size_1d")
def test_ranks_count_along_x_then_y_then_z():
    y = torch.zeros(2, 3, 4, dtype=torch.int32)
    run = run_kernel(ranks, (4, 3, 2), y, ctas_per_cga=(2, 1, 2))
    row = [40, 41, 40, 41]
    assert y.tolist() == [[row] * 3, [[42, 43, 42, 43]] * 3]
    # the cluster of CTA 0 has CTAs (0, 0, 0), (1, 0, 0), (0, 0, 1) and (1, 0, 1), on neighbouring SMs
    assert [(track.cta, track.sm) for track in run.trace.tracks] == [(0, 0), (1, 1), (12, 2), (13, 3)]


def test_the_cluster_of_every_requested_cta_is_traced():
    run = run_kernel(ranks, (8,), torch.zeros(8, dtype=torch.int32), ctas=[5, 2], **PAIR)
    assert [track.cta for track in run.trace.tracks] == [2, 3, 4, 5]
    assert run.trace.statistics["ctas_traced"] == 4


@triton.jit
def registers(y_ptr):
    rank = tl.inline_asm_elementwise("mov.u32 $0, %cluster_ctarank;", "=r", [], tl.int32, is_pure=True, pack=1)
    size = tl.inline_asm_elementwise("mov.u32 $0, %cluster_nctarank;", "=r", [], tl.int32, is_pure=True, pack=1)
    tl.store(y_ptr + tl.program_id(0), rank + 10 * size)


def test_ranks_in_inline_assembly():
    y = torch.zeros(4, dtype=torch.int32)
    run_kernel(registers, (4,), y, **PAIR)
    assert y.tolist() == [20, 21, 20, 21]
    run_kernel(registers, (4,), y)
    assert y.tolist() == [10] * 4


@pytest.mark.parametrize("wide", [0, -2])
def test_a_cluster_has_ctas(wide: int):
    with pytest.raises(InvalidGridError, match="ctas_per_cga counts from 1"):
        run_kernel(ranks, (4,), torch.zeros(4, dtype=torch.int32), ctas_per_cga=(wide, 1, 1))


def test_a_grid_that_is_no_multiple_of_the_cluster():
    with pytest.raises(SimulationError) as caught:
        run_kernel(ranks, (3,), torch.zeros(3, dtype=torch.int32), **PAIR)
    assert str(caught.value) == ("kernel ranks has grid (3, 1, 1) and clusters of (2, 1, 1): x must be a multiple of 2")


# ---------------------------------------------------------------------- arrivals and barriers


@triton.jit
def handshake(y_ptr, ROUNDS: tl.constexpr):
    rank = tlx.cluster_cta_rank()
    bars = tlx.alloc_barriers(1)
    for i in range(ROUNDS):
        if rank == 0:
            tlx.barrier_arrive(bars[0], remote_cta_rank=1)
            tlx.barrier_wait(bars[0], i & 1)
        else:
            tlx.barrier_wait(bars[0], i & 1)
            tlx.barrier_arrive(bars[0], remote_cta_rank=0)
    tl.store(y_ptr + tl.program_id(0), 1 + rank)


@executes("ttng.map_to_remote_buffer", "ttng.arrive_barrier", "ttng.wait_barrier")
def test_remote_arrivals():
    y = torch.zeros(4, dtype=torch.int32)
    run_kernel(handshake, (4,), y, ROUNDS=3, **PAIR)
    assert y.tolist() == [1, 2, 1, 2]


def test_when_remote_arrivals_arrive_and_who_they_release():
    trace = both(handshake, (2,), torch.zeros(2, dtype=torch.int32), ROUNDS=3, **PAIR).trace
    arrivals, waits = events(trace, "arrive", 0), events(trace, "wait", 1)
    assert len(arrivals) == len(waits) == 3
    for arrival, wait in zip(arrivals, waits, strict=True):
        assert wait["released_by"] == arrival["row"]
        assert wait["end"] == arrival["end"] + CLUSTER.remote_arrive_cycles + WAKE
        assert wait["slot"] == 0
    assert [wait["phase"] for wait in waits] == [0, 1, 0]
    assert [[each["peer"] for each in those] for those in (arrivals, waits)] == [[1] * 3, [-1] * 3]
    back = events(trace, "wait", 0)
    assert [each["released_by"] for each in back] == [each["row"] for each in events(trace, "arrive", 1)]
    assert [each["peer"] for each in events(trace, "arrive", 1)] == [0] * 3
    assert trace.cluster == (2, 1, 1)


@triton.jit
def meeting(y_ptr, STEPS):
    rank = tlx.cluster_cta_rank()
    if rank == 1:
        for i in range(STEPS):
            tl.store(y_ptr + 16 + i, i)
            tl.debug_barrier()
    tlx.cluster_barrier()
    tl.store(y_ptr + tl.program_id(0), 1 + rank)


@executes("ttng.cluster_arrive", "ttng.cluster_wait")
def test_a_cluster_barrier_waits_for_the_last():
    y = torch.zeros(64, dtype=torch.int32)
    trace = both(meeting, (2,), y, 40, **PAIR).trace
    assert y[:2].tolist() == [1, 2]
    (early,), (late,) = events(trace, "cluster_arrive", 0), events(trace, "cluster_arrive", 1)
    assert late["begin"] > early["end"]
    for arrival in (early, late):
        assert arrival["end"] - arrival["begin"] == CLUSTER.release_cycles
    for cta in (0, 1):
        (wait,) = events(trace, "cluster_wait", cta)
        assert wait["released_by"] == late["row"]
        assert wait["end"] == late["end"] + CLUSTER.barrier_cycles


@triton.jit
def leaving(y_ptr):
    if tlx.cluster_cta_rank() == 0:
        tlx.cluster_barrier()
    tl.store(y_ptr + tl.program_id(0), 1)


def test_a_cta_that_has_ended_is_not_waited_for():
    y = torch.zeros(2, dtype=torch.int32)
    trace = both(leaving, (2,), y, **PAIR).trace
    assert y.tolist() == [1, 1]
    (wait,) = events(trace, "cluster_wait", 0)
    (track,) = [track for track in trace.tracks if track.cta == 1]
    assert wait["end"] == max(track.end, wait["begin"]) + CLUSTER.barrier_cycles


# ---------------------------------------------------------------------- stores and copies


@triton.jit
def exchange(y_ptr, HOW: tl.constexpr):
    rank = tlx.cluster_cta_rank()
    buf = tlx.local_alloc((128,), tl.float32, 2)
    bars = tlx.alloc_barriers(1)
    at = tl.arange(0, 128)
    x = at.to(tl.float32) + 1000 * rank
    tlx.local_store(buf[0], x)
    if HOW != "store":
        tlx.barrier_expect_bytes(bars[0], 512)
    tlx.fence("async_shared")
    tlx.cluster_barrier()
    if HOW == "store":
        tlx.remote_shmem_store(dst=buf[1], src=x, remote_cta_rank=rank ^ 1)
        tlx.cluster_barrier()
    elif HOW == "async_store":
        tlx.async_remote_shmem_store(dst=buf[1], src=x, remote_cta_rank=rank ^ 1, barrier=bars[0])
        tlx.barrier_wait(bars[0], 0)
    else:
        tlx.async_remote_shmem_copy(dst=buf[1], src=buf[0], remote_cta_rank=rank ^ 1, barrier=bars[0])
        tlx.barrier_wait(bars[0], 0)
    tl.store(y_ptr + tl.program_id(0) * 128 + at, tlx.local_load(buf[1]))


@executes("ttg.remote_shmem_store")
def test_a_store_is_there_after_a_cluster_barrier():
    _check_exchange("store")


@executes("ttg.async_remote_shmem_store")
def test_an_asynchronous_store_tells_the_barrier_beside_it():
    _check_exchange("async_store")


@executes("ttg.async_remote_shmem_copy")
def test_a_copy_tells_the_barrier_beside_it():
    _check_exchange("copy")


def _check_exchange(how: str) -> None:
    y = torch.zeros(4, 128)
    run_kernel(exchange, (4,), y, HOW=how, **PAIR)
    for cta in range(4):
        assert y[cta].tolist() == [1000.0 * ((cta & 1) ^ 1) + at for at in range(128)]


def test_when_stores_land():
    trace = both(exchange, (2,), torch.zeros(2, 128), HOW="async_store", **PAIR).trace
    (store,) = events(trace, "async_copy", 0)
    (wait,) = events(trace, "wait", 1)
    # 512 bytes at 20.7 a cycle take 24.7 cycles, after 181
    assert wait["end"] == store["end"] + 206 + WAKE
    assert (wait["released_by"], store["bytes"], store["peer"]) == (store["row"], 512, 1)


def test_when_copies_land():
    trace = both(exchange, (2,), torch.zeros(2, 128), HOW="copy", **PAIR).trace
    (issue,), (copy,) = events(trace, "async_copy", 0), events(trace, "async_copy", 0, engine=True)
    (wait,) = events(trace, "wait", 1)
    assert copy["end"] == copy["begin"] + 25 + CLUSTER.copy_latency_cycles
    assert (copy["begin"], copy["released_by"], copy["bytes"]) == (issue["end"], issue["row"], 512)
    assert (wait["end"], wait["released_by"]) == (copy["end"] + WAKE, copy["row"])
    assert (issue["peer"], copy["peer"]) == (1, 1)


def test_a_store_before_a_cluster_barrier_delays_it():
    trace = both(exchange, (2,), torch.zeros(2, 128), HOW="store", **PAIR).trace
    (store,) = events(trace, "async_copy", 0)
    arrival = events(trace, "cluster_arrive", 0)[1]
    assert arrival["end"] == store["end"] + 206 + CLUSTER.release_cycles


LAYOUT = "#ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>"
BLOCKED = "#ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>"
HERE = f"!ttg.memdesc<128xi32, {LAYOUT}, #ttg.shared_memory, mutable>"
THERE = HERE.replace("#ttg.shared_memory", "#ttng.shared_cluster_memory")
VECTOR = f"tensor<128xi32, {BLOCKED}>"
POINTERS = f"tensor<128x!tt.ptr<i32>, {BLOCKED}>"
MAPPED = f"""
  tt.func public @mapped(%y: !tt.ptr<i32>) {{
    %c1 = arith.constant 1 : i32
    %c128 = arith.constant 128 : i32
    %rank = nvg.cluster_id
    %other = arith.xori %rank, %c1 : i32
    %at = tt.make_range {{end = 128 : i32, start = 0 : i32}} : {VECTOR}
    %mine = tt.splat %rank : i32 -> {VECTOR}
    %x = arith.addi %at, %mine : {VECTOR}
    %written = ttg.local_alloc : () -> {HERE}
    %read = ttg.local_alloc %x : ({VECTOR}) -> {HERE}
    %to = ttng.map_to_remote_buffer %written, %other : {HERE} -> {THERE}
    %from = ttng.map_to_remote_buffer %read, %other : {HERE} -> {THERE}
    ttng.cluster_arrive
    ttng.cluster_wait
    %got = ttg.local_load %from : {THERE} -> {VECTOR}
    ttg.local_store %x, %to : {VECTOR} -> {THERE}
    ttng.cluster_arrive
    ttng.cluster_wait
    %put = ttg.local_load %written : {HERE} -> {VECTOR}
    %sum = arith.addi %got, %put : {VECTOR}
    %first = arith.muli %rank, %c128 : i32
    %base = tt.addptr %y, %first : !tt.ptr<i32>, i32
    %bases = tt.splat %base : !tt.ptr<i32> -> {POINTERS}
    %pointers = tt.addptr %bases, %at : {POINTERS}, {VECTOR}
    tt.store %pointers, %sum : {POINTERS}
    tt.return
  }}"""


@executes("ttng.map_to_remote_buffer", "ttg.local_load", "ttg.local_store")
def test_loads_and_stores_through_mapped_memory():
    y = torch.zeros(2, 128, dtype=torch.int32)
    launch = ttgir_launch(MAPPED, y, grid=(2, 1, 1))
    launch.ttgir = launch.ttgir.replace("ttg.target", '"ttg.cluster-dim-x" = 2 : i32, ttg.target')
    execute(launch)
    assert y[0].tolist() == [2 * (at + 1) for at in range(128)]
    assert y[1].tolist() == [2 * at for at in range(128)]


# ---------------------------------------------------------------------- multicast


@triton.jit
def spread(desc, y_ptr, SLICED: tl.constexpr):
    rank = tlx.cluster_cta_rank()
    tile = tlx.local_alloc((64, 64), tl.float16, 2)
    bars = tlx.alloc_barriers(2)
    tlx.barrier_expect_bytes(bars[1], 64 * 64 * 2)
    tlx.cluster_barrier()
    if SLICED:
        if rank == 0:
            half = tlx.local_slice(tile[1], [0, 0], [32, 64])
        else:
            half = tlx.local_slice(tile[1], [32, 0], [32, 64])
        tlx.async_descriptor_load(desc, half, [rank * 32, 0], bars[1], multicast_targets=[rank, rank ^ 1])
    elif rank == 1:
        tlx.async_descriptor_load(desc, tile[1], [0, 0], bars[1], multicast_targets=[0, 1])
    tlx.barrier_wait(bars[1], 0)
    at = tl.arange(0, 64)[:, None] * 64 + tl.arange(0, 64)[None, :]
    tl.store(y_ptr + tl.program_id(0) * 4096 + at, tlx.local_load(tile[1]))


@executes("ttng.async_tma_copy_global_to_local", "ttng.barrier_expect")
@pytest.mark.parametrize("sliced", [False, True], ids=["whole", "halves"])
def test_a_multicast_reaches_every_cta(sliced: bool):
    x, y = torch.randn(64, 64).half(), torch.zeros(4, 64, 64).half()
    run_kernel(spread, (4,), descriptor(x, 32 if sliced else 64), y, SLICED=sliced, **PAIR)
    assert all(torch.equal(y[cta], x) for cta in range(4))


def test_a_multicast_is_one_read_and_an_event_in_each_cta():
    x, y = torch.randn(64, 64).half(), torch.zeros(2, 64, 64).half()
    trace = both(spread, (2,), descriptor(x, 64), y, SLICED=False, **PAIR).trace
    assert events(trace, "tma_load", 0) == []
    (issue,) = events(trace, "tma_load", 1)
    # 8192 bytes, to L2 and back, and what going to several takes
    transfer = math.ceil(8192 / h200().tma.bytes_per_cycle)
    latency = h200().tma.l2_latency_cycles + CLUSTER.multicast_cycles
    for cta in (0, 1):
        (load,) = events(trace, "tma_load", cta, engine=True)
        (wait,) = events(trace, "wait", cta)
        assert (load["begin"], load["end"]) == (issue["end"], issue["end"] + transfer + latency)
        assert (load["released_by"], load["bytes"], load["slot"]) == (issue["row"], 8192, 1)
        assert (wait["released_by"], wait["end"]) == (load["row"], load["end"] + WAKE)
        assert load["peer"] == -1  # its barrier is the CTA's own
    assert trace.statistics["tma_load_bytes"] == 8192
    assert (trace.statistics["l2_read_bytes"], trace.statistics["received_bytes"]) == (8192, 2 * 8192)
    assert trace.statistics["l2_written_bytes"] == 2 * 8192


def test_two_multicasts_share_the_way_into_each_sm():
    x, y = torch.randn(64, 64).half(), torch.zeros(2, 64, 64).half()
    trace = both(spread, (2,), descriptor(x, 32), y, SLICED=True, **PAIR).trace
    for cta in (0, 1):
        first, second = events(trace, "tma_load", cta, engine=True)
        assert second["begin"] - first["begin"] >= math.ceil(4096 / h200().tma.bytes_per_cycle)
        (wait,) = events(trace, "wait", cta)
        assert wait["released_by"] == second["row"]


# ---------------------------------------------------------------------- dispatch


@triton.jit
def long_and_short(y_ptr):
    tlx.cluster_barrier()
    if tl.program_id(0) == 1:
        for i in range(200):
            tl.store(y_ptr + tl.program_id(0), i)
            tl.debug_barrier()
    tl.store(y_ptr + tl.program_id(0), 1)


def test_a_cluster_starts_when_all_ctas_of_another_have_ended():
    grid = 2 * (h200().limits.sms // 2 + 2)
    launch = compile_kernel(long_and_short, (grid,), torch.zeros(grid, dtype=torch.int32), **PAIR)
    launch.metadata["shared"] = h200().limits.shared_memory_per_block  # one CTA an SM
    trace = execute(launch, ctas=range(grid)).trace
    tracks = {track.cta: track for track in trace.tracks}
    late = [tracks[cta] for cta in range(grid - 4, grid)]
    assert {track.sm for track in late}.isdisjoint({0, 1})  # where CTA 1 takes long
    for first, second in (late[:2], late[2:]):
        assert first.begin == second.begin
        before = [track.end for track in trace.tracks if track.sm in (first.sm, second.sm) and track.begin < 200]
        assert len(before) == 2
        assert first.begin == max(before) + h200().launch.cta_cycles


@triton.jit
def counted(count_ptr, y_ptr):
    tl.atomic_add(count_ptr + tl.program_id(0) // 2, 1 + tlx.cluster_cta_rank())
    tlx.cluster_barrier()
    tl.store(y_ptr + tl.program_id(0), tl.load(count_ptr + tl.program_id(0) // 2))


def test_clusters_that_use_atomics_too():
    """All SMs are then on one loop."""
    count, y = torch.zeros(100, dtype=torch.int32), torch.zeros(200, dtype=torch.int32)
    launch = compile_kernel(counted, (200,), count, y, **PAIR)
    launch.metadata["shared"] = h200().limits.shared_memory_per_block
    run = execute(launch, ctas=[198])
    assert y.tolist() == [3] * 200
    assert [(track.cta, track.begin > 0) for track in run.trace.tracks] == [(198, True), (199, True)]
    assert run.trace.statistics["waves"] == 2


def test_several_clusters_share_sms():
    grid = 2 * h200().limits.sms
    run = run_kernel(ranks, (grid,), torch.zeros(grid, dtype=torch.int32), ctas=[0, grid // 2], **PAIR)
    LATER = round(grid // 2 * h200().launch.next_cta_cycles)  # CTAs are given out one after the other
    assert [(track.cta, track.sm, track.begin) for track in run.trace.tracks] == [
        (0, 0, 0), (1, 1, 0), (grid // 2, 0, LATER), (grid // 2 + 1, 1, LATER)
    ]  # fmt: skip


def test_nothing_of_a_finished_cluster_is_kept():
    """While a launch runs nobody collects garbage, and shared memory is much of it."""
    launch = compile_kernel(exchange, (200,), torch.zeros(200, 128), HOW="async_store", **PAIR)
    gc.collect()
    gc.disable()
    try:
        before = {id(each) for each in gc.get_objects() if type(each) is Cta}
        run = execute(launch)
        made = [each for each in gc.get_objects() if type(each) is Cta and id(each) not in before]
    finally:
        gc.enable()
    assert run.trace.statistics["ctas_simulated"] == 200
    assert len(made) <= 2  # those of the trace


def test_equal_runs_give_equal_events():
    args = (descriptor(torch.randn(64, 64).half(), 32), torch.zeros(4, 64, 64).half())
    first = run_kernel(spread, (4,), *args, SLICED=True, **PAIR).trace
    second = run_kernel(spread, (4,), *args, SLICED=True, **PAIR).trace
    for name, column in first.events.columns.items():
        assert np.array_equal(column, second.events[name])
