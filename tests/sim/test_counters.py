"""Busy cycles and bytes of a launch's statistics, against what the kernels do."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import triton
import triton.language as tl
from kernel_runner import h200, run_kernel

from tlxviz.sim.engine import Sm
from tlxviz.sim.traffic import traffic

ALU, MEMORY = h200().alu, h200().memory


@triton.jit
def powers(x, y, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.exp2(tl.load(x + at)))


@triton.jit
def positive(x, y, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at)
    tl.store(y + at, tl.where(value > 0, value, 0.0))


@triton.jit
def multiplied(a, b, c, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :]
    tl.store(c + at, tl.dot(tl.load(a + at), tl.load(b + at)))


@triton.jit
def summed(a, b, c, K, STRIDE: tl.constexpr, BLOCK: tl.constexpr):
    row, depth = tl.arange(0, BLOCK)[:, None], tl.arange(0, BLOCK)
    product = tl.zeros((BLOCK, BLOCK), tl.float32)
    for k in range(tl.cdiv(K, BLOCK)):
        left = K - k * BLOCK
        x = tl.load(a + row * STRIDE + k * BLOCK + depth[None, :], mask=depth[None, :] < left, other=0.0)
        y = tl.load(b + (k * BLOCK + depth[:, None]) * BLOCK + depth[None, :], mask=depth[:, None] < left, other=0.0)
        product = tl.dot(x, y, product)
    tl.store(c + row * BLOCK + depth[None, :], product)


def counts(function: Any, ctas: int = 1) -> dict[str, Any]:
    x, y = torch.zeros(4096 * ctas), torch.zeros(4096 * ctas)
    return run_kernel(function, (ctas,), x, y, BLOCK=4096, values=False).trace.statistics


def test_special_functions_take_a_sixteenth_of_a_cycle_each():
    assert ALU.mufu == 16
    assert counts(powers)["mufu_busy_cycles"] == 256  # 4096 results
    assert counts(positive)["mufu_busy_cycles"] == 0


def test_a_comparison_and_a_selection_take_the_pipe_for_logic():
    """And the schedulers, beside what they issue of loads, stores and addresses."""
    found = counts(positive)
    assert found["logic_busy_cycles"] == round(2 * 4096 / ALU.compare)
    assert found["issue_busy_cycles"] - counts(powers)["issue_busy_cycles"] == 32  # one a warp and row more than ex2


def test_addresses_of_loads_and_stores_take_the_path_to_shared_memory():
    """32 accesses of 16 bytes a lane each way, at the rate of shuffles."""
    assert counts(powers)["shared_memory_busy_cycles"] == round(2 * 32 * 32 / ALU.shuffle)


def test_loads_and_stores_share_a_path():
    """16,384 bytes each way, as fast as one SM alone takes and gives them."""
    found = counts(powers)
    assert found["load_store_busy_cycles"] == int(16384 / MEMORY.load_bytes_per_cycle) + 16384 // 32
    assert (found["global_load_bytes"], found["global_store_bytes"]) == (16384, 16384)
    assert found["tma_store_busy_cycles"] == 0


def test_several_warps_share_the_schedulers():
    """One warp has one scheduler: it takes four times as long, and leaves the others free."""
    x, y = torch.zeros(4096), torch.zeros(4096)
    one, four = (run_kernel(powers, (1,), x, y, BLOCK=4096, num_warps=warps, values=False).trace for warps in (1, 4))
    assert one.cycles > four.cycles + 3 * 256
    assert one.statistics["mufu_busy_cycles"] == four.statistics["mufu_busy_cycles"] == 256


def test_bytes_of_the_launch_are_those_of_all_ctas():
    found = counts(powers, 300)
    assert (found["l2_read_bytes"], found["l2_written_bytes"]) == (300 * 16384, 300 * 16384)
    assert found["tensor_bytes"] == 2 * 300 * 16384
    assert (found["dram_read_bytes"], found["dram_written_bytes"]) == (0, 0)  # 10 MB stay in L2
    assert found["ctas_per_wave"] == 132 * found["ctas_per_sm"]


def test_what_does_not_fit_into_l2_comes_from_dram():
    found = counts(powers, 2048)
    assert found["tensor_bytes"] == 2 * 2048 * 16384 > MEMORY.l2_resident_bytes
    assert (found["dram_read_bytes"], found["dram_written_bytes"]) == (2048 * 16384, 2048 * 16384)


def test_products_come_from_l2_as_often_as_ctas_read_them():
    """Nine CTAs read the same two tiles of 8 KB; only one of each is there, and so is one of what they write."""
    a = torch.zeros(64, 64).half()
    found = run_kernel(multiplied, (9,), a, a.clone(), torch.zeros(64, 64), BLOCK=64, values=False).trace.statistics
    assert (found["l2_read_bytes"], found["l2_written_bytes"]) == (9 * 2 * 8192, 9 * 16384)
    assert found["tensor_bytes"] == 2 * 8192 + 16384
    assert found["tensor_core_busy_cycles"] == 2 * 64**3 // 4096


@pytest.mark.parametrize("values", [False, True])
@pytest.mark.parametrize("depth", [320, 304])
def test_asynchronous_copies_do_not_move_what_their_masks_leave_out(depth: int, values: bool):
    """Five iterations, and copies are two ahead: those of a sixth and a seventh move nothing.

    With 304 numbers a row the fifth moves 48 of 64.
    """
    a, b, c = torch.zeros(64, 320).half(), torch.zeros(320, 64).half(), torch.zeros(64, 64)
    options: dict[str, Any] = {"STRIDE": 320, "BLOCK": 64, "num_stages": 3}
    trace = run_kernel(summed, (1,), a, b, c, depth, values=values, **options).trace
    assert (
        trace.ttgir.count("ttg.async_copy_global_to_local") == 6
    )  # two before the loop and one in it, of each operand
    assert trace.statistics["global_load_bytes"] == 2 * depth * 64 * 2
    whole = run_kernel(summed, (1,), a, b, c, 320, values=values, **options).trace
    assert trace.cycles <= whole.cycles


def an_sm(**done: int) -> Sm:
    sm = object.__new__(Sm)
    for name in ("tma_load_bytes", "tma_store_bytes", "global_load_bytes", "global_store_bytes", "multicast_bytes"):
        setattr(sm, name, done.get(name, 0))
    return sm


@pytest.mark.parametrize("in_l2", [False, True])
def test_traffic(in_l2: bool):
    """Two SMs of which each has ended two of twelve CTAs; one of the loads went to both."""
    sms = [
        an_sm(tma_load_bytes=500, tma_store_bytes=40),
        an_sm(tma_load_bytes=500, multicast_bytes=100, global_load_bytes=60, global_store_bytes=20),
    ]
    found = traffic(sms, 4, 12, 1000, in_l2=in_l2)
    assert (found.l2_read, found.received, found.l2_written) == (3 * 960, 3 * 1060, 3 * 60)
    assert (found.l2, found.once) == (3060, 1000)
    assert (found.dram_read, found.dram_written) == ((0, 0) if in_l2 else (820, 180))
    assert found.cycles_of_l2(h200()) == pytest.approx(max(3060 / 11710, 1000 / 4501))
    assert found.seconds_of_dram(h200()) == pytest.approx(0 if in_l2 else 820 / 4.596e12 + 180 / 3.419e12)
