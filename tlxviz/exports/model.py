"""What is written, and what writes it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tlxviz.trace.model import LaunchTrace

if TYPE_CHECKING:
    from tlxviz.exports.selection import Selection


@dataclass(frozen=True, slots=True, eq=False)
class Cut:
    """A launch, or what was chosen of it."""

    launch: LaunchTrace
    """With the tracks and events that were chosen alone."""
    number: int
    """Of the launch in its trace."""
    begin: int
    """SM cycle at which the chosen stretch of time begins. Events that reach into it are whole."""
    end: int
    """SM cycle at which it ends; not after the launch."""
    whole: LaunchTrace | None = None
    """The launch of which something was chosen; None if that is all of it."""
    rows: NDArray[np.intp] | None = None
    """The chosen events' rows in `whole`; None for all."""

    def numbers(self) -> NDArray[np.int64]:
        """Each event's row in the whole launch, by which it is called in every file."""
        if self.rows is None:
            return np.arange(len(self.launch.events), dtype=np.int64)
        return self.rows.astype(np.int64)

    def released_by(self) -> NDArray[np.int64]:
        """The number of the event that let each go on, chosen or not; -1 for none."""
        if self.rows is None or self.whole is None:
            return self.launch.events["released_by"]
        return self.whole.events["released_by"][self.rows]


Content = bytes | memoryview | Iterable[bytes]
"""What a file holds, at once or in pieces that follow each other."""

Writer = Callable[[Sequence[Cut]], Content]
"""From launches, at least one, to a file of them."""


Focus = Callable[[LaunchTrace, "Selection"], "Selection"]
"""From what was chosen of a launch to what is written of it, by a format that does not hold all of one."""


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of file. Imports nothing before `load` is called."""

    suffix: str
    """Of the file's name, such as `.csv`."""
    load: Callable[[], Writer]
    """Imports what writes it. Raises CannotExport where a package is missing."""
    single: bool = False
    """Whether a file holds one launch only."""
    focus: Callable[[], Focus] | None = None
    """Imports what chooses where nothing was chosen; None for a format that holds whole launches."""
