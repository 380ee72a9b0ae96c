"""Outputs. A reporter is given what it reports, already built, and a stream; it never opens a path."""

from __future__ import annotations

from typing import Protocol, TextIO


class Reporter(Protocol):
    def render(self, stream: TextIO) -> None:
        """Write the whole report."""
        ...
