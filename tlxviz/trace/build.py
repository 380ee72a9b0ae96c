"""Events out of what a recorder collects: one tuple of integers per event."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tlxviz.trace.model import COLUMNS, Events

DEFAULTS: dict[str, int] = {name: 0 if name in ("begin", "end", "bytes") else -1 for name in COLUMNS}
"""What a column holds where the recorder says nothing."""


def empty_events() -> Events:
    return Events({name: np.empty(0, dtype) for name, dtype in COLUMNS.items()})


def events_from_rows(rows: Sequence[tuple[int, ...]], columns: Sequence[str]) -> Events:
    """The events of `rows`, each a tuple of one integer per name in `columns`, in order of recording.

    Columns that are not named get their default. A `released_by` among the columns is a position in `rows`.
    The events come out ordered by `end`, as a trace has them.
    """
    # A third faster than np.array(rows), and a simulation of a second has a million rows.
    values = chain.from_iterable(rows)
    try:
        flat = np.fromiter(values, np.int64, count=len(rows) * len(columns))
    except ValueError as error:
        raise _wrong_rows(columns) from error
    if next(values, None) is not None:
        raise _wrong_rows(columns)
    return _from_table(flat.reshape(len(rows), len(columns)), columns)


def events_from_flat(values: Sequence[int], columns: Sequence[str]) -> Events:
    """The same for rows that were written one after the other into one list of integers, which is faster still."""
    if len(values) % len(columns):
        raise _wrong_rows(columns)
    return _from_table(np.fromiter(values, np.int64, count=len(values)).reshape(-1, len(columns)), columns)


def _wrong_rows(columns: Sequence[str]) -> ValueError:
    return ValueError(f"an event must have {len(columns)} integers: {', '.join(columns)}")


def _from_table(table: NDArray[np.int64], names: Sequence[str]) -> Events:
    if len(set(names)) != len(names):
        raise _wrong_names()
    by_column = np.ascontiguousarray(table.T)
    return events_from_columns(dict(zip(names, by_column, strict=True)), len(table))


def events_from_columns(given: Mapping[str, NDArray[np.int64]], count: int | None = None) -> Events:
    """The same for columns by name, all of one length, which has to be told where there is none."""
    if not given.keys() <= COLUMNS.keys():
        raise _wrong_names()
    rows = len(next(iter(given.values()))) if count is None else count
    columns: dict[str, NDArray[Any]] = {}
    for name, dtype in COLUMNS.items():
        column = given.get(name)
        if column is None:
            columns[name] = np.full(rows, DEFAULTS[name], dtype)
            continue
        if dtype.itemsize < 8 and len(column) and max(column.max(), ~column.min()) > np.iinfo(dtype).max:
            raise OverflowError(f"an event's {name} does not fit {dtype.itemsize * 8} bits")
        columns[name] = column.astype(dtype)
    return Events(columns).in_order()


def _wrong_names() -> ValueError:
    return ValueError(f"columns must be different names out of {', '.join(COLUMNS)}")
