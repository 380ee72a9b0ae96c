"""Functions that are not inlined: what they do is drawn at each of their calls.

`data/calls.ttgir` is this kernel, whose first line is the 7th of its file:

    @triton.jit(noinline=True)
    def told(bar):
        tlx.barrier_arrive(bar, 1)

    @triton.jit(noinline=True)
    def met(bar, phase):
        told(bar)
        tlx.barrier_wait(bar, phase)

    @triton.jit(noinline=True)
    def multiplied(a_ptr, c_ptr, n):
        at = tl.arange(0, 64)[:, None] * 64 + tl.arange(0, 64)[None, :]
        c = tl.zeros((64, 64), tl.float32)
        for _ in range(n):
            a = tl.load(a_ptr + at)
            c = tl.dot(a, a, c)
        tl.store(c_ptr + at, c)

    @triton.jit
    def calling(a_ptr, c_ptr, K):
        first = tlx.alloc_barriers(2)
        second = tlx.alloc_barriers(1)
        for k in range(K):
            met(first[k % 2], (k // 2) & 1)
            told(second[0])
            tlx.barrier_wait(second[0], k & 1)
        multiplied(a_ptr, c_ptr, K)

with two empty lines between functions.
"""

from __future__ import annotations

from pathlib import Path

from diagrams.edges_by_hand import E, edges

from tlxviz.diagrams.barriers import barriers
from tlxviz.diagrams.model import Cluster
from tlxviz.diagrams.model import EdgeKind as Kind
from tlxviz.diagrams.pipeline import pipeline
from tlxviz.ir import load_program
from tlxviz.ir.program import Program

TILE = 64 * 64 * 2

SHARED = """
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32, ttg.target = "cuda:90"} {
  tt.func public @pair(%n: i32) {
    %c0 = arith.constant 0 : i32
    %b0 = ttg.local_alloc : () -> BAR
    ttng.init_barrier %b0, 1 : BAR
    %b1 = ttg.local_alloc : () -> BAR
    ttng.init_barrier %b1, 1 : BAR
    ttg.warp_specialize(%b0, %b1)
    default {
      tt.call @exchanged(%b0, %b1, %c0) : (BAR, BAR, i32) -> ()
      ttg.warp_yield
    }
    partition0(%x0: BAR, %x1: BAR) num_warps(2) {
      %d0 = arith.constant 0 : i32
      tt.call @exchanged(%x1, %x0, %d0) : (BAR, BAR, i32) -> ()
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


def kernel() -> Program:
    return load_program((Path(__file__).parent / "data" / "calls.ttgir").read_text(encoding="utf-8"))


def test_edges_are_those_of_each_call() -> None:
    assert edges(pipeline(kernel())) == sorted([
        E("compute", 9, Kind.ARRIVE, "first", 0, 1, loops=(32, 33, 14)),  # through met
        E("compute", 15, Kind.WAIT, "first", loops=(32, 33)),
        E("compute", 9, Kind.ARRIVE, "second", 0, 1, loops=(32, 34)),
        E("compute", 35, Kind.WAIT, "second", loops=(32,)),
        # the compiler moves the load, which is the same each time, out of the loop
        E("compute", 23, Kind.FILL, "a", TILE, loops=(36,)),
        E("compute", 24, Kind.READ, "a", TILE, 0, 2, loops=(36, 22)),
    ])  # fmt: skip


def test_functions_are_called_by_their_name() -> None:
    (compute,) = pipeline(kernel()).clusters
    loop, call = compute.members
    assert isinstance(loop, Cluster)
    assert isinstance(call, Cluster)
    assert call.title == "multiplied(), line 36"
    assert [each.title for each in loop.members if isinstance(each, Cluster)] == ["met(), line 33", "told(), line 34"]


def test_who_calls_is_who_arrives_and_waits() -> None:
    made = load_program(SHARED.replace("BAR", "!ttg.memdesc<1xi64, #shared, #smem, mutable>"))
    first, second = pipeline(made).clusters
    mine, other = (node.lines[0] for node in pipeline(made).memory)
    assert {(edge.agent, edge.kind, edge.memory) for edge in edges(pipeline(made))} == {
        (first.title, Kind.ARRIVE, other),
        (first.title, Kind.WAIT, mine),
        (second.title, Kind.ARRIVE, mine),
        (second.title, Kind.WAIT, other),
    }
    rows = {row[0][0]: row[3:5] for row in barriers(made).rows}
    assert rows[mine] == ((second.title,), (f"{first.title}: phase",))
