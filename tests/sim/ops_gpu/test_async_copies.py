"""Asynchronous copies without TMA, bulk copies and prefetches."""

from __future__ import annotations

import pytest
import torch
from kernel_runner import executes, fbtriton_only, run_kernel

triton = pytest.importorskip("triton")
tlx = pytest.importorskip("triton.language.extra.tlx")
tl = pytest.importorskip("triton.language")


@triton.jit
def copied(x_ptr, y_ptr, size, OTHER: tl.constexpr, SIZE: tl.constexpr):
    buffers = tlx.local_alloc((SIZE,), tl.float32, 2)
    at = tl.arange(0, SIZE)
    tlx.async_load(x_ptr + at, buffers[0])
    first = tlx.async_load_commit_group()
    if OTHER is None:
        tlx.async_load(x_ptr + SIZE + at, buffers[1], mask=SIZE + at < size)
    else:
        tlx.async_load(x_ptr + SIZE + at, buffers[1], mask=SIZE + at < size, other=OTHER)
    second = tlx.async_load_commit_group()
    tlx.async_load_wait_group(1, [first])
    tl.store(y_ptr + at, tlx.local_load(buffers[0]))
    tlx.async_load_wait_group(0, [second])
    tl.store(y_ptr + SIZE + at, tlx.local_load(buffers[1]))


@pytest.mark.parametrize("other", [None, 7.0])
@executes("ttg.async_copy_global_to_local", "ttg.async_commit_group", "ttg.async_wait")
def test_groups_of_copies(other: float | None):
    x, y = torch.randn(900), torch.zeros(1024)
    run_kernel(copied, (1,), x, y, 900, OTHER=other, SIZE=512)
    assert torch.equal(y[:900], x)
    assert torch.equal(y[900:], torch.full((124,), other or 0.0))


@triton.jit
def scattered_rows(x_ptr, rows_ptr, y_ptr, limit, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    buffers = tlx.local_alloc((ROWS, COLUMNS), tl.float16, 1)
    rows, columns = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    chosen = tl.load(rows_ptr + rows)
    token = tlx.async_load(
        x_ptr + chosen[:, None] * COLUMNS + columns[None, :], buffers[0], mask=(chosen < limit)[:, None]
    )
    tlx.async_load_wait_group(0, [tlx.async_load_commit_group([token])])
    tl.store(y_ptr + rows[:, None] * COLUMNS + columns[None, :], tlx.local_load(buffers[0]))


@executes("ttg.async_copy_global_to_local")
def test_copies_from_rows_of_an_index():
    x = torch.randn(100, 64).half()
    rows = torch.randint(0, 130, (32,), dtype=torch.int32)
    y = torch.ones(32, 64).half()
    run_kernel(scattered_rows, (1,), x, rows, y, 100, ROWS=32, COLUMNS=64)
    wanted = torch.where((rows < 100)[:, None], x[rows.long().clamp(max=99)], torch.zeros(1).half())
    assert torch.equal(y, wanted)


@triton.jit
def bulk(x_ptr, y_ptr, z_ptr, size, SIZE: tl.constexpr):
    buffers = tlx.local_alloc((SIZE,), tl.float32, 2)
    full = tlx.alloc_barriers(2)
    tlx.barrier_expect_bytes(full[0], SIZE * 4)
    tlx.async_load(x_ptr, buffers[0], bulk=True, barrier=full[0])
    tlx.barrier_wait(full[0], 0)
    tlx.barrier_expect_bytes(full[1], SIZE * 2)
    tlx.async_load(x_ptr + SIZE, buffers[1], bulk=True, bulk_size=SIZE * 2, barrier=full[1])
    tlx.barrier_wait(full[1], 0)
    at = tl.arange(0, SIZE)
    tl.store(y_ptr + at, tlx.local_load(buffers[1]), mask=at < SIZE // 2)
    tlx.async_store(z_ptr, buffers[0], size)
    tlx.async_descriptor_store_wait(0)


@fbtriton_only("async_load takes no bulk, async_store is not registered")
@executes("ttg.async_copy_global_to_local", "ttng.async_store", "ttng.async_tma_store_wait")
def test_bulk_copies():
    x, y, z = torch.randn(1024), torch.zeros(512), torch.zeros(512)
    run_kernel(bulk, (1,), x, y, z, 400, SIZE=512)
    assert torch.equal(y[:256], x[512:768])
    assert torch.equal(y[256:], torch.zeros(256))
    assert torch.equal(z[:100], x[:100])
    assert torch.equal(z[100:], torch.zeros(412))


@triton.jit
def prefetched(x_ptr, y_ptr, desc, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    tlx.prefetch(x_ptr + at, level="L1")
    tlx.prefetch(x_ptr + at, level="L2", mask=at < 3)
    tlx.prefetch(desc, tensormap=True)
    tlx.async_descriptor_prefetch_tensor(desc, [0, 0])
    tl.store(y_ptr + at, tl.load(x_ptr + at))


@fbtriton_only("prefetches are left out of the TTGIR")
@executes("ttng.prefetch", "ttng.prefetch_tensormap", "ttng.async_tma_prefetch")
def test_prefetches_change_nothing():
    from triton.tools.tensor_descriptor import TensorDescriptor

    x, y = torch.randn(256), torch.zeros(256)
    z = torch.randn(64, 64)
    run_kernel(prefetched, (1,), x, y, TensorDescriptor(z, [64, 64], [64, 1], [32, 32]), SIZE=256)
    assert torch.equal(y, x)
