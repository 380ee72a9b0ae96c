"""Lines and messages that are put together by NumPy are those that Python's own means give."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tlxviz.exports.lanes import sublanes
from tlxviz.exports.records import Choice, Decimal, Joined, Lines, Thousandths
from tlxviz.exports.wire import Fixed64, Varint, length, nested, put, tagged, varint

NUMBERS = st.integers(-(10**17), 10**17) | st.sampled_from([0, 1, 9999, 10_000, 10_001, 99_990_000, 10**8])


@given(st.lists(st.tuples(NUMBERS, st.integers(-3, 30_000), NUMBERS, st.integers(0, 2)), max_size=30))
def test_lines_are_what_formatting_gives(rows: list[tuple[int, int, int, int]]) -> None:
    texts = [b"", b"one", "größer".encode()]
    columns = [np.array([row[place] for row in rows], dtype=np.int64) for place in range(4)]
    pieces = [
        b"<",
        Decimal(columns[0]),
        b"|",
        Decimal(columns[1], blank=True),
        Choice(texts, columns[3]),
        Thousandths(columns[2]),
        b">\n",
    ]
    expected = b""
    for whole, blank, thousandths, choice in rows:
        sign, magnitude = "-" if thousandths < 0 else "", abs(thousandths)
        number = f"{sign}{magnitude // 1000}.{magnitude % 1000:03}"
        expected += f"<{whole}|{blank if blank >= 0 else ''}".encode() + texts[choice] + number.encode() + b">\n"
    assert bytes(Joined([Lines(pieces, len(rows))])) == expected
    spaced = bytes(Joined([Lines(pieces, len(rows), spaced=True)]))
    assert spaced.replace(b" ", b"") == expected
    negative = any(row[0] < 0 or row[2] < 0 for row in rows)
    assert negative or len({len(line) for line in spaced.splitlines()}) <= 1


@pytest.mark.parametrize("count", [0, 1, 8191, 8192, 8193, 20_000])
def test_lines_of_several_blocks(count: int) -> None:
    values = np.arange(count, dtype=np.int32)
    made = list(Joined([Lines([Decimal(values), b"\n"], count)]))
    assert len(made) == -(-count // 8192)
    assert b"".join(made) == b"".join(b"%d\n" % each for each in range(count))


def test_numbers_of_protobuf() -> None:
    # The example of the documentation of protobuf's encoding.
    assert varint(150) == b"\x96\x01"
    assert varint(0) == b"\x00"
    assert [varint(each) for each in (127, 128)] == [b"\x7f", b"\x80\x01"]


def test_messages_have_numbers_of_one_width() -> None:
    values = np.array([1, 300, 70_000])
    atoms = nested(2, tagged(1, Varint.of(values)), tagged(3, Fixed64(values)), tagged(4, 5))
    out = np.zeros(3 * length(atoms), dtype=np.uint8)
    # In another order than they stand in.
    put(atoms, np.array([2, 0, 1]), out, np.array([0, 2, 1]) * length(atoms))
    message = b"\x12\x0f\x08%b\x19%b\x20\x05"
    fixed = [int(value).to_bytes(8, "little") for value in (70_000, 1, 300)]
    widened = [b"\xf0\xa2\x04", b"\x81\x80\x00", b"\xac\x82\x00"]
    first, last, middle = (message % each for each in zip(widened, fixed, strict=True))
    assert out.tobytes() == first + middle + last


@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.integers(0, 40), st.integers(0, 12)).map(
            lambda each: (each[0], each[1], each[1] + each[2])
        ),
        max_size=40,
    )
)
def test_nothing_overlaps_on_a_line_and_there_are_as_few_as_can_be(events: list[tuple[int, int, int]]) -> None:
    events.sort(key=lambda each: each[2])  # as in a trace
    track, begin, end = (np.array([each[place] for each in events], dtype=np.int64) for place in range(3))
    lane = sublanes(track, begin, end)
    for one in range(3):
        own = sorted(np.flatnonzero(track == one).tolist(), key=lambda row: (begin[row], end[row]))
        for number in {int(lane[row]) for row in own}:
            line = [row for row in own if lane[row] == number]
            assert all(end[before] <= begin[after] for before, after in pairwise(line))
        under_way = [
            1 + sum(bool(end[earlier] > begin[row]) for earlier in own[:place]) for place, row in enumerate(own)
        ]
        assert {int(lane[row]) for row in own} == set(range(max(under_way, default=0)))


def test_a_copy_takes_the_first_line_that_is_free() -> None:
    begin, end = np.array([0, 5, 8, 10]), np.array([10, 20, 12, 30])
    order = np.argsort(end, kind="stable")
    found = sublanes(np.zeros(4, dtype=np.int32), begin[order], end[order])
    assert dict(zip(begin[order].tolist(), found.tolist(), strict=True)) == {0: 0, 5: 1, 8: 2, 10: 0}
