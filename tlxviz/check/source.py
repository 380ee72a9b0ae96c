"""The source of a kernel, as far as findings point into it."""

from __future__ import annotations

from dataclasses import dataclass

from tlxviz.ir.location import Location


@dataclass(frozen=True, slots=True)
class Source:
    """The text of a kernel's function, indented as in its file."""

    text: str = ""
    file: str = ""
    """The file that holds it, as locations name it."""
    first: int = 1
    """Number of its first line in the file."""

    def line(self, location: Location) -> str:
        """The line that a location is about; empty where it is not in the kernel's own text."""
        if location.file != self.file:
            return ""
        lines = self.text.splitlines()
        index = location.line - self.first
        return lines[index] if 0 <= index < len(lines) else ""
