"""Rings of slots between a producer and its consumers, at the trip counts that faults like."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from kernel_runner import compile_kernel, execute

triton = pytest.importorskip("triton")
tlx = pytest.importorskip("triton.language.extra.tlx")
tl = pytest.importorskip("triton.language")


@triton.jit
def rings(
    x_desc, y_desc, TILES, STEPS, S: tl.constexpr, CONSUMERS: tl.constexpr, STAGING: tl.constexpr, WAIT: tl.constexpr
):
    """Adds STEPS tiles of x to the number of each tile of y; each consumer has rows of its own."""
    slots = tlx.local_alloc((32, 64), tl.float16, S * CONSUMERS)
    full = tlx.alloc_barriers(S * CONSUMERS)
    empty = tlx.alloc_barriers(S * CONSUMERS)
    staging = tlx.local_alloc((32, 64), tl.float16, STAGING * CONSUMERS)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            count = 0
            for tile in range(tl.program_id(0), TILES, tl.num_programs(0)):
                for step in range(STEPS):
                    for who in tl.static_range(CONSUMERS):
                        at = who * S + count % S
                        tlx.barrier_wait(empty[at], ((count // S) & 1) ^ 1)
                        tlx.barrier_expect_bytes(full[at], 32 * 64 * 2)
                        row = ((tile * STEPS + step) * CONSUMERS + who) * 32
                        tlx.async_descriptor_load(x_desc, slots[at], [row, 0], full[at])
                    count += 1
        with tlx.async_task(num_warps=4, replicate=CONSUMERS):
            who = tlx.async_task_replica_id()
            count = 0
            done = 0
            for tile in range(tl.program_id(0), TILES, tl.num_programs(0)):
                total = tl.zeros((32, 64), tl.float32) + tile
                for _ in range(STEPS):
                    at = who * S + count % S
                    tlx.barrier_wait(full[at], (count // S) & 1)
                    total += tlx.local_load(slots[at]).to(tl.float32)
                    tlx.barrier_arrive(empty[at])
                    count += 1
                if WAIT:
                    tlx.async_descriptor_store_wait(STAGING - 1)
                buffer = staging[who * STAGING + done % STAGING]
                tlx.local_store(buffer, total.to(tl.float16))
                tlx.fence("async_shared")
                tlx.async_descriptor_store(y_desc, buffer, [(tile * CONSUMERS + who) * 32, 0])
                done += 1  # noqa: SIM113
            tlx.async_descriptor_store_wait(0)


def launched(
    tiles: int, steps: int, slots: int, consumers: int, staging: int, wait: bool = True
) -> tuple[Any, Any, Any]:
    """The launch, its output, and what that should be."""
    from triton.tools.tensor_descriptor import TensorDescriptor

    torch.manual_seed(0)
    x = torch.randn(max(1, tiles * steps * consumers) * 32, 64).half()
    y = torch.full((tiles * consumers * 32, 64), 7.0).half()
    sums = x[: tiles * steps * consumers * 32].float().view(tiles, steps, consumers * 32, 64).sum(1)
    want = (sums + torch.arange(tiles).view(-1, 1, 1)).half()
    descriptors = [TensorDescriptor.from_tensor(tensor, [32, 64]) for tensor in (x, y)]
    options = {"S": slots, "CONSUMERS": consumers, "STAGING": staging, "WAIT": wait}
    return compile_kernel(rings, (2,), *descriptors, tiles, steps, **options), y, want.view(-1, 64)


@pytest.mark.parametrize("consumers", [1, 2])
@pytest.mark.parametrize("slots", [1, 2, 3])
@pytest.mark.parametrize("extra", ["none", "one", "all", "one more", "twice and one"])
def test_sums_come_out_right_with_and_without_waiting(consumers: int, slots: int, extra: str):
    steps = {"none": 0, "one": 1, "all": slots, "one more": slots + 1, "twice and one": 2 * slots + 1}[extra]
    launch, y, want = launched(5, steps, slots, consumers, staging=2)
    on = execute(launch, ctas=(0, 1)).trace
    torch.testing.assert_close(y, want, rtol=2e-3, atol=2e-3)
    off = execute(launch, values=False, ctas=(0, 1)).trace
    assert on.cycles == off.cycles
    for column in ("track", "site", "begin", "end", "outer", "inner", "slot", "phase", "released_by"):
        assert (on.events[column] == off.events[column]).all(), column


def test_a_staging_buffer_that_is_reused_too_early_is_seen_in_the_numbers():
    launch, y, want = launched(6, 0, 2, 1, staging=1, wait=False)
    execute(launch)
    assert not torch.allclose(y, want, rtol=2e-3, atol=2e-3)
