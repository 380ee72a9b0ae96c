"""The section of the text report that draws the steady state."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from tlxviz.analysis.strip import BUSY, IDLE, ISSUE, WAIT, Strip, StripRow
from tlxviz.reporters.layout import HEADING, STYLES, Glyphs, glyphs, plural, say, whole
from tlxviz.trace.model import TrackKind

LABEL = 12
"""Columns for a row's name, with the gap behind it."""


def strip_columns(width: int) -> int:
    """Cells that fit a line of `width` columns."""
    return max(8, width - LABEL)


def say_strip(console: Console, strip: Strip) -> None:
    """One line per warp group and engine."""
    if strip.iterations:
        head = f"Steady state: {plural(strip.iterations, 'iteration')} of {strip.agent} in CTA {strip.cta}"
    else:
        head = f"The whole of CTA {strip.cta}"
    say(
        console,
        f"{head}, cycles {whole(strip.begin)} to {whole(strip.end)}, {strip.cycles_per_column:.3g} a column",
        style=HEADING,
    )
    shapes = glyphs(console)
    room = strip_columns(console.width)
    for row in strip.rows:
        console.print(_line(row, shapes, room), no_wrap=True, crop=True)
    legend = Text()
    for cell, shape, word in ((BUSY, shapes.busy, "busy"), (ISSUE, shapes.issue, "issue"), (WAIT, shapes.wait, "wait")):
        legend.append(shape, STYLES[cell]).append(f" {word}  ")
    if any(row.kind != TrackKind.WARP_GROUP for row in strip.rows):
        legend.append("engines: ").append(shapes.busy, STYLES[BUSY]).append(" work in flight  ")
        legend.append(shapes.wait, STYLES[IDLE]).append(" idle")
    say(console, legend, indent=LABEL if console.width >= 72 else 0)


def _line(row: StripRow, shapes: Glyphs, room: int) -> Text:
    engine = row.kind != TrackKind.WARP_GROUP
    shape = {BUSY: shapes.busy, ISSUE: shapes.issue, WAIT: shapes.wait, IDLE: shapes.wait if engine else " "}
    cells = row.cells
    if len(cells) > room:
        cells = "".join(cells[column * len(cells) // room] for column in range(room))
    name = row.name if len(row.name) < LABEL else row.name[: LABEL - 2] + shapes.ellipsis
    line = Text(f"{name:<{LABEL}}")
    for cell in cells:
        line.append(shape[cell], STYLES[cell])
    return line
