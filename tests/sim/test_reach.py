"""Where a launch's data are, and how long an SM waits for them."""

from __future__ import annotations

import pytest
import torch
import triton
import triton.language as tl
from kernel_runner import h200, run_kernel

from tlxviz.sim.pointers import reached_from
from tlxviz.sim.reach import reach

MEMORY = h200().memory
SLOWER = h200().clock.sustained_mhz / h200().clock.boost_mhz
FARTHER = MEMORY.dram_latency_cycles - MEMORY.l2_latency_cycles
SMALL = int(MEMORY.l2_bytes / 2)


@pytest.mark.parametrize("shared", [True, False])
def test_what_stays_in_l2_is_as_near_for_everybody(shared: bool):
    near = reach(h200(), SMALL, 132, shared=shared, multiplies=False)
    assert near.load_latency == MEMORY.l2_latency_cycles
    assert near.copy_latency == MEMORY.cp_async_latency_cycles


def test_copies_wait_for_dram_also_where_others_want_the_same_bytes():
    far = reach(h200(), SMALL + 1, 132, shared=True, multiplies=False)
    assert far.copy_latency == MEMORY.cp_async_latency_cycles + FARTHER
    assert far.load_latency == MEMORY.l2_latency_cycles, "loads find what another CTA has waited for"


def test_dram_is_nearer_in_cycles_where_power_holds_the_clock_down():
    far = reach(h200(), SMALL + 1, 132, shared=True, multiplies=True)
    assert far.copy_latency == round(SLOWER * (MEMORY.cp_async_latency_cycles + FARTHER))


@triton.jit
def summed_through(table, out, N: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    a = tl.load(table).to(tl.pointer_type(tl.float32))
    b = tl.load(table + 1).to(tl.pointer_type(tl.float32))
    tl.store(out + at, tl.load(a + at) + tl.load(b + at))


@triton.jit
def summed_directly(a, b, out, N: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(out + at, tl.load(a + at) + tl.load(b + at))


@pytest.mark.parametrize("megabytes", [1, 64])
def test_what_addresses_lead_to_is_as_far_as_arguments(megabytes: int):
    """Two CTAs read 4096 bytes each of both tensors, which are in DRAM where L2 does not hold both."""
    a, b = (torch.empty(megabytes << 18) for _ in range(2))
    out, table = torch.empty(2048), torch.tensor([a.data_ptr(), b.data_ptr()])
    by_address = run_kernel(summed_through, (2,), table, out, N=1024, values=False).trace.statistics
    direct = run_kernel(summed_directly, (2,), a, b, out, N=1024, values=False).trace.statistics
    assert direct["tensor_bytes"] == 2 * megabytes * 2**20 + 4 * 2048
    assert by_address["tensor_bytes"] == direct["tensor_bytes"] + 16
    assert direct["dram_read_bytes"] == (0 if megabytes == 1 else 2 * 2 * 4096)
    # the table's numbers are loaded as well, by each CTA
    assert by_address["dram_read_bytes"] == (0 if megabytes == 1 else 2 * (2 * 4096 + 2 * 8))


def test_numbers_that_are_no_addresses_lead_nowhere():
    tensors = [torch.arange(1000), torch.tensor([-1, 2**62])]
    assert reached_from(tensors, [1, 2**70, -5]) == ([], [])


def test_addresses_lead_to_the_storage_around_them():
    held = torch.zeros(100)
    tables = [torch.tensor([held.data_ptr() + 396]), torch.arange(4)]
    (reached,), found = reached_from(tables, [])
    assert reached.data_ptr() == held.data_ptr()
    assert reached.numel() == 400
    assert found == [tables[0].untyped_storage().data_ptr()]
    end = held.untyped_storage().data_ptr() + 400
    assert all(each.data_ptr() != held.data_ptr() for each in reached_from([], [end])[0])
