"""The formats. A new one is a module with a writer, a function here that imports it, and a line of the table."""

from __future__ import annotations

from tlxviz.exports.model import Format, Writer


def _csv() -> Writer:
    from tlxviz.exports.table_csv import csv

    return csv


FORMATS: dict[str, Format] = {
    "csv": Format(".csv", "a table of the events, with units in the columns' names", _csv),
}
