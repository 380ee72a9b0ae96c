"""Replays: which markers each warp group passes, in which order, and what it does between them."""

from __future__ import annotations

import re
from dataclasses import replace
from operator import itemgetter
from typing import Any

import numpy as np
import pytest
import torch
from kernel_runner import compile_kernel, execute, fbtriton_only, h200, run_ttgir, ttgir_launch

from tlxviz.ir import load_program
from tlxviz.ir.markers import probe_marker
from tlxviz.launch.model import Launch
from tlxviz.sim.effects import talks
from tlxviz.sim.replay import CtaReplay, Replayed, replay
from tlxviz.sim.rows import COLUMNS

triton = pytest.importorskip("triton")
tlx = pytest.importorskip("triton.language.extra.tlx")
tl = pytest.importorskip("triton.language")


def replayed(launch: Launch, *ctas: int) -> Replayed:
    return replay(launch, h200(), ctas or (0,))


def column(cta: CtaReplay, name: str) -> list[int]:
    return cta.rows[:, COLUMNS.index(name)].tolist()


def kinds(found: Replayed, cta: CtaReplay) -> list[str]:
    """Kinds of the sites of a CTA's rows; those of engines in capitals."""
    sites = found.program.sites
    named = []
    for code in column(cta, "code"):
        engine, site = divmod(code, len(sites))
        named.append(str(sites[site].kind).upper() if engine else str(sites[site].kind))
    return named


def marked(launch: Launch) -> Launch:
    """The launch with a marker in front of every operation that has one on a line of its own."""
    number = 0
    lines: list[str] = []
    for line in launch.ttgir.splitlines():
        if re.match(r"\s+(ttng\.|%\S+ = (ttng|arith|ttg?)\.|scf\.(for|if|yield)|tt\.store|ttg\.warp_)", line):
            lines.append(probe_marker(number))
            number += 1
        lines.append(line)
    assert number
    return replace(launch, ttgir="\n".join(lines) + "\n")


def test_a_marker_tells_when_it_is_passed():
    text = f"""
    tt.func public @k(%p: !tt.ptr<i32>, %n: i32) {{
      %zero = arith.constant 0 : i32
      %one = arith.constant 1 : i32
      %two = arith.constant 2 : i32
      {probe_marker(0)}
      scf.for %i = %zero to %n step %one : i32 {{
        {probe_marker(1)}
        %odd = arith.remsi %i, %two : i32
        %c = arith.cmpi eq, %odd, %one : i32
        scf.if %c {{
          {probe_marker(2)}
          ttng.fence_async_shared {{bCluster = false}}
        }} else {{
          {probe_marker(30)}
        }}
      }}
      %last = scf.while (%a = %zero) : (i32) -> i32 {{
        {probe_marker(4)}
        %more = arith.cmpi slt, %a, %two : i32
        scf.condition(%more) %a : i32
      }} do {{
      ^bb0(%b: i32):
        {probe_marker(5)}
        %next = arith.addi %b, %one : i32
        scf.yield %next : i32
      }}
      tt.store %p, %last : !tt.ptr<i32>
      {probe_marker(6)}
      tt.return
    }}
    """
    found = replayed(ttgir_launch(text, torch.zeros(1, dtype=torch.int32), 4))
    (cta,) = found.ctas
    (agent,) = cta.agents
    assert agent.marks.tolist() == [0, 1, 30, 1, 2, 1, 30, 1, 2, 4, 5, 4, 5, 4, 6]
    assert agent.places.tolist() == [0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2]
    assert column(cta, "inner") == [1, 3]
    assert (agent.agent, agent.first_thread, agent.warps, agent.done, agent.blocked) == (0, 0, 4, True, None)
    assert kinds(found, cta) == ["fence", "fence"]
    # what is simulated otherwise has no trace of the markers
    x = torch.zeros(1, dtype=torch.int32)
    run = run_ttgir(text, x, 4)
    assert x.item() == 2
    plain = run_ttgir("\n".join(line for line in text.splitlines() if "probe" not in line), x, 4)
    assert plain.cycles == run.cycles
    assert not talks(load_program(run.launch.ttgir))


