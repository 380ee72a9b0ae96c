"""Whether there is a terminal to show a timeline in."""

from __future__ import annotations

import os
import sys

from tlxviz.commands import streams


def lacking() -> str:
    """What is missing, such as `stdout is none`; empty if there is a terminal to draw on and to read keys from."""
    for name, stream in (("stdout", streams.stdout()), ("stdin", sys.stdin), ("stderr", streams.stderr())):
        if not is_terminal(stream):
            return f"{name} is none"
    return "TERM says that this one is dumb" if os.environ.get("TERM") == "dumb" else ""


def is_terminal(stream: object) -> bool:
    """Also false for a stream that is closed, or None."""
    isatty = getattr(stream, "isatty", None)
    try:
        return bool(isatty and isatty())
    except ValueError:  # it is closed
        return False
