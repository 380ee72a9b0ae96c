"""What is written, and what writes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tlxviz.trace.model import LaunchTrace


@dataclass(frozen=True, slots=True)
class Cut:
    """A launch, or what was chosen of it."""

    launch: LaunchTrace
    """With the tracks and events that were chosen alone."""
    number: int
    """Of the launch in its trace."""
    begin: int
    """SM cycle at which the chosen stretch of time begins. Events that reach into it are whole."""
    end: int
    """SM cycle at which it ends."""
    whole: LaunchTrace | None = None
    """The launch of which something was chosen; None if that is all of it."""


Writer = Callable[[Sequence[Cut]], bytes]
"""From launches, at least one, to what the file holds."""


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of file. Imports nothing before `load` is called."""

    suffix: str
    """Of the file's name, such as `.csv`."""
    says: str
    """What it is, for `--help`."""
    load: Callable[[], Writer]
    """Imports what writes it. Raises CannotExport where a package is missing."""
    single: bool = False
    """Whether a file holds one launch only."""
