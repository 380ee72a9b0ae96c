"""Bank conflicts: known answers by hand, a count lane by lane, Triton's own count, and the instructions of its PTX."""

from __future__ import annotations

import pytest
from brute_force_banks import Counted, by_matrices, by_vectors, rows_of, swizzled
from ir.layout_reference import MMA, PLAIN, WGMMA, Reference, random_memory, random_threads

from tlxviz import _triton
from tlxviz.analysis.layouts.banks import Transactions, moved
from tlxviz.ir.encodings import (
    Blocked,
    DotOperand,
    Layout,
    NvmmaShared,
    PaddedShared,
    SharedLinear,
    SwizzledShared,
)
from tlxviz.ir.places import distributed, offsets

COLUMNS = Blocked((8, 1), (8, 4), (1, 4), (0, 1))
SINGLES = Blocked((1, 1), (1, 32), (4, 1), (1, 0))
DOWN = Blocked((1, 1), (32, 1), (1, 4), (1, 0))
"""Lane by lane down a column."""
ROWS = SwizzledShared(1, 1, 1, (1, 0))
THREADS: dict[str, Layout] = {
    "vectors": PLAIN,
    "singles": SINGLES,
    "columns": COLUMNS,
    "wgmma": WGMMA,
    "mma": MMA,
    "a": DotOperand(0, MMA, 2),
    "b": DotOperand(1, MMA, 2),
}


def memory_of(bits: int) -> dict[str, Layout]:
    return {
        "128": NvmmaShared(128, False, bits),
        "128 transposed": NvmmaShared(128, True, bits),
        "none": NvmmaShared(0, False, bits),
        "rows": ROWS,
        "8, 1, 8": SwizzledShared(8, 1, 8, (1, 0)),
        "2, 2, 2": SwizzledShared(2, 2, 2, (1, 0)),
        "8, 4, 8 by columns": SwizzledShared(8, 4, 8, (0, 1)),
    }


CHOICES = [(bits, memory, threads) for bits in (8, 16, 32) for memory in memory_of(bits) for threads in THREADS]
USUAL = [
    choice
    for choice in CHOICES
    if choice[2:] in (("vectors",), ("wgmma",), ("b",)) and choice[1] in ("128", "2, 2, 2") and choice[0] > 8
]


def move(
    threads: Layout, memory: Layout, shape: tuple[int, ...], bits: int, *, store: bool = False, matrices: bool = True
) -> Transactions:
    registers, places = distributed(threads, shape), offsets(memory, shape)
    assert registers is not None
    assert places is not None
    made = moved(registers, places, bits, store=store, matrices=matrices)
    assert made is not None
    return made


# ---- by hand


def test_a_fragment_out_of_a_swizzle_of_128_bytes_has_no_conflict():
    made = move(MMA, NvmmaShared(128, False, 16), (64, 64), 16)
    assert (made.instruction, made.instructions, made.transactions, made.worst) == ("ldmatrix.x4", 4, 16, 1)


def test_a_fragment_out_of_plain_rows_of_128_bytes_is_8_way():
    # the eight rows of a matrix begin 128 bytes apart: all in bank 0
    made = move(MMA, ROWS, (64, 64), 16)
    assert (made.instruction, made.transactions, made.worst, made.conflicts) == ("ldmatrix.x4", 128, 8, 112)


