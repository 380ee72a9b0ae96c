"""A small kernel whose two CTAs share what one of them loads, simulated on an H200."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from sim.kernel_runner import Run, b200, compile_kernel, execute

triton = pytest.importorskip("triton")
tlx = pytest.importorskip("triton.language.extra.tlx")
tl = pytest.importorskip("triton.language")

STEPS, SLOTS, TILE_BYTES, VECTOR_BYTES = 6, 2, 64 * 64 * 2, 64 * 4


@triton.jit
def shared_ring(desc, y, STEPS: tl.constexpr, SLOTS: tl.constexpr):
    rank = tlx.cluster_cta_rank()
    tiles = tlx.local_alloc((64, 64), tl.float16, SLOTS)
    sums = tlx.local_alloc((64,), tl.float32, 1)
    full = tlx.alloc_barriers(SLOTS)
    empty = tlx.alloc_barriers(SLOTS, arrive_count=2)
    told = tlx.alloc_barriers(1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.barrier_expect_bytes(told[0], 64 * 4)
            total = tl.zeros((64,), tl.float32)
            for i in range(STEPS):
                tlx.barrier_wait(full[i % SLOTS], i // SLOTS & 1)
                total += tl.sum(tlx.local_load(tiles[i % SLOTS]).to(tl.float32), axis=1)
                tlx.barrier_arrive(empty[i % SLOTS])
                tlx.barrier_arrive(empty[i % SLOTS], 1, remote_cta_rank=rank ^ 1)
            tlx.async_remote_shmem_store(dst=sums[0], src=total, remote_cta_rank=rank ^ 1, barrier=told[0])
            tlx.barrier_wait(told[0], 0)
            tl.store(y + tl.program_id(0) * 64 + tl.arange(0, 64), total + tlx.local_load(sums[0]))
        with tlx.async_task(num_warps=1, num_regs=40):
            for i in range(STEPS):
                tlx.barrier_wait(empty[i % SLOTS], i // SLOTS & 1 ^ 1)
                tlx.barrier_expect_bytes(full[i % SLOTS], 64 * 64 * 2)
                if rank == 0:
                    tlx.async_descriptor_load(
                        desc, tiles[i % SLOTS], [0, 64 * i], full[i % SLOTS], multicast_targets=[0, 1]
                    )


def shared(grid: int = 2, **options: Any) -> Run:
    """Clusters of two CTAs; the first of each loads for both."""
    from triton.tools.tensor_descriptor import TensorDescriptor

    x = TensorDescriptor.from_tensor(torch.ones(64, 64 * STEPS, dtype=torch.float16), [64, 64])
    y = torch.zeros(grid, 64)
    sizes = {"STEPS": STEPS, "SLOTS": SLOTS}
    run = execute(compile_kernel(shared_ring, (grid,), x, y, **sizes, ctas_per_cga=(2, 1, 1)), **options)
    assert y.tolist() == [[2.0 * 64 * STEPS] * 64] * grid
    return run


@triton.jit
def paired_product(a_ptr, b_ptr, c_ptr):
    rank = tlx.cluster_cta_rank()
    m, n, k = tl.arange(0, 128), tl.arange(0, 128), tl.arange(0, 64)
    a = tlx.local_alloc((128, 64), tl.float16, 1)
    b = tlx.local_alloc((64, 64), tl.float16, 1)
    sums = tlx.local_alloc((128, 128), tl.float32, 1, tlx.storage_kind.tmem)
    ready = tlx.alloc_barriers(1, arrive_count=2)
    done = tlx.alloc_barriers(2)
    row = tl.program_id(0) * 128 + m
    tlx.local_store(a[0], tl.load(a_ptr + row[:, None] * 64 + k[None, :]))
    tlx.local_store(b[0], tl.load(b_ptr + k[:, None] * 128 + (rank * 64 + tl.arange(0, 64))[None, :]))
    tlx.fence("async_shared")
    tlx.barrier_arrive(ready[0], 1, remote_cta_rank=0)
    tlx.barrier_wait(ready[0], 0, pred=rank == 0)
    tlx.async_dot(a[0], b[0], sums[0], use_acc=False, mBarriers=[done[1]], two_ctas=True)
    tlx.barrier_wait(done[1], 0)
    tlx.async_dot(a[0], b[0], sums[0], force_async=True, two_ctas=True)
    tl.debug_barrier()  # between the product and the commit, which would be one otherwise
    tlx.tcgen05_commit(done[0], two_ctas=True)
    tlx.barrier_wait(done[0], 0)
    tl.store(c_ptr + row[:, None] * 128 + n[None, :], tlx.local_load(sums[0]))


def pair() -> Run:
    """A pair of CTAs on a B200: the first one issues two products, and commits one of them."""
    tensors = torch.ones(256, 64).half(), torch.ones(64, 128).half(), torch.zeros(256, 128)
    launch = compile_kernel(paired_product, (2,), *tensors, device=b200(), ctas_per_cga=(2, 1, 1))
    return execute(launch, device=b200())


@triton.jit
def handed_over(y_ptr):
    rank = tlx.cluster_cta_rank()
    buf = tlx.local_alloc((64,), tl.float32, 2)
    told = tlx.alloc_barriers(1)
    tlx.local_store(buf[0], tl.arange(0, 64).to(tl.float32))
    if rank == 1:
        tlx.barrier_expect_bytes(told[0], 64 * 4)
    tlx.fence("async_shared")
    tlx.cluster_barrier()
    if rank == 0:
        tlx.async_remote_shmem_copy(dst=buf[1], src=buf[0], remote_cta_rank=1, barrier=told[0])
    else:
        tlx.barrier_wait(told[0], 0)
    tlx.cluster_barrier()
    tl.store(y_ptr + tl.program_id(0) * 64 + tl.arange(0, 64), tlx.local_load(buf[1]))


def copied() -> Run:
    """The first CTA copies into the second between two barriers of the cluster."""
    return execute(compile_kernel(handed_over, (2,), torch.zeros(2, 64), ctas_per_cga=(2, 1, 1)))
