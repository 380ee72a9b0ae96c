"""How tensors get from one layout into another: against what Triton compiles."""

from __future__ import annotations

import itertools

import pytest
from ir.layout_reference import MMA, PLAIN, WGMMA

from tlxviz.analysis.layouts.conversions import Exchange, Way, exchange
from tlxviz.ir.encodings import Blocked, DotOperand, Layout, Linear, NvidiaMma, Slice
from tlxviz.ir.places import distributed

LAYOUTS: dict[str, Layout] = {
    "vectors": PLAIN,
    "singles": Blocked((1, 1), (1, 32), (4, 1), (1, 0)),
    "columns": Blocked((8, 1), (8, 4), (1, 4), (0, 1)),
    "fours": Blocked((1, 4), (8, 4), (4, 1), (1, 0)),
    "twos": Blocked((1, 2), (8, 4), (4, 1), (1, 0)),
    "two by two": Blocked((1, 4), (8, 4), (2, 2), (1, 0)),
    "wgmma": WGMMA,
    "mma": MMA,
    "mma of two by two": NvidiaMma(2, (2, 2), (16, 8)),
    "a": DotOperand(0, MMA, 2),
    "b": DotOperand(1, MMA, 2),
}
PAIRS = [
    (bits, *pair)
    for bits in (8, 16, 32)
    for pair in itertools.permutations(LAYOUTS, 2)
    if bits > 8 or not {"a", "b"} & set(pair)
]
USUAL = [pair for pair in PAIRS if pair[1:] in (("fours", "twos"), ("wgmma", "a"), ("wgmma", "vectors"), ("a", "b"))]
SHAPE = (64, 64)


def exchanged(source: Layout, target: Layout, bits: int = 16, shape: tuple[int, ...] = SHAPE) -> Exchange:
    before, after = distributed(source, shape), distributed(target, shape)
    assert before is not None
    assert after is not None
    return exchange(before, after, bits)


def compiles_to(bits: int, source: str, target: str) -> None:
    pytest.importorskip("triton")
    from compiled_accesses import accesses, compiled, converted, shuffles

    made = exchanged(LAYOUTS[source], LAYOUTS[target], bits)
    kernel = compiled(converted, SHAPE, bits, source=LAYOUTS[source], target=LAYOUTS[target])
    ptx = kernel.asm["ptx"]
    assert bool(accesses(ptx)) == (made.way is Way.SHARED_MEMORY)
    assert shuffles(ptx) == made.shuffles
    assert kernel.metadata.shared <= made.most_scratch


@pytest.mark.parametrize("pair", USUAL, ids=str)
def test_usual_conversions_compile_to_what_is_said(pair: tuple[int, str, str]):
    compiles_to(*pair)


@pytest.mark.slow
@pytest.mark.parametrize("pair", [pair for pair in PAIRS if pair not in USUAL], ids=str)
def test_conversions_compile_to_what_is_said(pair: tuple[int, str, str]):
    compiles_to(*pair)


def test_what_an_accumulator_costs_on_its_way_to_memory():
    # 64 x 64 halves are 8 KiB: 64 transactions to store and as many to load
    assert exchanged(WGMMA, PLAIN) == Exchange(Way.SHARED_MEMORY, 0, 8192, 128, 4)


def test_an_accumulator_is_an_operand_as_it_is():
    assert exchanged(WGMMA, DotOperand(0, WGMMA, 2)).way is Way.NOTHING


def test_registers_change_their_names():
    swapped = Linear(((0, 1), (8, 0)), ((0, 2), (0, 4), (1, 0), (2, 0), (4, 0)), ((16, 0), (32, 0)))
    other = Linear(((8, 0), (0, 1)), swapped.lane, swapped.warp)
    assert exchanged(swapped, other, shape=(64, 8)).way is Way.REGISTERS


def test_lanes_and_warps_that_hold_the_same_need_to_get_what_they_lack():
    rows = Slice(1, WGMMA)
    assert exchanged(rows, rows, shape=(64,)).way is Way.NOTHING
    plain = Blocked((1,), (32,), (4,), (0,))
    assert exchanged(rows, plain, shape=(64,)).way is Way.SHARED_MEMORY


def test_two_bits_from_registers_to_lanes_go_through_memory():
    wide = Linear(((0, 1), (0, 2)), ((0, 4), (0, 8), (0, 0), (0, 0), (1, 0)), ((2, 0), (4, 0)))
    assert exchanged(wide, Blocked((1, 1), (2, 16), (4, 1), (1, 0)), shape=(8, 16)).way is Way.SHARED_MEMORY