@pytest.mark.parametrize(("swizzle", "ways"), [(32, 1), (64, 1), (128, 1)])
def test_fragments_out_of_narrower_swizzles(swizzle: int, ways: int):
    assert move(MMA, NvmmaShared(swizzle, False, 16), (64, swizzle // 2), 16).worst == ways


def test_a_column_of_plain_rows_is_32_way_and_padding_by_a_word_mends_it():
    assert move(DOWN, ROWS, (32, 32), 32).worst == 32
    assert move(DOWN, PaddedShared(((32, 1),), (1, 0)), (32, 32), 32).worst == 1


def test_rows_in_vectors_of_16_bytes_are_four_transactions_an_instruction():
    made = move(PLAIN, ROWS, (64, 64), 16)
    assert (made.bytes_per_lane, made.instructions, made.transactions, made.worst) == (16, 4, 16, 1)
    assert made.useful == 1.0


def test_halves_lane_by_lane_fill_half_a_transaction():
    made = move(SINGLES, ROWS, (64, 64), 16)
    assert (made.bytes_per_lane, made.transactions, made.worst, made.useful) == (2, 32, 1, 0.5)


def test_a_transposed_store_of_vectors():
    # a lane's eight neighbours go to eight rows; lanes 8 apart in a warp are one row further, so in the same chunk
    made = move(PLAIN, NvmmaShared(128, True, 16), (64, 64), 16, store=True)
    assert (made.instruction, made.bytes_per_lane) == ("st.shared", 2)
    threads = distributed(PLAIN, (64, 64))
    assert threads is not None
    swap = swizzled(128, 2)
    expected = by_vectors(threads, lambda row, column: swap(column, row), 2, 1)
    assert Counted(made.transactions, made.worst) == expected
    assert made.worst == 8


def test_lanes_that_read_the_same_word_share_it():
    made = move(DotOperand(1, Blocked((1, 1), (32, 1), (4, 1), (1, 0)), 0), ROWS, (32, 32), 32)
    assert made.worst == 1
    assert (made.bytes_per_lane, made.useful) == (16, 0.125)


# ---- lane by lane


@pytest.mark.parametrize("swizzle", [32, 64, 128])
@pytest.mark.parametrize("threads", [PLAIN, SINGLES, DOWN])
def test_vectors_as_counted_lane_by_lane(threads: Layout, swizzle: int):
    shape = (64, swizzle // 2)
    registers = distributed(threads, shape)
    assert registers is not None
    made = move(threads, NvmmaShared(swizzle, False, 16), shape, 16)
    assert Counted(made.transactions, made.worst) == by_vectors(
        registers, swizzled(swizzle, 2), 2, made.bytes_per_lane // 2
    )


@pytest.mark.parametrize("swizzle", [32, 64, 128])
def test_matrices_as_counted_row_by_row(swizzle: int):
    shape = (64, swizzle // 2)
    address = swizzled(swizzle, 2)
    rows = [
        [address(row + each, column) for each in range(8)] for column in range(0, swizzle // 2, 8) for row in (0, 8)
    ]
    made = move(MMA, NvmmaShared(swizzle, False, 16), shape, 16)
    assert Counted(made.transactions, made.worst) == by_matrices(rows)


def test_padding_as_counted_lane_by_lane():
    registers = distributed(DOWN, (32, 64))
    assert registers is not None
    made = move(DOWN, PaddedShared(((64, 2),), (1, 0)), (32, 64), 16)
    assert Counted(made.transactions, made.worst) == by_vectors(registers, rows_of(132, 2), 2, 1)


# ---- Triton


def test_conflicts_are_those_that_triton_counts():
    pytest.importorskip("triton")
    if _triton.toolchain().distribution != "fbtriton":
        pytest.skip("the count of triton 3.8 ends the process for some layouts")
    reference = Reference()
    memory = [
        (layout, shape) for layout, shape in random_memory(seed=5, count=1000) if len(shape) == 2 and max(shape) <= 128
    ]
    threads = [layout for layout, shape in random_threads(seed=6, count=1000) if len(shape) == 2]
    compared = 0
    for (layout, shape), registers in zip(memory, threads, strict=False):
        bits = layout.element_bits if isinstance(layout, NvmmaShared) else 32
        # Triton's formula does not see two halves of a word in different lanes, so words alone are compared here
        if isinstance(registers, DotOperand) or bits < 32:
            continue
        made = move(registers, layout, shape, bits, matrices=False)
        assert made.transactions / made.least - 1 == reference.conflicts(registers, layout, shape, bits)
        compared += 1
    assert compared > 60


def compiles_to(bits: int, memory: str, threads: str) -> None:
    pytest.importorskip("triton")
    from compiled_accesses import accesses, compiled, through_memory

    shape = (128, 128) if bits == 8 else (64, 64)
    kernel = compiled(through_memory, shape, bits, threads=THREADS[threads], memory=memory_of(bits)[memory])
    wanted: dict[tuple[str, int], int] = {}
    for store in (True, False):
        made = move(THREADS[threads], memory_of(bits)[memory], shape, bits, store=store)
        wanted[made.instruction, made.bytes_per_lane] = made.instructions
    assert accesses(kernel.asm["ptx"]) == wanted


@pytest.mark.parametrize("choice", USUAL, ids=str)
def test_instructions_are_those_of_the_ptx(choice: tuple[int, str, str]):
    compiles_to(*choice)


@pytest.mark.slow
@pytest.mark.parametrize("choice", [each for each in CHOICES if each not in USUAL], ids=str)
def test_instructions_of_all_pairs_are_those_of_the_ptx(choice: tuple[int, str, str]):
    compiles_to(*choice)


# ---- what is not counted


@pytest.mark.parametrize("bits", [1, 4])
def test_elements_that_are_parts_of_bytes(bits: int):
    registers, places = distributed(PLAIN, (64, 64)), offsets(ROWS, (64, 64))
    assert registers is not None
    assert places is not None
    assert moved(registers, places, bits, store=False) is None


def test_memory_in_which_elements_share_a_place():
    registers = distributed(Blocked((1, 1), (2, 16), (1, 1), (1, 0)), (2, 2))
    places = offsets(SharedLinear(((0, 1), (0, 1)), 16), (2, 2))
    assert registers is not None
    assert places is not None
    assert moved(registers, places, 16, store=False) is None


def test_a_part_of_a_buffer_is_where_it_begins():
    registers, places = distributed(PLAIN, (64, 64)), offsets(NvmmaShared(128, False, 16), (64, 128))
    assert registers is not None
    assert places is not None
    whole = moved(registers, places, 16, store=False)
    assert whole == moved(registers, places, 16, store=False, start=(0, 64))
