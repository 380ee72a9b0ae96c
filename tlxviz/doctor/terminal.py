"""What the terminal can show."""

from __future__ import annotations

import shutil

from tlxviz.doctor.model import Machine, Outcome, ok, warning
from tlxviz.doctor.registry import check

GLYPHS = "█▒·… │─┌┐└┘ ✓✗"
"""Those that reports use."""
_WIDTH = 80


@check("encoding", "Characters")
def _encoding(machine: Machine) -> Outcome:
    encoding = getattr(machine.output, "encoding", None) or "ascii"
    try:
        GLYPHS.encode(encoding)
    except (UnicodeError, LookupError):
        return warning(
            f"the encoding {encoding} has no blocks and boxes; reports use # + . instead", "export LANG=C.UTF-8"
        )
    return ok(f"{encoding}; the font must have {GLYPHS} (DejaVu Sans Mono does, say)")


@check("colour", "Colour")
def _colour(machine: Machine) -> Outcome:
    if machine.environ.get("NO_COLOR"):
        return ok("none, because NO_COLOR is set")
    if machine.output is None or not machine.output.isatty():
        return ok("none, because the output is no terminal")
    name = machine.environ.get("TERM", "")
    if machine.environ.get("COLORTERM", "").lower() in ("truecolor", "24bit"):
        return ok(f"16,777,216 colours (TERM={name})")
    colours = _colours(name)
    if colours < 8:
        return warning(f"none (TERM={name or 'not set'}); shapes say the same", "export TERM=xterm-256color")
    return ok(f"{colours} colours (TERM={name})")


@check("width", "Width")
def _width(machine: Machine) -> Outcome:
    columns = shutil.get_terminal_size().columns
    if columns < _WIDTH:
        return warning(f"{columns} columns; reports are made for {_WIDTH}", f"make the window {_WIDTH} columns wide")
    return ok(f"{columns} columns")


def _colours(terminal: str) -> int:
    """Colours of a kind of terminal according to terminfo; 0 where nothing is known."""
    try:
        import curses

        curses.setupterm(terminal, 1)
        return max(0, curses.tigetnum("colors"))
    except Exception:  # this Python was built without curses, or has no entry for the terminal
        return 0


CHECKS = (_encoding, _colour, _width)
