"""The records of a ring are read as the times at which a warp passed its points."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray
from probe_samples import ring_of, times_one_by_one

from tlxviz.probe.buffer import MOST_OF_A_BLOCK, ring_shift, tagged
from tlxviz.probe.ptx import tag_of, tags
from tlxviz.probe.streams import decode, written


def padded(records: Sequence[int]) -> NDArray[np.uint32]:
    return np.array([*records, *[0] * MOST_OF_A_BLOCK], np.uint32)


def test_three_records_by_hand() -> None:
    # the first of a block carries its point's number plus one; the two behind it are the bare clock
    ring = padded([0x04_000064, 0x70, 0x101])
    found = decode(ring, np.array([3, 4, 5], np.int32), 0x50)
    assert found.times.tolist() == [0x64, 0x70, 0x101]
    assert (found.missing, found.difference) == (0, None)


@pytest.mark.parametrize(
    "start",
    [0, 0xFF_FFF0, 0xFFFF_FFF0, 0x1_2345_FFFF_FFF0, (1 << 40) - 7],
    ids=["zero", "24 bits", "32 bits", "32 bits, high", "41 bits"],
)
@pytest.mark.parametrize("seed", range(3))
def test_any_run_of_points_is_read_back(start: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    times = start + np.cumsum(random.integers(0, (1 << 23), 500))
    points = random.integers(0, 700, 500).astype(np.int32)
    begins = random.random(500) < 0.3
    ring = ring_of(times, points, begins)
    found = decode(ring, points, start)
    assert found.times.tolist() == times.tolist()
    assert found.difference is None
    assert times_one_by_one(ring, points.tolist(), start) == times.tolist()


def test_the_longest_time_between_two_points() -> None:
    longest = (1 << 24) - 1
    times = np.array([longest, 2 * longest])
    points = np.array([0, 1], np.int32)
    assert decode(ring_of(times, points, [True, True]), points, 0).times.tolist() == times.tolist()
    # a cycle more, and nobody can tell how often the lower bits went round: the record is no longer what it should be
    late = ring_of(times + 1, points, [True, True])
    assert decode(late, points, 0).difference is not None


def test_what_tags_say() -> None:
    assert [tag_of(point) for point in (0, 1, 253, 254, 255, 256)] == [1, 2, 254, 255, 1, 2]
    points = np.arange(1000, dtype=np.int32)
    assert tags(points).tolist() == [tag_of(point) for point in range(1000)]
    assert tags(points).min() == 1  # 0 means: behind the first of a block


@pytest.mark.parametrize("wrong", [0, 1, 57, 199])
@pytest.mark.parametrize("instead", [-1, 5, 300])
def test_another_point_than_expected_is_found_where_it_is(wrong: int, instead: int) -> None:
    points = np.arange(200, dtype=np.int32)
    times = 1000 + 40 * np.arange(200)
    passed = points.copy()
    passed[wrong] = (wrong + instead) % 1000
    found = decode(ring_of(times, passed, [True] * 200), points, 900)
    assert found.difference is not None
    assert found.difference.position == wrong
    assert found.difference.expected == wrong
    assert found.difference.tag == tag_of(int(passed[wrong]))
    assert found.times.tolist() == times[:wrong].tolist()


def test_a_full_ring_says_how_many_are_missing() -> None:
    points = np.arange(100, dtype=np.int32)
    times = 10 * np.arange(100)
    ring = ring_of(times, points, [True] * 100)[: 60 + MOST_OF_A_BLOCK]
    found = decode(ring, points, 0)
    assert (len(found.times), found.missing, found.difference) == (60, 40, None)
    assert found.times.tolist() == times[:60].tolist()
    assert decode(ring[:MOST_OF_A_BLOCK], points, 0).missing == 100
    assert decode(ring[:3], points, 0).missing == 100
    assert decode(ring, points[:0], 0).missing == 0


def test_how_much_has_been_written() -> None:
    assert written(padded([])) == 0
    assert written(padded([5, 6, 7])) == 3
    assert written(padded([5, 0, 7])) == 3  # a clock of zero
    assert written(np.array([1, 2, 3], np.uint32)) == 3
    assert written(np.array([1, 2, 0], np.uint32)) == 2
    assert written(np.zeros(1, np.uint32)) == 0
    assert written(np.zeros(0, np.uint32)) == 0


@pytest.mark.parametrize(("records", "shift"), [(1, 8), (32, 8), (33, 9), (96, 9), (97, 10), (1_000_000, 22)])
def test_rings_have_room_for_what_they_are_made_for(records: int, shift: int) -> None:
    assert ring_shift(records) == shift
    assert (1 << shift) // 4 - MOST_OF_A_BLOCK >= records


def test_what_the_buffers_address_says() -> None:
    address = 0x7F00_0002_0000
    tag = tagged(address, 20, 131, listed=True, late=False)
    assert tag & -(1 << 17) == address
    assert (tag >> 2) & 511 == 131
    assert (tag >> 11) & 31 == 20
    assert tag & (1 << 16)
    assert not tag & 1
    assert tagged(address, 20, 131, listed=False, late=True) == tag - (1 << 16) + 1