def test_markers_between_blocks_and_in_functions():
    text = f"""
    tt.func public @k(%p: !tt.ptr<i32>, %n: i32) {{
      %zero = arith.constant 0 : i32
      %one = arith.constant 1 : i32
      cf.br ^bb1(%zero : i32)
    ^bb1(%i: i32):
      {probe_marker(1)}
      tt.call @f(%p, %i) : (!tt.ptr<i32>, i32) -> ()
      %next = arith.addi %i, %one : i32
      %more = arith.cmpi slt, %next, %n : i32
      cf.cond_br %more, ^bb1(%next : i32), ^bb2
    ^bb2:
      {probe_marker(2)}
      tt.return
    }}
    tt.func private @f(%p: !tt.ptr<i32>, %i: i32) attributes {{noinline = true}} {{
      {probe_marker(7)}
      ttng.fence_async_shared {{bCluster = false}}
      tt.store %p, %i : !tt.ptr<i32>
      {probe_marker(8)}
      tt.return
    }}
    """
    (cta,) = replayed(ttgir_launch(text, torch.zeros(1, dtype=torch.int32), 3)).ctas
    (agent,) = cta.agents
    assert agent.marks.tolist() == [1, 7, 8, 1, 7, 8, 1, 7, 8, 2]
    assert agent.places.tolist() == [0, 0, 1, 1, 1, 2, 2, 2, 3, 3]


