"""Stdout is data, stderr is everything else, and a reader that has gone is no error."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from tlxviz.reporters import Reporter


def note(text: str) -> None:
    """A line for the person at the terminal."""
    _write(sys.stderr, text + "\n")


def fail(message: str) -> None:
    """The one line that says why the program stops."""
    _write(sys.stderr, f"tlxviz: error: {message}\n")


def render(reporter: Reporter) -> None:
    """Write a report to stdout; characters that it cannot encode become `?`."""
    stream = sys.stdout
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="replace")
    try:
        reporter.render(stream)
        stream.flush()
    except BrokenPipeError:
        discard(stream)


def flush() -> None:
    """Empty stdout's buffer while a closed pipe can still be handled."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        discard(sys.stdout)


def discard(stream: TextIO) -> None:
    """Send what is still buffered, and all that comes, nowhere: the interpreter flushes once more when it ends."""
    try:
        descriptor = stream.fileno()
    except (OSError, ValueError):
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)


def _write(stream: TextIO, text: str) -> None:
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        discard(stream)
