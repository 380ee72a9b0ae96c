"""Clusters: what goes wrong between CTAs, and how it is told."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from cluster_runner import PAIR, descriptor, line_of
from kernel_runner import run_kernel

from tlxviz._errors import ExitCode
from tlxviz.sim.errors import ClusterError, HangError, SimulationError, UnsupportedOperation

triton = pytest.importorskip("triton")
tlx = pytest.importorskip("triton.language.extra.tlx")
tl = pytest.importorskip("triton.language")
if not hasattr(tlx, "remote_view") or "+fb" not in triton.__version__:
    pytest.skip(
        "triton 3.8 has no mapped buffers, so triton-utlx reaches no other CTA of a cluster", allow_module_level=True
    )


# ---------------------------------------------------------------------- faults


def fault(error: type[SimulationError], function: Any, *args: Any, grid: tuple[int, ...] = (2,), **options: Any) -> str:
    with pytest.raises(error) as caught:
        run_kernel(function, grid, *args, **options, **PAIR)
    assert caught.value.exit_code == ExitCode.FINDINGS  # type: ignore[attr-defined]
    return str(caught.value)


@triton.jit
def last_arrival(y_ptr, WAITING):
    go = tlx.alloc_barriers(1)
    ack = tlx.alloc_barriers(1)
    rank = tlx.cluster_cta_rank()
    if rank == 1:
        tlx.barrier_arrive(go[0], remote_cta_rank=0)
    else:
        tlx.barrier_wait(go[0], 0)
        tlx.barrier_arrive(ack[0], remote_cta_rank=1)
    tl.store(y_ptr + tl.program_id(0), 1)
    if rank >= WAITING:
        tlx.barrier_wait(ack[0], 0)


def test_an_arrival_at_a_cta_that_has_ended():
    y = torch.zeros(4, dtype=torch.int32)
    run_kernel(last_arrival, (2,), y, 1, **PAIR)
    text = fault(ClusterError, last_arrival, y, 2)
    line = line_of(last_arrival, "barrier_arrive(ack")
    assert text.startswith(f"kernel last_arrival at {__file__}:{line} (ttng.arrive_barrier), CTA 0: ")
    assert "arrives on its barrier (slot 0) although CTA 1 (rank 1 of the cluster) ended at cycle " in text
    assert text.endswith(
        "let that CTA wait for it or, at the end of a kernel without async tasks, for tlx.cluster_barrier()"
    )


@triton.jit
def late_store(y_ptr, HOW: tl.constexpr, FIX: tl.constexpr):
    rank = tlx.cluster_cta_rank()
    buf = tlx.local_alloc((128,), tl.float32, 2)
    bars = tlx.alloc_barriers(1)
    tlx.cluster_barrier()
    if rank == 0:
        for i in range(20):
            tl.store(y_ptr + i, i.to(tl.float32))
            tl.debug_barrier()
        if HOW == "store":
            tlx.remote_shmem_store(dst=buf[1], src=tl.zeros((128,), tl.float32), remote_cta_rank=1)
        elif HOW == "async_store":
            tlx.async_remote_shmem_store(
                dst=buf[1], src=tl.zeros((128,), tl.float32), remote_cta_rank=1, barrier=bars[0]
            )
        else:
            tlx.async_remote_shmem_copy(dst=buf[1], src=buf[0], remote_cta_rank=1, barrier=bars[0])
    if FIX:
        tlx.cluster_barrier()


CALLS = {"store": "tlx.remote_shmem_store", "async_store": "tlx.async_remote_shmem_store", "copy": "shmem_copy"}


@pytest.mark.parametrize("how", CALLS)
def test_a_store_into_a_cta_that_has_ended(how: str):
    y = torch.zeros(32)
    run_kernel(late_store, (2,), y, HOW="store", FIX=True, **PAIR)
    text = fault(ClusterError, late_store, y, HOW=how, FIX=False)
    assert "shared memory although CTA 1 (rank 1 of the cluster) ended at cycle " in text
    assert f"{__file__}:{line_of(late_store, CALLS[how])}" in text


@triton.jit
def late_multicast(desc, y_ptr):
    rank = tlx.cluster_cta_rank()
    tile = tlx.local_alloc((64, 64), tl.float16, 1)
    bars = tlx.alloc_barriers(1)
    tlx.barrier_expect_bytes(bars[0], 64 * 64 * 2)
    if rank == 0:
        tlx.async_descriptor_load(desc, tile[0], [0, 0], bars[0], multicast_targets=[0, 1])
        tlx.barrier_wait(bars[0], 0)
    tl.store(y_ptr + tl.program_id(0), 1)


def test_a_multicast_into_a_cta_that_has_ended():
    y = torch.zeros(2, dtype=torch.int32)
    text = fault(ClusterError, late_multicast, descriptor(torch.zeros(64, 64).half(), 64), y)
    line = line_of(late_multicast, "async_descriptor_load")
    assert text.startswith(
        f"kernel late_multicast at {__file__}:{line} (ttng.async_tma_copy_global_to_local), CTA 0: "
        "writes into its shared memory although CTA 1 (rank 1 of the cluster) ended at cycle "
    )


@triton.jit
def early_store(y_ptr, STEPS):
    rank = tlx.cluster_cta_rank()
    if rank == 1:
        for i in range(STEPS):
            tl.store(y_ptr + i, i)
            tl.debug_barrier()
    buf = tlx.local_alloc((128,), tl.int32, 1)
    bars = tlx.alloc_barriers(1)
    tlx.barrier_expect_bytes(bars[0], 512)
    tlx.async_remote_shmem_store(dst=buf[0], src=tl.arange(0, 128), remote_cta_rank=rank ^ 1, barrier=bars[0])
    tlx.barrier_wait(bars[0], 0)


def test_bytes_for_a_barrier_that_is_not_there_yet():
    """The compiler lets CTAs meet before remote arrivals and multicasts, but not before such stores."""
    y = torch.zeros(128, dtype=torch.int32)
    run_kernel(early_store, (2,), y, 0, **PAIR)
    text = fault(ClusterError, early_store, y, 100)
    assert "CTA 0: bytes reach CTA 1 before it has initialised their barrier: wait for an arrival of that CTA" in text


@triton.jit
def expecting(y_ptr):
    bars = tlx.alloc_barriers(1)
    tlx.barrier_expect_bytes(tlx.remote_view(bars[0], tlx.cluster_cta_rank() ^ 1), 0)
    tlx.barrier_wait(bars[0], 0)
    tl.store(y_ptr, 1)


def test_bytes_cannot_be_expected_for_another_cta():
    with pytest.raises(UnsupportedOperation) as caught:
        run_kernel(expecting, (2,), torch.zeros(1, dtype=torch.int32), **PAIR)
    assert (
        "barrier_expect_bytes on the barrier of another CTA: Hopper's instruction (expect_tx.shared::cta) takes "
        "barriers of its own CTA only, so let that CTA expect its own bytes"
    ) in str(caught.value)


@triton.jit
def nobody(y_ptr, RANK: tl.constexpr):
    bars = tlx.alloc_barriers(1)
    tlx.barrier_arrive(bars[0], remote_cta_rank=tlx.cluster_cta_rank() + RANK)
    tlx.barrier_wait(bars[0], 0)
    tl.store(y_ptr, 1)


def test_a_rank_that_there_is_not():
    text = fault(ClusterError, nobody, torch.zeros(1, dtype=torch.int32), RANK=2)
    assert "there is no CTA of rank 2 in a cluster of 2" in text


# ---------------------------------------------------------------------- hangs


def hang(function: Any, *args: Any, grid: tuple[int, ...] = (2,), **options: Any) -> tuple[str, dict[str, Any]]:
    with pytest.raises(HangError) as caught:
        run_kernel(function, grid, *args, **options, **PAIR)
    return str(caught.value), caught.value.report


@triton.jit
def trips(y_ptr, K, FIX: tl.constexpr):
    empty = tlx.alloc_barriers(1, arrive_count=2)
    rank = tlx.cluster_cta_rank()
    count = K if FIX else K - 2 * rank
    for k in range(count):
        tlx.barrier_arrive(empty[0])
        tlx.barrier_arrive(empty[0], remote_cta_rank=rank ^ 1)
        tlx.barrier_wait(empty[0], k & 1)
    tl.store(y_ptr + tl.program_id(0), 1)
    tlx.cluster_barrier()


def test_a_remote_arrival_is_missing():
    y = torch.zeros(2, dtype=torch.int32)
    run_kernel(trips, (2,), y, 4, FIX=True, **PAIR)
    text, report = hang(trips, y, 4, FIX=False)
    wait, remote = line_of(trips, "barrier_wait"), line_of(trips, "remote_cta_rank=")
    first, second = report["waiters"]
    assert (first["cta"], first["operation"], first["variable"], first["slot"], first["phase"]) == (
        0, "wait", "empty", 0, 0
    )  # fmt: skip
    assert (first["pending"], first["count"], first["inner"], first["line"]) == (1, 2, 2, wait)
    assert (first["last_arrival"]["cta"], first["last_arrival"]["line"]) == (0, remote - 1)
    assert (second["cta"], second["operation"], second["count"], second["pending"]) == (1, "cluster_wait", 8, 4)
    assert second["absent"] == [{"cta": 0, "pending": 4, "count": 4}]
    assert (report["cta"], report["cluster"], report["ctas"]) == (0, [0, 1], 2)
    assert [(each["line"], each["remote"]) for each in report["arrivers"]] == [(remote - 1, False), (remote, True)]
    barrier = line_of(trips, "cluster_barrier")
    assert text == (
        f"kernel trips hangs in the cluster of CTAs 0, 1: compute of CTA 0 waits for empty[0], phase 0, at {__file__}:"
        f"{wait} (it has 1 of 2 arrivals; other CTAs arrive on it at {__file__}:{remote}); compute of CTA 1 waits at "
        f"the cluster's barrier at {__file__}:{barrier} (it has 4 of 8 warps, CTA 0 lacks 4 of 4)"
    )


def test_a_hang_in_a_later_cluster():
    y = torch.zeros(8, dtype=torch.int32)
    text, report = hang(trips, y, 4, grid=(8,), FIX=False)
    assert (report["cta"], report["cluster"]) == (0, [0, 1])
    assert "CTA 2" not in text


@triton.jit
def thirds(y_ptr, FIX: tl.constexpr):
    full = tlx.alloc_barriers(1, arrive_count=3)
    tlx.cluster_barrier()
    tlx.barrier_arrive(full[0])
    tlx.barrier_arrive(full[0], remote_cta_rank=tlx.cluster_cta_rank() ^ 1)
    if FIX:
        tlx.barrier_arrive(full[0])
    tlx.barrier_wait(full[0], 0)
    tl.store(y_ptr + tl.program_id(0), 1)


def test_arrivals_from_other_ctas_in_the_phase_are_told():
    y = torch.zeros(2, dtype=torch.int32)
    run_kernel(thirds, (2,), y, FIX=True, **PAIR)
    _, report = hang(thirds, y, FIX=False)
    remote = line_of(thirds, "remote_cta_rank=")
    assert [(each["cta"], each["pending"]) for each in report["waiters"]] == [(0, 1), (1, 1)]
    told = [[(came["cta"], came["line"]) for came in each["remote_arrivals"]] for each in report["waiters"]]
    assert told == [[(1, remote)], [(0, remote)]]
    # not those of a phase that is over
    _, report = hang(trips, y, 4, FIX=False)
    assert report["waiters"][0]["remote_arrivals"] == []


@triton.jit
def meeting_tasks(y_ptr, INSIDE: tl.constexpr):
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tl.store(y_ptr + tl.program_id(0), 1)
            if INSIDE:
                tlx.cluster_barrier()
        with tlx.async_task(num_warps=4):
            tl.store(y_ptr + 2 + tl.program_id(0), 1)
            if INSIDE:
                tlx.cluster_barrier()
    if not INSIDE:
        tlx.cluster_barrier()


def test_a_cluster_barrier_wants_the_warps_of_all_tasks():
    """As on an H200: warps of tasks that have ended still count, until the default task ends."""
    y = torch.zeros(4, dtype=torch.int32)
    run_kernel(meeting_tasks, (2,), y, INSIDE=True, **PAIR)
    assert y.tolist() == [1, 1, 1, 1]
    text, report = hang(meeting_tasks, y, INSIDE=False)
    first, second = report["waiters"]
    assert [each["operation"] for each in (first, second)] == ["cluster_wait"] * 2
    assert first["absent"] == [{"cta": 0, "pending": 4, "count": 8}, {"cta": 1, "pending": 4, "count": 8}]
    assert (first["count"], first["pending"]) == (16, 8)
    assert (
        "(it has 8 of 16 warps, CTA 0 lacks 4 of 8, CTA 1 lacks 4 of 8; those of all async tasks have to arrive, and "
        "those that fill them up to groups of 4)"
    ) in text


@triton.jit
def missing_half(desc, y_ptr, FIX: tl.constexpr):
    rank = tlx.cluster_cta_rank()
    tile = tlx.local_alloc((64, 64), tl.float16, 1)
    full = tlx.alloc_barriers(1)
    tlx.barrier_expect_bytes(full[0], 64 * 64 * 2)
    if FIX or rank == 0:
        if rank == 0:
            half = tlx.local_slice(tile[0], [0, 0], [32, 64])
        else:
            half = tlx.local_slice(tile[0], [32, 0], [32, 64])
        tlx.async_descriptor_load(desc, half, [rank * 32, 0], full[0], multicast_targets=[0, 1])
    tlx.barrier_wait(full[0], 0)
    tl.store(y_ptr + tl.program_id(0), 1)


def test_a_multicast_is_missing():
    y = torch.zeros(2, dtype=torch.int32)
    desc = descriptor(torch.zeros(64, 64).half(), 32)
    run_kernel(missing_half, (2,), desc, y, FIX=True, **PAIR)
    text, report = hang(missing_half, desc, y, FIX=False)
    assert [(each["cta"], each["variable"], each["missing_bytes"]) for each in report["waiters"]] == [
        (0, "full", 4096), (1, "full", 4096)
    ]  # fmt: skip
    load = line_of(missing_half, "async_descriptor_load")
    told = [[(came["cta"], came["line"]) for came in each["remote_arrivals"]] for each in report["waiters"]]
    assert told == [[(0, load)], [(0, load)]]
    assert (load, True) in [(each["line"], each["remote"]) for each in report["arrivers"]]
    assert f"other CTAs arrive on it at {__file__}:{load}" in text
