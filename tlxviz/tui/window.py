"""The stretch of time that is on screen."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Window:
    """SM cycles from `begin` to `end`, at least one."""

    begin: int
    end: int

    @property
    def cycles(self) -> int:
        return self.end - self.begin

    def edges(self, columns: int) -> NDArray[np.int64]:
        """Where columns begin, and where the last ends. Where there are more columns than cycles, some are empty."""
        return _edges(self.begin, self.cycles, columns)

    def column(self, cycle: int, columns: int) -> int:
        """The column in which a cycle lies, the first of them if it has several; outside, < 0 or >= `columns`."""
        since = cycle - self.begin
        if self.cycles <= columns:
            return -(-since * columns // self.cycles)
        return ((since + 1) * columns - 1) // self.cycles

    def columns_of(self, cycles: NDArray[np.int64], columns: int) -> NDArray[np.int64]:
        """`column` of each."""
        since = cycles - self.begin
        if self.cycles <= columns:
            return -(-since * columns // self.cycles)
        return ((since + 1) * columns - 1) // self.cycles

    def cycle(self, column: int, columns: int) -> int:
        """The cycle at which a column begins."""
        return self.begin + column * self.cycles // columns

    def zoomed(self, factor: float, about: int, whole: Window) -> Window:
        """With `factor` times as many cycles; `about` stays where it is."""
        cycles = max(_FEWEST, min(round(self.cycles * factor), whole.cycles))
        left = round((about - self.begin) * cycles / self.cycles)
        return Window(about - left, about - left + cycles).within(whole)

    def moved(self, cycles: int, whole: Window) -> Window:
        return Window(self.begin + cycles, self.end + cycles).within(whole)

    def centred(self, cycle: int, whole: Window) -> Window:
        """As long, with `cycle` in the middle."""
        return self.moved(cycle - (self.begin + self.end) // 2, whole)

    def within(self, whole: Window) -> Window:
        """As long as it may be, and nowhere outside of `whole`."""
        cycles = min(self.cycles, whole.cycles)
        begin = max(whole.begin, min(self.begin, whole.end - cycles))
        return Window(begin, begin + cycles)


_FEWEST = 16
"""Cycles that a window has at least."""


@lru_cache(maxsize=8)
def _edges(begin: int, cycles: int, columns: int) -> NDArray[np.int64]:
    made = begin + np.arange(columns + 1, dtype=np.int64) * cycles // columns
    made.flags.writeable = False
    return made
