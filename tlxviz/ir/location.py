"""Source locations, as MLIR prints them: file and line, a variable's name, and call sites."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Location:
    """A place in the kernel's Python source."""

    file: str = ""
    line: int = 0
    column: int = 0
    name: str = ""
    """The variable that the source assigns there, if any."""
    caller: Location | None = None
    """For inlined code: where it was called from."""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.file else "unknown"


UNKNOWN = Location()
