"""Which bytes a view covers: worked out by hand from shapes and strides."""

from __future__ import annotations

import pytest
import torch

from tlxviz.check.extents import Extent, extent_of
from tlxviz.ir.types import Encoding, MemDescType, ScalarType
from tlxviz.sim.shared import SharedView, allocate
from tlxviz.sim.tensor_layout import TensorLayout, layout_of
from tlxviz.sim.tensor_memory import TensorMemoryView, allocate_tensor


@pytest.fixture(params=[True, False], ids=["values on", "values off"])
def ring(request: pytest.FixtureRequest) -> SharedView:
    """Two slots of 8 x 16 elements of 4 bytes."""
    return allocate(0, (2, 8, 16), torch.float32, request.param)


def test_a_slot_is_an_interval_of_bytes(ring: SharedView) -> None:
    assert extent_of(ring) == Extent(0, 1024, 1024)
    assert extent_of(ring.slots[1]) == Extent(512, 1024, 512)


def test_a_transposed_slot_covers_the_same_bytes(ring: SharedView) -> None:
    assert extent_of(ring.slots[1].transposed((1, 0))) == extent_of(ring.slots[1])


def test_a_box_has_gaps(ring: SharedView) -> None:
    """Columns 4 to 7 of rows 2 to 4: three runs of 16 bytes, 64 apart, the first at 2 * 64 + 16."""
    assert extent_of(ring.slots[0].subslice((2, 4), (3, 4))) == Extent(144, 288, 16, (3,), (64,))


def test_boxes_side_by_side_do_not_overlap_although_their_intervals_do(ring: SharedView) -> None:
    left, right = (extent_of(ring.slots[0].subslice((0, column), (8, 8))) for column in (0, 8))
    assert left.high > right.low
    assert not left.overlaps(right)
    assert not right.overlaps(left)


def test_boxes_that_share_a_column_overlap(ring: SharedView) -> None:
    left, right = (extent_of(ring.slots[0].subslice((0, column), (8, 9))) for column in (0, 7))
    assert left.overlaps(right)


def test_bytes_seen_as_another_type_are_the_same_bytes() -> None:
    scores = allocate(0, (2, 8, 16), torch.float32, False)
    packed = scores.reinterpreted((4, 8, 16), torch.float16)
    assert extent_of(packed.slots[3]) == Extent(768, 1024, 256)
    assert extent_of(packed.slots[3]).overlaps(extent_of(scores.slots[1]))
    assert not extent_of(packed.slots[1]).overlaps(extent_of(scores.slots[1]))


def test_columns_of_tensor_memory_are_an_interval() -> None:
    """128 lanes of 64 fp32 columns in two slots: a column is 128 lanes of 4 bytes."""
    ring = scores()
    assert extent_of(ring.at(1)) == Extent(64 * 512, 128 * 512, 64 * 512)
    assert extent_of(ring.at(1).columns(16, 8)) == Extent((64 + 16) * 512, (64 + 24) * 512, 8 * 512)


def test_packed_numbers_overlap_the_columns_that_they_are_packed_into() -> None:
    """64 numbers of 16 bits are the first 32 columns of the slot of fp32 numbers that they replace."""
    ring = scores()
    packed = ring.at(1).reinterpreted(tensor_memory(64, "f16", 1), torch.float16)
    assert extent_of(packed) == Extent(64 * 512, 96 * 512, 32 * 512)
    assert extent_of(packed).overlaps(extent_of(ring.at(1).columns(31, 1)))
    assert not extent_of(packed).overlaps(extent_of(ring.at(1).columns(32, 1)))


def tensor_memory(columns: int, element: str, stride: int) -> TensorLayout:
    """128 rows of so many columns."""
    encoding = Encoding("tensor_memory_encoding", {"blockM": 128, "blockN": columns, "colStride": stride})
    return layout_of(MemDescType((128, columns), ScalarType(element), encoding, "tensor_memory", True, (128, columns)))


def scores() -> TensorMemoryView:
    encoding = Encoding("tensor_memory_encoding", {"blockM": 128, "blockN": 64, "colStride": 1})
    type_ = MemDescType((2, 128, 64), ScalarType("f32"), encoding, "tensor_memory", True, (2, 128, 64))
    return allocate_tensor(0, layout_of(type_), torch.float32, False)
