"""Functions that are not inlined: they run on the clock of the warp group that calls them, and record for it."""

from __future__ import annotations

import pytest
import torch
from kernel_runner import compile_kernel, execute, h200, run_kernel, run_ttgir

from tlxviz.sim.replay import replay

triton = pytest.importorskip("triton")
tlx = pytest.importorskip("triton.language.extra.tlx")
tl = pytest.importorskip("triton.language")


@triton.jit(noinline=True)
def multiplied(a_ptr, c_ptr, n):
    at = tl.arange(0, 64)[:, None] * 64 + tl.arange(0, 64)[None, :]
    c = tl.zeros((64, 64), tl.float32)
    for _ in range(n):
        a = tl.load(a_ptr + at)
        c = tl.dot(a, a, c)
    tl.store(c_ptr + at, c)
    return n + 1


@triton.jit
def multiplying(a_ptr, c_ptr, n_ptr, n):
    for i in range(n):
        m = multiplied(a_ptr, c_ptr, i + 1)
        tl.store(n_ptr + i, m)


@triton.jit
def multiplying_inlined(a_ptr, c_ptr, n):
    at = tl.arange(0, 64)[:, None] * 64 + tl.arange(0, 64)[None, :]
    c = tl.zeros((64, 64), tl.float32)
    for _ in range(n):
        a = tl.load(a_ptr + at)
        c = tl.dot(a, a, c)
    tl.store(c_ptr + at, c)


def test_products_in_a_function():
    a, c, n = torch.randn(64, 64).half(), torch.zeros(64, 64), torch.zeros(3, dtype=torch.int32)
    run = run_kernel(multiplying, (1,), a, c, n, 3)
    torch.testing.assert_close(c, 3 * (a.float() @ a.float()), rtol=1e-5, atol=1e-4)
    assert n.tolist() == [2, 3, 4]
    events, trace = run.trace.events, run.trace
    kinds = [trace.sites[site].kind for site in events["site"]]
    core = [track.kind == "tensor_core" for track in trace.tracks]
    issued = [row for row, kind in enumerate(kinds) if kind == "mma" and not core[events["track"][row]]]
    assert [int(events["outer"][row]) for row in issued] == [0, 1, 1, 2, 2, 2]
    assert [int(events["inner"][row]) for row in issued] == [0, 0, 1, 0, 1, 2]
    assert kinds.count("mma_wait") == 6


def test_a_function_costs_what_its_inlined_body_costs_and_the_call():
    a, c, n = torch.randn(64, 64).half(), torch.zeros(64, 64), torch.zeros(3, dtype=torch.int32)
    once = run_kernel(multiplying, (1,), a, c, n, 1).cycles
    inlined = run_kernel(multiplying_inlined, (1,), a, c, 1).cycles
    assert 20 <= once - inlined <= 120


@triton.jit(noinline=True)
def told(bar):
    tlx.barrier_arrive(bar, 1)


@triton.jit(noinline=True)
def awaited(bar, phase):
    tlx.barrier_wait(bar, phase)


