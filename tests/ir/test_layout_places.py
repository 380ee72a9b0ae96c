"""Where elements are: against Triton's own linear layouts, and where those are wrong to ask, by hand."""

from __future__ import annotations

import pytest
from layout_reference import Case, Reference, random_memory, random_threads

from tlxviz.ir.encodings import (
    Blocked,
    Linear,
    NvidiaMma,
    NvmmaShared,
    Other,
    PaddedShared,
    SharedLinear,
    SwizzledShared,
)
from tlxviz.ir.linear import LinearLayout, combination, solve
from tlxviz.ir.places import distributed, offsets


@pytest.fixture(scope="module")
def reference() -> Reference:
    pytest.importorskip("triton")
    return Reference()


def test_registers_lanes_and_warps_are_where_triton_has_them(reference: Reference):
    for layout, shape in random_threads(seed=1, count=600):
        made = distributed(layout, shape)
        assert made is not None, (layout, shape)
        assert dict(made.bases) == reference.bases(layout, shape), (layout, shape)


def test_offsets_are_where_triton_has_them(reference: Reference):
    for layout, shape in random_memory(seed=2, count=600):
        made = offsets(layout, shape)
        assert made is not None, (layout, shape)
        assert dict(made.layout.bases) == reference.bases(layout, shape), (layout, shape)


def test_bases_of_offsets_lead_back_to_the_element():
    for layout, shape in random_memory(seed=3, count=40):
        made = offsets(layout, shape)
        assert made is not None
        bases = made.bases()
        assert bases is not None
        for offset in range(0, made.layout.size("offset"), 97):
            found = 0
            for coordinate, images in zip(made.layout.coordinates(offset=offset), bases, strict=True):
                found ^= combination(coordinate, images)
            assert found == offset


def test_a_swizzle_of_128_bytes_by_hand():
    made = offsets(NvmmaShared(128, False, 16), (64, 64))
    assert made is not None
    bases = made.bases()
    assert bases is not None
    rows, columns = bases
    # row 5 is 320 elements in; its 16-byte chunk 2 is found at chunk 2 ^ 5 = 7
    assert combination(5, rows) ^ combination(16, columns) == 5 * 64 + 7 * 8


def test_linear_layouts_grow_in_registers():
    layout = Linear(((0, 1),), ((0, 2), (0, 4), (1, 0), (2, 0), (4, 0)), ((8, 0),))
    made = distributed(layout, (16, 16))
    assert made is not None
    assert made.bases["register"] == ((0, 1), (0, 8))
    assert made.coordinates(register=3, lane=1, warp=1) == (8, 11)


def test_padding_leaves_gaps():
    made = offsets(PaddedShared(((32, 1),), (1, 0)), (32, 32))
    assert made is not None
    assert [made.padded(each) for each in (0, 31, 32, 64)] == [0, 31, 33, 66]


@pytest.mark.parametrize(
    ("layout", "shape"),
    [
        (Other("amd_mfma"), (64, 64)),
        (NvidiaMma(5, (4, 1), (16, 8)), (64, 64)),
        (Blocked((1, 8), (4, 8), (4, 1), (1, 0)), (48, 64)),
        (Blocked((1,), (32,), (4,), (0,)), (64, 64)),
        (Linear(((1,),), (), ()), (64, 64)),
        (None, (64,)),
    ],
)
def test_layouts_that_are_not_taken_apart(layout: Case, shape: tuple[int, ...]):
    assert distributed(layout, shape) is None


@pytest.mark.parametrize(
    ("layout", "shape"),
    [
        (NvmmaShared(128, False, 16), (64, 32)),
        (NvmmaShared(0, True, 16), (64, 64)),
        (NvmmaShared(128, False, 8, fp4_padded=True), (64, 128)),
        (SwizzledShared(8, 1, 8, (1, 0)), (64,)),
        (SwizzledShared(8, 1, 8, (1, 0)), (64, 48)),
        (SharedLinear(((0, 1),), 16), (64,)),
        (Other("partitioned_shared"), (64, 64)),
    ],
)
def test_memory_that_is_not_taken_apart(layout: Case, shape: tuple[int, ...]):
    assert offsets(layout, shape) is None


def test_two_elements_in_one_place_have_no_bases():
    made = offsets(SharedLinear(((0, 1), (0, 1)), 16), (2, 2))
    assert made is not None
    assert made.bases() is None


def test_a_solution_uses_the_first_bases_that_do():
    assert solve([6, 1], [2, 4, 6, 1]) == [0b0011, 0b1000]
    assert solve([8], [1, 2, 4]) is None
    assert solve([0], []) == [0]


def test_what_is_larger_than_the_tensor_is_broadcast():
    made = LinearLayout({"register": ((1,), (2,)), "lane": ((4,),)}, (8,)).fitted((2,), "register")
    assert made.bases == {"register": ((1,), (0,)), "lane": ((0,),)}
