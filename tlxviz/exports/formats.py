"""The formats. A new one is a module with a writer, a function here that imports it, and a line of the table."""

from __future__ import annotations

from tlxviz.exports.errors import needing
from tlxviz.exports.model import Format, Writer


def _csv() -> Writer:
    from tlxviz.exports.table_csv import csv

    return csv


def _parquet() -> Writer:
    with needing("pyarrow", "export"):
        from tlxviz.exports.table_parquet import parquet

    return parquet


def _perfetto() -> Writer:
    with needing("perfetto", "export"), needing("google", "export", "protobuf"):
        from tlxviz.exports.perfetto_trace import perfetto

    return perfetto


def _chrome() -> Writer:
    from tlxviz.exports.chrome_json import chrome

    return chrome


FORMATS: dict[str, Format] = {
    "csv": Format(".csv", "a table of the events, with units in the columns' names", _csv),
    "parquet": Format(".parquet", "the same table with types, packed", _parquet),
    "perfetto": Format(".perfetto-trace", "a timeline for ui.perfetto.dev", _perfetto),
    "chrome": Format(".json", "the same for chrome://tracing and other viewers of its JSON", _chrome),
}
