"""The formats. A new one is a module with a writer, a function here that imports it, and a line of the table."""

from __future__ import annotations

from tlxviz.exports.model import Format, Writer


def _csv() -> Writer:
    from tlxviz.exports.table_csv import csv

    return csv


def _html() -> Writer:
    from tlxviz.exports.html.writer import html

    return html


FORMATS: dict[str, Format] = {
    "csv": Format(".csv", "a table of the events, with units in the columns' names", _csv),
    "html": Format(".html", "a page with the timeline, for a browser and for a pull request", _html),
}
