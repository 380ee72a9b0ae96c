"""A swizzle in the terminal: 8 lines of 128 bytes, and which chunk of which row is where."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from tlxviz.analysis.layouts.atom import CHUNKS, Atom, Chunk
from tlxviz.reporters.layout import SIDE, say

_LOOKS = (
    "white on blue",
    "black on yellow",
    "white on red",
    "black on green",
    "white on magenta",
    "black on cyan",
    "black on white",
    "bright_white on black",
)
"""Both colours are given, so that they can be read whatever the terminal's own are."""
_CELL = 6
_LABEL = 10
_NARROW = _LABEL + CHUNKS * _CELL


def say_atom(console: Console, atom: Atom) -> None:
    """A cell for every 16 bytes, which are four banks: the row's number, and a letter for the chunk of it."""
    what = "column" if atom.transposed else "row"
    cell = _CELL if console.width >= _NARROW + 2 else 4
    label = _LABEL if cell == _CELL else 4
    head = Text(f"{'banks' if cell == _CELL else '':<{label}}", style=SIDE)
    for place in range(CHUNKS):
        head.append(f"{4 * place}-{4 * place + 3}".center(cell) if cell == _CELL else f"{4 * place}".center(cell))
    console.print(Text("  ") + head, no_wrap=True, crop=True)
    for number, line in enumerate(atom.lines):
        text = Text("  ")
        text.append(f"{'byte ' if cell == _CELL else ''}{128 * number}".ljust(label), SIDE)
        for chunk in line:
            text.append(_named(chunk).center(cell), _LOOKS[chunk.number % CHUNKS] if chunk is not None else SIDE)
        console.print(text, no_wrap=True, crop=True)
    say(
        console,
        f"3b is chunk b of {what} 3; a chunk is 16 bytes, four banks. {_read(atom, what)}",
        indent=2,
        style=SIDE,
    )


def _named(chunk: Chunk | None) -> str:
    if chunk is None:
        return "."
    letter = chr(ord("a") + chunk.number) if chunk.number < 26 else "~"
    return f"{chunk.row}{letter}"


def _read(atom: Atom, what: str) -> str:
    """What eight rows of one chunk, as a matrix of `ldmatrix` has them, meet."""
    count = len(atom.banks)
    most = max(atom.banks.count(bank) for bank in atom.banks)
    rows = f"Chunk a of {what}s 0 to {count - 1} is"
    if most == 1:
        return f"{rows} in {count} different groups of banks: they are read at once."
    return f"{rows} up to {most} times in the same banks: {most}-way."