@triton.jit
def telling(x_ptr, K):
    first = tlx.alloc_barriers(2)
    second = tlx.alloc_barriers(1)
    for k in range(K):
        told(first[k % 2])
        awaited(first[k % 2], (k // 2) & 1)
        told(second[0])
        awaited(second[0], k & 1)
        tl.store(x_ptr + k, k)


def test_barriers_of_several_arrays_in_one_function():
    x = torch.zeros(5)
    launch = compile_kernel(telling, (1,), x, 5)
    trace = execute(launch).trace
    assert x.tolist() == [0, 1, 2, 3, 4]
    assert [site.kind for site in trace.sites] == ["arrive", "wait"]
    assert [track.name for track in trace.tracks] == ["compute"]
    assert trace.events["slot"].tolist() == [0, 0, 0, 0, 1, 1, 0, 0] * 2 + [0, 0, 0, 0]
    assert trace.events["inner"].tolist() == [k for k in range(5) for _ in range(4)]
    assert trace.events["released_by"].tolist() == [-1 if row % 2 == 0 else row - 1 for row in range(20)]
    (cta,) = replay(launch, h200(), (0,)).ctas
    from tlxviz.sim.rows import BARRIER, ROUND

    assert cta.rows[:, BARRIER].tolist() == [0, 0, 1, 1] * 5
    assert cta.rows[:, ROUND].tolist() == [n for k in range(5) for n in (k // 2, k // 2, k, k)]


@triton.jit(noinline=True)
def all_told(bars, N):
    for k in range(N):
        tlx.barrier_arrive(bars[k], 1)
        tlx.barrier_wait(bars[k], 0)


@triton.jit
def telling_all(x_ptr):
    first = tlx.alloc_barriers(2)
    second = tlx.alloc_barriers(2)
    all_told(first, 2)
    all_told(second, 2)
    tl.store(x_ptr, 1)


def test_whole_arrays_as_arguments():
    trace = run_kernel(telling_all, (1,), torch.zeros(1)).trace
    assert trace.events["slot"].tolist() == [0, 0, 1, 1] * 2
    assert trace.events["inner"].tolist() == [0, 0, 1, 1] * 2


SHARED = """
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32, ttg.target = "cuda:90"} {
"""
PASSED = """
  tt.func public @k(%p: !tt.ptr<i32>) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c3 = arith.constant 3 : i32
    %bars = ttg.local_alloc : () -> !ttg.memdesc<2xi64, #shared, #smem, mutable>
    %b0 = ttg.memdesc_index %bars[%c0] : !ttg.memdesc<2xi64, #shared, #smem, mutable> -> BAR
    ttng.init_barrier %b0, 1 : BAR
    %b1 = ttg.memdesc_index %bars[%c1] : !ttg.memdesc<2xi64, #shared, #smem, mutable> -> BAR
    ttng.init_barrier %b1, 1 : BAR
    ttg.warp_specialize(%b0, %b1)
    default {
      scf.for %i = %c0 to %c3 step %c1 : i32 {
        %phase = arith.andi %i, %c1 : i32
        tt.call @exchanged(%b0, %b1, %phase) : (BAR, BAR, i32) -> ()
      }
      ttg.warp_yield
    }
    partition0(%x0: BAR, %x1: BAR) num_warps(2) {
      %d0 = arith.constant 0 : i32
      %d1 = arith.constant 1 : i32
      %d3 = arith.constant 3 : i32
      scf.for %i = %d0 to %d3 step %d1 : i32 {
        %phase = arith.andi %i, %d1 : i32
        tt.call @exchanged(%x1, %x0, %phase) : (BAR, BAR, i32) -> ()
      }
      ttg.warp_return
    } : (BAR, BAR) -> ()
    tt.return
  }
  tt.func private @exchanged(%mine: BAR, %other: BAR, %phase: i32) attributes {noinline = true} {
    ttng.arrive_barrier %other, 1 : BAR
    %true = arith.constant true
    ttng.wait_barrier %mine, %phase, %true : BAR
    tt.return
  }
}
"""


def test_one_function_of_several_warp_groups():
    """Neither compiler takes calls in async tasks so far."""
    text = SHARED + PASSED.replace("BAR", "!ttg.memdesc<1xi64, #shared, #smem, mutable>")
    trace = run_ttgir(text, torch.zeros(1, dtype=torch.int32)).trace
    events = trace.events
    assert [site.kind for site in trace.sites] == ["arrive", "wait"]
    assert [track.agent for track in trace.tracks] == [0, 1]
    for track, slot in ((0, 0), (1, 1)):
        own = events["track"] == track
        assert events["slot"][own].tolist() == [1 - slot, slot] * 3
        assert events["inner"][own].tolist() == [0, 0, 1, 1, 2, 2]
        waits = [row for row in range(len(events)) if own[row] and events["site"][row] == 1]
        # what releases a wait is the arrival of the other
        assert [int(events["track"][events["released_by"][row]]) for row in waits] == [1 - track] * 3
