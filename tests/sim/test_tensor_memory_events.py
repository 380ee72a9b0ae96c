"""What a trace has of tensor memory: who reads and writes which slot, and when."""

from __future__ import annotations

import math

import pytest
import torch
from kernel_runner import b200, compile_kernel, execute, fbtriton_only

from tlxviz.diagrams.happenings import event_words
from tlxviz.trace import LaunchTrace, TrackKind

triton = pytest.importorskip("triton")
tl = pytest.importorskip("triton.language")
tlx = pytest.importorskip("triton.language.extra.tlx")

pytestmark = fbtriton_only("its kernels for Blackwell are not what is tested here")


@triton.jit
def shared_columns(x_ptr, y_ptr, N: tl.constexpr):
    """Slots as another type, which has twice as many of them, and as single columns."""
    at = tl.arange(0, 128)[:, None] * N + tl.arange(0, N)[None, :]
    sums = tlx.local_alloc((128, N), tl.float32, 2, tlx.storage_kind.tmem)
    halves = tlx.local_alloc((128, N), tl.float16, 4, tlx.storage_kind.tmem, reuse=sums)
    columns = tlx.local_alloc((128, 1), tl.float32, 2 * N, tlx.storage_kind.tmem, reuse=sums)
    x = tl.load(x_ptr + at)
    tlx.local_store(sums[1], x)
    tlx.local_store(halves[1], x.to(tl.float16))
    tlx.local_store(halves[3], x.to(tl.float16))
    tlx.local_store(columns[N + 1], tl.sum(x, 1)[:, None])
    tl.store(y_ptr + at, tlx.local_load(sums[0]) + tlx.local_load(sums[1]))


def accesses(trace: LaunchTrace) -> list[tuple[str, str, int, int]]:
    """Kind, buffer, slot and bytes of what a warp group does to tensor memory, in the order of time."""
    events = trace.events
    found: list[tuple[str, str, int, int]] = []
    for row in range(len(events)):
        site = trace.sites[events["site"][row]]
        if site.kind.startswith("tmem"):
            found.append((site.kind, site.variable, int(events["slot"][row]), int(events["bytes"][row])))
    return found


def test_slots_are_those_of_the_allocation():
    x = torch.randn(128, 64)
    launch = compile_kernel(shared_columns, (1,), x, torch.zeros_like(x), N=64, device=b200())
    assert accesses(execute(launch, device=b200()).trace) == [
        ("tmem_store", "sums", 1, 128 * 64 * 4),
        ("tmem_store", "sums", 0, 128 * 64 * 2),
        ("tmem_store", "sums", 1, 128 * 64 * 2),
        ("tmem_store", "sums", 1, 128 * 4),
        ("tmem_load", "sums", 0, 128 * 64 * 4),
        ("tmem_load", "sums", 1, 128 * 64 * 4),
    ]


def test_a_read_takes_as_long_as_the_data():
    x = torch.randn(128, 64)
    launch = compile_kernel(shared_columns, (1,), x, torch.zeros_like(x), N=64, device=b200())
    trace, memory = execute(launch, device=b200()).trace, b200().tensor_memory
    assert memory is not None
    events = trace.events
    reads = [row for row in range(len(events)) if trace.sites[events["site"][row]].kind == "tmem_load"]
    took = math.ceil(128 * 64 * 4 / memory.load_bytes_per_cycle) + round(memory.load_latency_cycles)
    assert [int(events["end"][row] - events["begin"][row]) for row in reads] == [took, took]


@triton.jit
def product(a_ptr, b_ptr, y_ptr, K: tl.constexpr):
    i, k = tl.arange(0, 128), tl.arange(0, K)
    a = tlx.local_alloc((128, K), tl.float16, 3)
    b = tlx.local_alloc((K, 128), tl.float16, 3)
    sums = tlx.local_alloc((128, 128), tl.float32, 2, tlx.storage_kind.tmem)
    done = tlx.alloc_barriers(num_barriers=1)
    tlx.local_store(a[2], tl.load(a_ptr + i[:, None] * K + k[None, :]))
    tlx.local_store(b[2], tl.load(b_ptr + k[:, None] * 128 + i[None, :]))
    tlx.fence_async_shared()
    tlx.async_dot(a[2], b[2], sums[1], use_acc=False, mBarriers=[done[0]])
    tlx.barrier_wait(done[0], 0)
    tl.store(y_ptr + i[:, None] * 128 + i[None, :], tlx.local_load(sums[1]))


def test_the_slot_of_a_product_is_that_of_its_sum():
    a, b = torch.randn(128, 64).half(), torch.randn(64, 128).half()
    y = torch.zeros(128, 128)
    trace = execute(compile_kernel(product, (1,), a, b, y, K=64, device=b200()), device=b200()).trace
    events = trace.events
    products = [row for row in range(len(events)) if trace.sites[events["site"][row]].kind == "mma"]
    tracks = [trace.tracks[events["track"][row]].kind for row in products]
    assert sorted(tracks) == [TrackKind.TENSOR_CORE, TrackKind.WARP_GROUP]
    assert [(trace.sites[events["site"][row]].variable, int(events["slot"][row])) for row in products] == [
        ("sums", 1)
    ] * 2
    assert accesses(trace) == [("tmem_load", "sums", 1, 128 * 128 * 4)]
    torch.testing.assert_close(y, a.float() @ b.float(), rtol=1e-3, atol=1e-2)


def test_the_accumulator_has_a_name_in_diagrams():
    a, b = torch.randn(128, 64).half(), torch.randn(64, 128).half()
    launch = compile_kernel(product, (1,), a, b, torch.zeros(128, 128), K=64, device=b200())
    trace = execute(launch, device=b200()).trace
    rows = [row for row in range(len(trace.events)) if trace.sites[trace.events["site"][row]].kind == "mma"]
    assert sorted(event_words(trace, row) for row in rows) == ["MMA sums[1]", "issue MMA sums[1]"]
