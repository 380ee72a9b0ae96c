"""The text report as a picture, for pages and notebooks."""

from __future__ import annotations

import io

from rich.console import Console

from tlxviz.reporters.text import TextReporter
from tlxviz.reporters.text_strip import strip_columns

COLUMNS = 88
"""Width of the picture in characters."""
STRIP_COLUMNS = strip_columns(COLUMNS)
"""Cells of a strip that fit it."""


def svg(reporter: TextReporter, title: str) -> str:
    """An SVG document of what the report prints, under a title."""
    console = Console(
        file=io.StringIO(),
        record=True,
        width=COLUMNS,
        force_terminal=True,
        color_system="truecolor",
        highlight=False,
        markup=False,
        emoji=False,
    )
    reporter.print_on(console)
    return console.export_svg(title=title)
