"""What each unit of an SM takes, added up by hand from the figures of the device."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from kernel_runner import Run, b200, h200, run_kernel, run_ttgir

from tlxviz.launch.model import HostDescriptor
from tlxviz.sim.semantics.foreign_code import instructions_of
from tlxviz.trace.model import TrackKind

triton = pytest.importorskip("triton")
tlx = pytest.importorskip("triton.language.extra.tlx")
tl = pytest.importorskip("triton.language")

DEVICE = h200()
SYNC, TMA, CORE, MEMORY = DEVICE.sync, DEVICE.tma, DEVICE.tensor_core, DEVICE.memory
ALU = DEVICE.alu
BLOCK_BARRIER = SYNC.block_barrier_base + 4 * SYNC.block_barrier_per_warp
DRAINED = 8
"""Cycles of a wait for stores or copies beyond the last of them."""


def spans(run: Run, kind: str, track: TrackKind = TrackKind.WARP_GROUP) -> list[tuple[int, int]]:
    """(begin, end) of the events of a kind, in order."""
    trace, events = run.trace, run.trace.events
    return [
        (int(events["begin"][row]), int(events["end"][row]))
        for row in range(len(events))
        if trace.sites[events["site"][row]].kind == kind and trace.tracks[events["track"][row]].kind == track
    ]


def lengths(pairs: list[tuple[int, int]]) -> list[int]:
    return [end - begin for begin, end in pairs]


def tile(tensor: torch.Tensor, rows: int, columns: int) -> Any:
    from triton.tools.tensor_descriptor import TensorDescriptor

    return TensorDescriptor(tensor, list(tensor.shape), list(tensor.stride()), [rows, columns])


@triton.jit
def handed_over(y_ptr):
    go = tlx.alloc_barriers(1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.barrier_wait(go[0], 0)
            tlx.barrier_wait(go[0], 0)
            tl.store(y_ptr, 1)
        with tlx.async_task(num_warps=4):
            tlx.barrier_arrive(go[0])


def test_mbarrier():
    run = run_kernel(handed_over, (1,), torch.zeros(1, dtype=torch.int32))
    (arrive,) = spans(run, "arrive")
    blocked, ready = spans(run, "wait")
    assert arrive[1] - arrive[0] == 2 * BLOCK_BARRIER + SYNC.mbarrier_arrive
    assert blocked[1] == arrive[1] + SYNC.mbarrier_wake
    assert ready[1] - ready[0] == SYNC.mbarrier_try_wait


def test_partitions_start_late():
    run = run_kernel(handed_over, (1,), torch.zeros(1, dtype=torch.int32))
    default, partition = run.trace.tracks
    assert default.begin == 0
    assert partition.begin == pytest.approx(spans(run, "wait")[0][0], abs=4)  # the default task waits for it
    assert partition.begin > DEVICE.launch.warp_specialize_cycles


@triton.jit
def met(y_ptr):
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.named_barrier_wait(9, 256)
            tl.store(y_ptr, 1)
        with tlx.async_task(num_warps=4):
            tlx.named_barrier_arrive(9, 256)


def test_named_barrier():
    run = run_kernel(met, (1,), torch.zeros(1, dtype=torch.int32))
    (arrive,) = spans(run, "named_arrive")
    (wait,) = spans(run, "named_wait")
    assert arrive[1] - arrive[0] == SYNC.named_arrive
    assert wait[1] == arrive[1] + SYNC.named_barrier


@triton.jit
def loaded(desc, out, ROWS: tl.constexpr):
    tiles = tlx.local_alloc((ROWS, 64), tl.float16, 2)
    full = tlx.alloc_barriers(1)
    tlx.barrier_expect_bytes(full[0], ROWS * 64 * 2 * 2)
    tlx.async_descriptor_load(desc, tiles[0], [0, 0], full[0])
    tlx.async_descriptor_load(desc, tiles[1], [0, 64], full[0])
    tlx.barrier_wait(full[0], 0)
    tlx.fence("async_shared")
    tlx.async_descriptor_store(out, tiles[0], [0, 0])
    tlx.async_descriptor_store(out, tiles[1], [0, 64])
    tlx.async_descriptor_store_wait(0)


@pytest.mark.parametrize("rows", [64, 128])
def test_tma(rows: int):
    x, y = torch.randn(rows, 128).half(), torch.zeros(rows, 128).half()
    run = run_kernel(loaded, (1,), tile(x, rows, 64), tile(y, rows, 64), ROWS=rows)
    assert torch.equal(x, y)
    size = rows * 128
    transfer = int(size / TMA.bytes_per_cycle)
    assert lengths(spans(run, "expect")) == [SYNC.mbarrier_expect]
    issued = spans(run, "tma_load")
    assert lengths(issued) == [BLOCK_BARRIER + TMA.issue_cycles] * 2
    first, second = spans(run, "tma_load", TrackKind.TMA)
    read = issued[0][1] + MEMORY.l2_latency_cycles  # the descriptor, which the engine then knows
    assert first == (read, read + transfer + TMA.l2_latency_cycles)
    start = max(issued[1][1], first[0] + transfer)
    assert second == (start, start + transfer + TMA.l2_latency_cycles)
    (wait,) = spans(run, "wait")
    assert wait[1] == second[1] + SYNC.mbarrier_wake
    assert lengths(spans(run, "fence")) == [SYNC.fence_async_shared]

    out = math.ceil(size / TMA.store_bytes_per_cycle)
    handed = spans(run, "tma_store")
    assert lengths(handed) == [BLOCK_BARRIER + TMA.issue_cycles] * 2
    first, second = spans(run, "tma_store", TrackKind.TMA)
    assert first == (handed[0][1], handed[0][1] + out + TMA.store_latency_cycles)
    start = max(handed[1][1], first[0] + out)
    assert second == (start, start + out + TMA.store_latency_cycles)
    (drained,) = spans(run, "tma_store_wait")
    assert drained[1] == second[1] + DRAINED


SHARED = "#ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>"
BAR = f"!ttg.memdesc<1xi64, {SHARED}, #ttg.shared_memory, mutable>"
TILE = f"!ttg.memdesc<64xf32, {SHARED}, #ttg.shared_memory, mutable>"
DESC = f"!tt.tensordesc<tensor<64xf32, {SHARED}>>"


def test_a_token_stands_for_one_store():
    """A wait for the first of two stores is over before the second is done; it can signal a barrier."""
    run = run_ttgir(
        f"""
  tt.func public @tokens(%desc: {DESC}) {{
    %true = arith.constant true
    %c0 = arith.constant 0 : i32
    %c64 = arith.constant 64 : i32
    %bar = ttg.local_alloc : () -> {BAR}
    ttng.init_barrier %bar, 1 : {BAR}
    %tile = ttg.local_alloc : () -> {TILE}
    %a = ttng.async_tma_copy_local_to_global %desc[%c0] %tile : {DESC}, {TILE} -> !ttg.async.token
    %b = ttng.async_tma_copy_local_to_global %desc[%c64] %tile : {DESC}, {TILE} -> !ttg.async.token
    ttng.async_tma_store_token_wait %a, %bar[%true] : !ttg.async.token, {BAR}
    ttng.wait_barrier %bar, %c0, %true : {BAR}
    ttng.async_tma_store_token_wait %b : !ttg.async.token
    tt.return
  }}""",
        HostDescriptor(torch.zeros(128), (128,), (1,), (64,)),
    )
    stores = spans(run, "tma_store", TrackKind.TMA)
    waits = spans(run, "tma_store_wait")
    assert waits[0][1] == max(waits[0][0], stores[0][1]) + DRAINED
    assert waits[1][1] == max(waits[1][0], stores[1][1]) + DRAINED
    assert lengths(spans(run, "wait")) == [SYNC.mbarrier_try_wait]


@triton.jit
def multiplied(y_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, DTYPE: tl.constexpr):
    a = tlx.local_alloc((M, K), DTYPE, 1)
    b = tlx.local_alloc((N, K), DTYPE, 1)
    acc = tlx.async_dot(a[0], tlx.local_trans(b[0]))
    acc = tlx.async_dot(a[0], tlx.local_trans(b[0]), acc)
    acc = tlx.async_dot_wait(0, acc)
    tl.store(y_ptr + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :], acc)


@pytest.mark.parametrize(
    ("m", "n", "k", "dtype", "rate"),
    [
        (64, 256, 64, "float16", CORE.fp16),
        (128, 128, 64, "bfloat16", CORE.bf16),
        (64, 64, 128, "float8e5", CORE.fp8),
        (64, 128, 32, "float32", CORE.tf32),
    ],
)
def test_tensor_core(m: int, n: int, k: int, dtype: str, rate: float):
    run = run_kernel(multiplied, (1,), torch.zeros(m, n), M=m, N=n, K=k, DTYPE=getattr(tl, dtype))
    work = math.ceil(2 * m * n * k / rate)
    issued = spans(run, "mma")
    size = {"float16": 2, "bfloat16": 2, "float8e5": 1, "float32": 4}[dtype]
    further = m // 64 * (k * size // 32) - 1
    more = round(further * n * CORE.issue_cycles_per_column)
    addresses = 4 * (further + 1)
    begin = issued[0][0] + round(CORE.issue_cycles + addresses)
    assert issued[0][1] == begin + more
    first, second = spans(run, "mma", TrackKind.TENSOR_CORE)
    assert first == (begin, begin + work)
    begin = max(issued[1][0] + round(CORE.issue_cycles + addresses), first[1])
    assert second == (begin, begin + work)
    waits = spans(run, "mma_wait")
    assert waits[-1][1] == second[1] + CORE.completion_cycles + CORE.wait_cycles
    assert run.trace.statistics["tensor_core_busy_cycles"] == 2 * work


@pytest.mark.parametrize("n", [32, 64, 128])
def test_narrow_instructions_leave_the_tensor_core_idle(n: int):
    """Four m64nNk16, twice, with both operands in shared memory: an H200 takes 16 + N/4 cycles for each, or N/2."""
    run = run_kernel(multiplied, (1,), torch.zeros(64, n), M=64, N=n, K=64, DTYPE=tl.float16)
    each = max(n / 2, CORE.narrow_cycles + CORE.narrow_cycles_per_column * n)
    assert run.trace.statistics["tensor_core_busy_cycles"] == 8 * each


@triton.jit
def combined(x_ptr, y_ptr, LARGER: tl.constexpr):
    at = tl.arange(0, 128)[:, None] * 128 + tl.arange(0, 128)[None, :]
    x = tl.load(x_ptr + at)
    for _ in range(8):
        x = tl.maximum(x, x * 2) if LARGER else x + x * 2
    tl.store(y_ptr + at, x)


def test_the_larger_of_two_takes_twice_as_long_as_their_sum():
    def cycles(larger: bool) -> int:
        x, y = torch.randn(128, 128), torch.zeros(128, 128)
        return run_kernel(combined, (1,), x, y, LARGER=larger).cycles

    alu = DEVICE.alu
    longer = 8 * 128 * 128 * (1 / alu.minmax - 1 / alu.fp32)
    assert cycles(True) - cycles(False) == pytest.approx(longer, rel=0.02)


@triton.jit
def largest(x_ptr, y_ptr):
    at = tl.arange(0, 128)[:, None] * 128 + tl.arange(0, 128)[None, :]
    tl.store(y_ptr + tl.arange(0, 128), tl.max(tl.load(x_ptr + at), 1))


def test_blackwell_takes_the_largest_of_three_at_once():
    """128 x 128 numbers, a row of them over 32 lanes of which each has 4: twice 32 rows a warp.

    Half as many instructions as on a GPU that takes two: 16384 results over those of a cycle, but for one a row.
    """
    x, y = torch.randn(128, 128), torch.zeros(128)
    two, three = (
        run_kernel(largest, (1,), x, y, device=device).trace.statistics["logic_busy_cycles"]
        for device in (h200(), b200())
    )
    assert torch.equal(y, x.max(1).values)
    assert two - three == pytest.approx(128 * 128 / ALU.compare / 2, rel=0.01)


@triton.jit
def assembled(x_ptr, y_ptr, ASM: tl.constexpr):
    at = tl.arange(0, 16384)
    x = tl.load(x_ptr + at)
    y = tl.inline_asm_elementwise(ASM, "=r,=r,r,r", [x], dtype=tl.float32, is_pure=True, pack=2)
    tl.store(y_ptr + at, y)


DOUBLED = """{
    .reg .b64 pair, twice;            // two declarations; the pair has registers of its own already
    mov.b64 pair, { $2, $3 };
    add.rn.f32x2 twice, pair, pair;
    mov.b64 { $0, $1 }, twice;
}"""
TWICE_DOUBLED = DOUBLED.replace("mov.b64 { $0", "add.rn.f32x2 twice, twice, twice;\n    mov.b64 { $0")


def test_arithmetic_on_pairs_has_the_rate_of_single_numbers():
    """16384 numbers: another addition is one result each, at 128 a cycle."""

    def busy(asm: str, times: int) -> float:
        x, y = torch.randn(16384), torch.zeros(16384)
        found = run_kernel(assembled, (1,), x, y, ASM=asm, device=b200())
        assert torch.equal(y, times * x)
        return found.trace.statistics["issue_busy_cycles"]

    assert busy(TWICE_DOUBLED, 4) - busy(DOUBLED, 2) == 16384 / b200().alu.fp32 == 128


@pytest.mark.parametrize(
    ("asm", "instructions"),
    [
        (DOUBLED, 2),
        (TWICE_DOUBLED, 4),
        ("mov.b32 $0, { $1, $2 };", 1),  # halves of a register have to be put together
        ("mov.b64 $0, { a, b, c, d };", 1),
        ("mov.u32 $0, %smid;", 1),
        ("{ .reg .pred p; setp.ne.s32 p, $1, 0; again: @!p bra again; @p add.s32 $0, $1, 1; }", 3),
        ("ex2.approx.ftz.f32 $0, $1 /* first; then */ ; // rcp.approx;", 1),
        ("// nothing", 1),
    ],
)
def test_instructions_of_inline_assembly(asm: str, instructions: int):
    assert instructions_of(asm) == instructions


@triton.jit
def copied(x_ptr, y_ptr, SIZE: tl.constexpr):
    buffers = tlx.local_alloc((SIZE,), tl.float32, 1)
    at = tl.arange(0, SIZE)
    tlx.async_load(x_ptr + at, buffers[0])
    tlx.async_load_commit_group()
    tlx.async_load_wait_group(0)
    tl.store(y_ptr + at, tlx.local_load(buffers[0]))


def test_asynchronous_copy():
    run = run_kernel(copied, (1,), torch.randn(1024), torch.zeros(1024), SIZE=1024)
    (issued,) = spans(run, "async_copy")
    (wait,) = spans(run, "async_copy_wait")
    transfer = int(4096 / MEMORY.copy_bytes_per_cycle)
    assert wait[1] == issued[1] + transfer + MEMORY.cp_async_latency_cycles + DRAINED


def test_a_launch_costs_more_than_its_ctas():
    run = run_kernel(handed_over, (1,), torch.zeros(1, dtype=torch.int32))
    overhead = round(DEVICE.launch.kernel_ns * DEVICE.clock.boost_mhz / 1000)
    assert run.cycles == run.trace.statistics["sm_cycles"] + overhead


def test_ctas_follow_one_another():
    """One SM's worth of CTAs after the other: the second wave starts when the first has ended."""
    run = run_kernel(loaded_alone, (2 * 132,), torch.zeros(2 * 132, dtype=torch.int32), ctas=[0, 132])
    first, second = [track for track in run.trace.tracks if track.kind == TrackKind.WARP_GROUP]
    assert (first.sm, second.sm) == (0, 0)
    assert second.begin == first.end + DEVICE.launch.cta_cycles


@triton.jit
def loaded_alone(y_ptr):
    tiles = tlx.local_alloc((128, 128), tl.float16, 6)
    at = tl.arange(0, 128)[:, None] * 128 + tl.arange(0, 128)[None, :]
    for n in range(6):
        tlx.local_store(tiles[n], at.to(tl.float16))
    total = tl.sum(tl.sum(tlx.local_load(tiles[5]).to(tl.float32), 1), 0)
    tl.store(y_ptr + tl.program_id(0), total.to(tl.int32))
