"""Where a launch's data are, and how long an SM waits for them."""

from __future__ import annotations

import pytest
from kernel_runner import h200

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
