"""Numbers and shapes that the text reports share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TextIO

from rich.console import Console
from rich.text import Text

WIDEST = 120
"""Columns beyond which lines get harder to read, not easier."""

HEADING = "bold"
SIDE = "dim"
STYLES = {"b": "green", "i": "yellow", "w": "red", "-": "dim"}
"""Colour of each activity; its shape says the same where there is none."""


@dataclass(frozen=True, slots=True)
class Glyphs:
    busy: str
    issue: str
    wait: str
    ellipsis: str


UNICODE = Glyphs("█", "▒", "·", "…")
ASCII = Glyphs("#", "+", ".", "~")


class _Console(Console):
    def on_broken_pipe(self) -> None:
        # Rich would end the program with status 1; what a closed pipe means is for the caller to say.
        raise BrokenPipeError


def make_console(stream: TextIO | None) -> Console:
    """A console without colour where the stream is no terminal or NO_COLOR is set, as wide as the terminal."""
    console = _Console(file=stream, highlight=False, markup=False, emoji=False)
    console.width = max(20, min(console.width, WIDEST))
    return console


def glyphs(console: Console) -> Glyphs:
    """Block characters where the stream can encode them."""
    return ASCII if console.options.ascii_only else UNICODE


def say(console: Console, text: Text | str, *, indent: int = 0, style: str = "") -> None:
    """Print a paragraph, wrapped behind its indentation."""
    paragraph = Text(text, style=style) if isinstance(text, str) else text
    for line in paragraph.wrap(console, console.width - indent):
        line.rstrip()
        console.print(Text(" " * indent).append_text(line), no_wrap=True, crop=True)


def percent(fraction: float, decimals: int = 1) -> str:
    return f"{100 * fraction:.{decimals}f}%"


def whole(number: float) -> str:
    return f"{number:,.0f}"


def duration(ns: float) -> str:
    """Nanoseconds in the unit that leaves one to three digits before the point."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if ns >= size:
            return f"{ns / size:.4g} {unit}"
    return f"{ns:.4g} ns"


def size(count: int) -> str:
    """Bytes in binary units."""
    value = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{value:.4g} {unit}"
        value /= 1024
    return f"{value:.4g} TiB"


def plural(count: int, noun: str, several: str = "") -> str:
    return f"{whole(count)} {noun if count == 1 else several or noun + 's'}"


def place(file: str, line: int) -> str:
    """`kernel.py:83`; empty for a place that is not known."""
    base = file.replace("\\", "/").rsplit("/", 1)[-1]
    return f"{base}:{line}" if base else ""
