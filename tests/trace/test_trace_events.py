"""The event table: from rows, selected, ordered, joined."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from trace_samples import assert_same_events

from tlxviz.trace import COLUMNS, Events, empty_events, events_from_flat, events_from_rows


def ends(*values: int, released_by: tuple[int, ...]) -> Events:
    rows = [(end, releaser) for end, releaser in zip(values, released_by, strict=True)]
    return events_from_rows(rows, ("end", "released_by"))


def test_rows_become_typed_columns_and_defaults() -> None:
    events = events_from_rows([(1, 5, 9), (2, 6, 2**40)], ("track", "begin", "end"))
    assert {name: column.dtype for name, column in events.columns.items()} == COLUMNS
    assert events["track"].tolist() == [1, 2]
    assert events["end"].tolist() == [9, 2**40]
    assert events["site"].tolist() == events["released_by"].tolist() == [-1, -1]
    assert events["bytes"].tolist() == [0, 0]


def test_flat_values_give_the_same() -> None:
    rows = [(1, 5, 9), (2, 6, 7)]
    columns = ("track", "begin", "end")
    assert_same_events(
        events_from_flat([value for row in rows for value in row], columns), events_from_rows(rows, columns)
    )


def test_no_rows() -> None:
    assert len(empty_events()) == 0
    assert_same_events(events_from_rows([], ("begin", "end")), empty_events())
    assert_same_events(Events.concat([]), empty_events())


def test_rows_are_ordered_by_end_and_released_by_follows() -> None:
    # Row 0 ends last and was released by row 1; rows 1 and 2 end together and stay in order.
    events = ends(30, 20, 20, 10, released_by=(1, -1, 3, -1))
    assert events["end"].tolist() == [10, 20, 20, 30]
    assert events["released_by"].tolist() == [-1, -1, 0, 1]


def test_select_drops_references_to_rows_that_are_gone() -> None:
    events = ends(10, 20, 30, 40, released_by=(-1, 0, 1, 2))
    kept = events.select(np.array([False, True, True, True]))
    assert kept["end"].tolist() == [20, 30, 40]
    assert kept["released_by"].tolist() == [-1, 0, 1]


def test_concat_moves_references() -> None:
    joined = Events.concat([ends(10, 20, released_by=(-1, 0)), ends(5, 6, released_by=(1, -1)), empty_events()])
    assert joined["end"].tolist() == [10, 20, 5, 6]
    assert joined["released_by"].tolist() == [-1, 0, 3, -1]


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(-1, 5)), min_size=6, max_size=20))
def test_a_reference_means_the_same_event_after_ordering(rows: list[tuple[int, int]]) -> None:
    events = events_from_rows(
        [(number, end, releaser) for number, (end, releaser) in enumerate(rows)], ("begin", "end", "released_by")
    )
    assert (np.diff(events["end"]) >= 0).all()
    for row in range(len(events)):
        releaser = int(events["released_by"][row])
        original = -1 if releaser < 0 else int(events["begin"][releaser])
        assert original == rows[int(events["begin"][row])][1]


@pytest.mark.parametrize("rows", [[(1,)], [(1, 2, 3)], [(1, 2), (3,)]])
def test_rows_of_another_length(rows: list[tuple[int, ...]]) -> None:
    with pytest.raises(ValueError, match="an event must have 2 integers: begin, end"):
        events_from_rows(rows, ("begin", "end"))


def test_flat_values_that_end_within_an_event() -> None:
    with pytest.raises(ValueError, match="an event must have 2 integers: begin, end"):
        events_from_flat([1, 2, 3], ("begin", "end"))


@pytest.mark.parametrize("columns", [("begin", "colour"), ("begin", "begin")])
def test_columns_that_the_table_does_not_have(columns: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="columns must be different names out of track, site"):
        events_from_rows([(1, 2)], columns)


@pytest.mark.parametrize("value", [2**31, -(2**31) - 1])
def test_a_number_too_large_for_its_column(value: int) -> None:
    with pytest.raises(OverflowError, match="an event's slot does not fit 32 bits"):
        events_from_rows([(1, value)], ("end", "slot"))
    assert events_from_rows([(1, 2**31 - 1)], ("end", "slot"))["slot"].tolist() == [2**31 - 1]
