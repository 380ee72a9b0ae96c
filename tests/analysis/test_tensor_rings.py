from __future__ import annotations

from dataclasses import replace
from itertools import groupby

import numpy as np
import pytest
from analysis.blackwell_traces import tiles

from tlxviz.analysis.account import Account
from tlxviz.analysis.findings import Finding, findings
from tlxviz.analysis.occupation import occupation
from tlxviz.analysis.ring_fills import NEVER, Fills
from tlxviz.analysis.rings import rings
from tlxviz.analysis.slot_times import slot_times
from tlxviz.analysis.stretch import Stretch
from tlxviz.analysis.tensor_rings import tensor_rings
from tlxviz.ir import load_program
from tlxviz.ir.tensor_slots import tensor_slot
from tlxviz.trace.model import Events, LaunchTrace


def lives(fills: Fills) -> list[tuple[int, ...]]:
    """Slot, number, asked, acquired, issued, landed, wanted, read, released of each."""
    return [tuple(int(getattr(fills, name)[row]) for name in Fills.__slots__) for row in range(len(fills.slot))]


def test_the_lives_of_one_accumulator():
    trace = tiles(1, 2)
    (ring,) = tensor_rings(trace, 0)
    assert (ring.buffer, ring.full, ring.empty, ring.slots, ring.bytes) == ("acc", "acc_full", "acc_empty", (0,), 65536)
    assert ([trace.tracks[each].name for each in ring.producers], ring.consumers) == (["mma"], (1,))
    assert lives(ring.fills) == [
        # nobody gave the slot back before, so the first product takes it; the arrival ends at 374
        (0, 0, 5, 5, 5, 305, 0, 310, 374),
        (0, 1, 37, 379, 379, 679, 414, 684, 744),
    ]


def test_two_accumulators_are_filled_by_turns():
    (ring,) = tensor_rings(tiles(2, 3), 0)
    assert lives(ring.fills) == [
        (0, 0, 5, 5, 5, 305, 0, 310, 374),
        # issued at 42, when the tensor core is still busy; read when the epilogue has done the first
        (0, 1, 74, 379, 379, 905, 714, 910, 970),
        (1, 0, 42, 42, 42, 605, 414, 610, 670),
    ]


def test_the_share_in_which_nothing_can_be_filled():
    trace = tiles(1, 2)
    (ring,) = rings(trace, occupation(trace))
    assert (ring.memory, ring.needed, ring.begin, ring.end) == ("tensor", None, 5, 744)
    assert ring.stalled_share == pytest.approx((374 - 305 + 744 - 679) / 739)
    assert ring.filling == pytest.approx(600 / 739)
    assert ring.reading == pytest.approx((374 - 310 + 744 - 684) / 739)


def test_what_nobody_reads_is_no_ring():
    trace = tiles(1, 2)
    unread = [replace(site, kind="fence") if site.kind == "tmem_load" else site for site in trace.sites]
    assert tensor_rings(replace(trace, sites=unread), 0) == []
    stored = [replace(site, kind="tmem_store") if site.kind == "tmem_load" else site for site in trace.sites]
    assert tensor_rings(replace(trace, sites=stored), 0) == []


def test_a_fill_that_is_not_read_yet_stays():
    trace = tiles(1, 2)
    last = np.flatnonzero(trace.events["site"] == 4)[-1]
    (ring,) = tensor_rings(replace(trace, events=trace.events.select(np.arange(len(trace.events)) != last)), 0)
    assert lives(ring.fills)[1] == (0, 1, 37, 379, 379, 679, NEVER, NEVER, NEVER)


def test_a_slot_over_time():
    found = slot_times(tiles(1, 2))
    assert found is not None
    assert (found.begin, found.end) == (15, 399)
    changes = [(letter, sum(1 for _ in same)) for letter, same in groupby(found.states["acc"][0])]
    # in columns of 4 cycles: filled until 305, read from 310, free from 374, and filled again from 379
    assert changes == [("f", 72), ("u", 2), ("r", 16), ("-", 1), ("f", 5)]
    assert found.in_use == (0,) * len(found.in_use)


@pytest.mark.parametrize(
    ("depth", "count", "within", "begin", "end"),
    [
        # three of nine fills, from the third on: both slots are filled, read, and filled again
        (2, 9, (1000, 1200), 379, 1279),
        (1, 8, (400, 500), 753, 1501),
        # one fill, which nothing follows, until its arrival
        (1, 1, (10, 300), 5, 370),
    ],
)
def test_where_accumulators_do_not_change_hands_tiles_are_shown(
    monkeypatch: pytest.MonkeyPatch, depth: int, count: int, within: tuple[int, int], begin: int, end: int
):
    """A few iterations along K are a part of a tile."""
    monkeypatch.setattr("tlxviz.analysis.slot_times.typical_stretch", lambda *_: Stretch(*within, "mma", 4))
    found = slot_times(tiles(depth, count))
    assert found is not None
    assert (found.begin, found.end, found.agent, found.iterations) == (begin, end, "", 0)
    for states in found.states["acc"].values():
        assert {"f", "r"} <= set(states)


