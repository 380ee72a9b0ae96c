"""Parquet: the columns of the CSV with their types, and what is known of the launches."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from typing import Any

import pyarrow
import pyarrow.parquet

from tlxviz.exports.about import about
from tlxviz.exports.model import Cut
from tlxviz.exports.table import Column, Nanoseconds, Texts, table

# Without types of their own.
_arrow: Any = pyarrow
_parquet: Any = pyarrow.parquet


def parquet(cuts: Sequence[Cut]) -> bytes:
    """One row group for each launch (two for one of more than a million events), packed by zstd.

    The schema's metadata has, as JSON under `tlxviz`, what is known of the launches.
    """
    tables = [_arrow.table({name: _array(column) for name, column in table(each).items()}) for each in cuts]
    known = json.dumps([about(each) for each in cuts], separators=(",", ":")).encode()
    schema = tables[0].schema.with_metadata({b"tlxviz": known})
    buffer = io.BytesIO()
    with _parquet.ParquetWriter(buffer, schema, compression="zstd", compression_level=1) as writer:
        for each in tables:
            writer.write_table(each)
    return buffer.getvalue()


def _array(column: Column) -> Any:
    if isinstance(column, Texts):
        values = _arrow.array(column.values, _arrow.string())
        return _arrow.DictionaryArray.from_arrays(_arrow.array(column.index, _arrow.int32()), values)
    if isinstance(column, Nanoseconds):
        return _arrow.array(column.picoseconds / 1000)
    return _arrow.array(column)