@triton.jit
def ring(desc, y_ptr, K, S: tl.constexpr, HANG: tl.constexpr):
    a = tlx.local_alloc((64, 64), tl.float16, S)
    full = tlx.alloc_barriers(S)
    empty = tlx.alloc_barriers(S)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            for k in range(K):
                tlx.barrier_wait(empty[k % S], ((k // S) & 1) ^ 1)
                tlx.barrier_expect_bytes(full[k % S], 64 * 64 * 2)
                tlx.async_descriptor_load(desc, a[k % S], [0, k * 64], full[k % S])
        with tlx.async_task(num_warps=4):
            at = tl.arange(0, 64)[:, None] * 64 + tl.arange(0, 64)[None, :]
            for k in range(K):
                tlx.barrier_wait(full[k % S], (k // S) & 1)
                tl.store(y_ptr + at, tlx.local_load(a[k % S]))
                if not HANG:
                    tlx.barrier_arrive(empty[k % S])


def ring_launch(steps: int, *, hang: bool = False, grid: int = 1) -> Launch:
    from triton.tools.tensor_descriptor import TensorDescriptor

    desc = TensorDescriptor(torch.zeros(64, 512).half(), [64, 512], [512, 1], [64, 64])
    return compile_kernel(ring, (grid,), desc, torch.zeros(64, 64).half(), steps, S=2, HANG=hang)


def test_rounds_and_barriers_of_a_ring():
    found = replayed(ring_launch(5))
    (cta,) = found.ctas
    named = {barrier.name: barrier.index for barrier in found.program.barriers}
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in cta.rows.tolist()]
    of: dict[str, list[dict[str, int]]] = {}
    for row, kind in zip(rows, kinds(found, cta), strict=True):
        of.setdefault(kind, []).append(row)
    loads = [row for row in of["wait"] if row["barrier"] == named["empty"]]
    takes = [row for row in of["wait"] if row["barrier"] == named["full"]]
    columns = itemgetter("slot", "phase", "round")
    assert [*map(columns, loads)] == [(0, 1, -1), (1, 1, -1), (0, 0, 0), (1, 0, 0), (0, 1, 1)]
    assert [*map(columns, takes)] == [(0, 0, 0), (1, 0, 0), (0, 1, 1), (1, 1, 1), (0, 0, 2)]
    for kind, barrier in (("arrive", "empty"), ("expect", "full"), ("tma_load", "full"), ("TMA_LOAD", "full")):
        assert {row["barrier"] for row in of[kind]} == {named[barrier]}
        assert [(row["slot"], row["round"]) for row in of[kind]] == [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2)]
    assert {row["home"] for row in rows} == {0}
    assert [cta.agents[row["run"]].agent for row in takes] == [1] * 5
    assert [cta.agents[row["run"]].agent for row in loads] == [0] * 5
    # a wait is released by what has landed
    assert all(rows[row["released_by"]] in of["TMA_LOAD"] for row in takes)
    assert {row["released_rank"] for row in takes} == {0}
    assert [agent.first_thread for agent in cta.agents] == [0, 128]


def test_a_replay_agrees_with_a_recording():
    launch = ring_launch(5, grid=4)
    found = replay(launch, h200(), (1, 3, 9))
    trace = execute(launch, values=False, ctas=(1, 3)).trace
    assert [cta.cta for cta in found.ctas] == [1, 3]
    assert sum(len(cta.rows) for cta in found.ctas) == len(trace.events)
    first = [track.cta == 1 for track in trace.tracks]
    told = sorted(trace.events["begin"][[first[track] for track in trace.events["track"]]].tolist())
    assert sorted(column(found.ctas[0], "begin")) == told
    assert (found.flop, found.hang, found.statistics["ctas"]) == (trace.flop, None, 4)


def test_markers_change_nothing():
    launch = ring_launch(5)
    plain, with_markers = replayed(launch), replayed(marked(launch))
    assert [agent.name for agent in plain.program.agents] == [agent.name for agent in with_markers.program.agents]
    assert [site.kind for site in plain.program.sites] == [site.kind for site in with_markers.program.sites]
    assert plain.cycles == with_markers.cycles
    for before, after in zip(plain.ctas, with_markers.ctas, strict=True):
        assert np.array_equal(before.rows, after.rows)
        assert [agent.marks.size for agent in before.agents] == [0, 0]
        for agent in after.agents:
            assert agent.marks.size
            assert (np.diff(agent.places) >= 0).all()


def test_a_hang_is_told_with_what_came_before():
    found = replayed(ring_launch(5, hang=True))
    (cta,) = found.ctas
    load, other = cta.agents
    assert found.hang is not None
    assert found.hang["waiters"][0]["variable"] == "empty"
    assert found.cycles == found.hang["cycle"]
    assert not load.done
    assert load.blocked is not None
    names = [barrier.name for barrier in found.program.barriers]
    stands = load.blocked
    assert (stands.kind, names[stands.barrier], stands.slot) == ("wait", "empty", 0)
    assert (stands.phase, stands.round, stands.inner) == (0, 0, 2)
    assert found.program.sites[stands.site].kind == "wait"
    assert other.blocked is not None
    assert (names[other.blocked.barrier], other.blocked.round) == ("full", 1)
    assert kinds(found, cta).count("TMA_LOAD") == 2


@triton.jit
def pass_around(x_ptr, ROUNDS: tl.constexpr):
    with tlx.async_tasks():
        with tlx.async_task("default"):
            for i in range(ROUNDS):
                tl.store(x_ptr, i)
                tlx.named_barrier_arrive(9, 256)
                tlx.named_barrier_wait(10, 256)
        with tlx.async_task(num_warps=4):
            for _i in range(ROUNDS):
                tlx.named_barrier_wait(9, 256)
                tlx.named_barrier_arrive(10, 256)


def test_rounds_of_named_barriers():
    launch = compile_kernel(pass_around, (1,), torch.zeros(1), ROUNDS=3)
    found = replayed(launch)
    (cta,) = found.ctas
    rows = [(row[COLUMNS.index("slot")], row[COLUMNS.index("phase")]) for row in cta.rows.tolist()]
    told = sorted(zip(kinds(found, cta), rows, strict=True))
    both = [(slot, phase) for slot in (9, 10) for phase in range(3)]
    assert told == [("named_arrive", each) for each in both] + [("named_wait", each) for each in both]
    trace = execute(launch).trace
    assert sorted(trace.events["phase"].tolist()) == [0] * 4 + [1] * 4 + [2] * 4


@triton.jit
def two_phases(x_ptr):
    for i in range(2):
        tl.store(x_ptr + i, 1.0)
        tlx.cluster_barrier()


@fbtriton_only("compiles no barrier of clusters in a kernel whose programs are single CTAs")
def test_rounds_of_clusters_and_their_mates():
    launch = compile_kernel(two_phases, (8,), torch.zeros(2), ctas_per_cga=(2, 1, 1))
    found = replayed(launch, 5)
    assert [(cta.cta, cta.rank) for cta in found.ctas] == [(4, 0), (5, 1)]
    for cta in found.ctas:
        waits = [row for row, kind in zip(cta.rows.tolist(), kinds(found, cta), strict=True) if kind == "cluster_wait"]
        assert [row[COLUMNS.index("round")] for row in waits] == [0, 1]


@triton.jit
def counted(n_ptr, x_ptr):
    first = tl.atomic_add(n_ptr, 1)
    tl.store(x_ptr + first, 1)


def test_kernels_that_talk_run_all_ctas():
    launch = compile_kernel(counted, (6,), torch.zeros(1, dtype=torch.int32), torch.zeros(8, dtype=torch.int32))
    found = replayed(launch, 5)
    assert [cta.cta for cta in found.ctas] == [5]
    assert found.statistics["ctas_simulated"] == 6
    assert replayed(ring_launch(2, grid=6), 5).statistics["ctas_simulated"] == 1


def test_ctas_that_the_grid_does_not_have():
    found: Any = replayed(ring_launch(2), 3)
    assert (found.ctas, found.hang) == ((), None)


CHOSEN = """
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32, ttg.target = "cuda:90"} {
  tt.func public @k(%p: !tt.ptr<i32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c4 = arith.constant 4 : i32
    %first = ttg.local_alloc : () -> ARRAY
    %second = ttg.local_alloc : () -> ARRAY
    %f = ttg.memdesc_index %first[%c0] : ARRAY -> BAR
    ttng.init_barrier %f, 1 : BAR
    %s = ttg.memdesc_index %second[%c0] : ARRAY -> BAR
    ttng.init_barrier %s, 1 : BAR
    scf.for %i = %c0 to %c4 step %c1 : i32 {
      %odd = arith.andi %i, %c1 : i32
      %is = arith.cmpi eq, %odd, %c1 : i32
      %half = arith.shrui %i, %c1 : i32
      %phase = arith.andi %half, %c1 : i32
      %array = scf.if %is -> (ARRAY) {
        scf.yield %second : ARRAY
      } else {
        scf.yield %first : ARRAY
      }
      %bar = ttg.memdesc_index %array[%c0] : ARRAY -> BAR
      %same = arith.select %is, %s, %f : BAR
      ttng.arrive_barrier %bar, 1 : BAR
      ttng.wait_barrier %same, %phase : BAR
    }
    tt.return
  }
}
"""


def test_a_barrier_that_depends_on_the_way():
    text = CHOSEN.replace("ARRAY", "!ttg.memdesc<2xi64, #shared, #smem, mutable>")
    text = text.replace("BAR", "!ttg.memdesc<1xi64, #shared, #smem, mutable>")
    found = replayed(ttgir_launch(text, torch.zeros(1, dtype=torch.int32), 4))
    assert [site.variable for site in found.program.sites] == ["", ""]
    (cta,) = found.ctas
    assert column(cta, "barrier") == [0, 0, 1, 1] * 2
    assert column(cta, "round") == [0] * 4 + [1] * 4