def test_where_they_do_iterations_are_shown(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("tlxviz.analysis.slot_times.typical_stretch", lambda *_: Stretch(300, 400, "mma", 4))
    found = slot_times(tiles(1, 8))
    assert found is not None
    assert (found.begin, found.end, found.agent, found.iterations) == (300, 400, "mma", 4)


VIEWS = """\
#tmem = #ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 1>
#one = #ttng.tensor_memory_encoding<blockM = 128, blockN = 1, colStride = 1>
#linear = #ttg.linear<{register = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32]], \
lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp = [[32, 0], [64, 0]], block = []}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:100"} {
  tt.func public @views(%i: i32) {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %three = arith.constant 3 : i32
    %last = arith.constant 64 : i32
    %sums = ttng.tmem_alloc : () -> !ttg.memdesc<2x128x64xf32, #tmem, #ttng.tensor_memory, mutable>
    %halves = ttg.memdesc_reinterpret %sums : !ttg.memdesc<2x128x64xf32, #tmem, #ttng.tensor_memory, mutable> \
-> !ttg.memdesc<4x128x64xf16, #tmem, #ttng.tensor_memory, mutable>
    %columns = ttg.memdesc_reinterpret %sums : !ttg.memdesc<2x128x64xf32, #tmem, #ttng.tensor_memory, mutable> \
-> !ttg.memdesc<128x128x1xf32, #one, #ttng.tensor_memory, mutable>
    BODY
    tt.return
  }
}
"""
SUMS, HALVES, COLUMNS = "2x128x64xf32, #tmem", "4x128x64xf16, #tmem", "128x128x1xf32, #one"


@pytest.mark.parametrize(
    ("view", "of", "index", "slot"),
    [
        ("sums", SUMS, "zero", 0),
        ("sums", SUMS, "one", 1),
        ("halves", HALVES, "one", 0),
        ("halves", HALVES, "three", 1),
        ("columns", COLUMNS, "three", 0),
        ("columns", COLUMNS, "last", 1),
        ("halves", HALVES, "i", None),
    ],
)
def test_slots_of_views_with_other_types(view: str, of: str, index: str, slot: int | None):
    memory = "#ttng.tensor_memory, mutable"
    part = of.partition("x")[2]
    body = (
        f"%part = ttg.memdesc_index %{view}[%{index}] : !ttg.memdesc<{of}, {memory}> -> !ttg.memdesc<{part}, {memory}>"
    )
    program = load_program(VIEWS.replace("BODY", body))
    (made,) = (each for each in program.module.walk() if each.name == "ttg.memdesc_index")
    found = tensor_slot(made.result)
    assert (None if found is None else (found.base, found.offset)) == (None if slot is None else (None, slot))


def test_an_allocation_without_slots_is_slot_0():
    trace = tiles(1, 1)
    columns = trace.events.columns | {"slot": np.full_like(trace.events["slot"], -1)}
    (ring,) = tensor_rings(replace(trace, events=Events(columns)), 0)
    assert ring.slots == (0,)


def finding(trace: LaunchTrace) -> Finding | None:
    return next((each for each in findings(Account(trace)) if each.id == "accumulators-full"), None)


def test_a_single_accumulator_holds_up_the_tensor_core():
    trace = tiles(1, 8)
    found = finding(trace)
    assert found is not None
    # a tile takes 374 cycles; seven are in the epilogue's steady part, from 305 to 374 of each the results are read
    assert found.cost == pytest.approx(7 * (374 - 305) / 2658)
    assert found.text == (
        "mma cannot multiply 18% of the time: the only accumulator (acc) holds results that epilogue did not read to "
        "the end yet"
    )
    assert "room (128 of 512 columns are taken)" in found.advice
    assert (found.agent, found.line, found.evidence["accumulators"]) == ("mma", 1, 1)


def test_no_room_for_another_accumulator():
    found = finding(tiles(1, 8, metadata={"tmem_size": 512}))
    assert found is not None
    assert found.advice.startswith("give an accumulator back in parts")


def test_two_accumulators_do_not():
    assert finding(tiles(2, 8)) is None


def test_one_tile_has_nothing_to_go_on_with():
    assert finding(tiles(1, 1)) is None
