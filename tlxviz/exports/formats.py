"""The formats. A new one is a module with a writer, a function here that imports it, and a line of the table."""

from __future__ import annotations

from tlxviz.exports.errors import needing
from tlxviz.exports.model import Focus, Format, Writer


def _csv() -> Writer:
    from tlxviz.exports.table_csv import csv

    return csv


def _parquet() -> Writer:
    with needing("export", {"pyarrow": "pyarrow"}):
        from tlxviz.exports.table_parquet import parquet

    return parquet


def _perfetto() -> Writer:
    with needing("export", {"perfetto": "perfetto", "google": "protobuf"}):
        from tlxviz.exports.perfetto_trace import perfetto

    return perfetto


def _chrome() -> Writer:
    from tlxviz.exports.chrome_json import chrome

    return chrome


def _svg() -> Writer:
    with needing("export", {"matplotlib": "matplotlib"}):
        from tlxviz.exports.figure.writers import svg
    return svg


def _png() -> Writer:
    with needing("export", {"matplotlib": "matplotlib"}):
        from tlxviz.exports.figure.writers import png
    return png


def _figure_focus() -> Focus:
    from tlxviz.exports.figure.focus import focus

    return focus


def _html() -> Writer:
    from tlxviz.exports.html.writer import html

    return html


FORMATS: dict[str, Format] = {
    "csv": Format(".csv", _csv),
    "parquet": Format(".parquet", _parquet),
    "perfetto": Format(".perfetto-trace", _perfetto),
    "chrome": Format(".json", _chrome),
    "svg": Format(".svg", _svg, single=True, focus=_figure_focus),
    "png": Format(".png", _png, single=True, focus=_figure_focus),
    "html": Format(".html", _html),
}
