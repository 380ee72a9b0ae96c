"""The ruler above the lanes: times at round numbers, the cursor, marks and the selected range."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tlxviz.tui.window import Window

_APART = 3
"""Columns between two times, at least."""


@dataclass(frozen=True, slots=True)
class Tick:
    column: int
    word: str


def unit_of(window: Window, clock_mhz: float, units: str) -> str:
    """`cycles`, `ns` or `us`."""
    if units != "ns" or clock_mhz <= 0:
        return "cycles"
    return "us" if window.cycles * 1000 / clock_mhz >= 20_000 else "ns"


def ticks(window: Window, columns: int, clock_mhz: float, unit: str) -> list[Tick]:
    """Round times (1, 2 or 5 times a power of ten) as densely as their words have room."""
    scale = {"cycles": 1.0, "ns": 1000 / clock_mhz if clock_mhz else 1.0, "us": 1 / clock_mhz if clock_mhz else 1.0}[
        unit
    ]
    begin, end = window.begin * scale, window.end * scale
    step = 1e-3 if unit != "cycles" else 1.0
    while True:
        for factor in (1, 2, 5):
            size = step * factor
            digits = 0 if size >= 1 else 3 if size < 0.01 else 2 if size < 0.1 else 1
            width = len(f"{end:,.{digits}f}") + _APART
            if size / (end - begin) * columns >= width:
                return _at(window, columns, (scale, size, digits))
        step *= 10
        if step > 10 * (end - begin):
            return []


def _at(window: Window, columns: int, how: tuple[float, float, int]) -> list[Tick]:
    scale, size, digits = how
    number = math.ceil(window.begin * scale / size)
    made: list[Tick] = []
    while number * size < window.end * scale:
        cycle = number * size / scale
        # times in ns need not be whole cycles
        inside = int((cycle - window.begin) * columns / window.cycles)
        column = window.column(int(cycle), columns) if scale == 1 else inside
        if 0 <= column < columns:
            made.append(Tick(column, f"{number * size:,.{digits}f}"))
        number += 1
    return made


def words(found: list[Tick], columns: int) -> str:
    """The upper line: a word begins above its tick, and is left out where it would not fit."""
    line = [" "] * columns
    for tick in found:
        if tick.column + len(tick.word) <= columns:
            line[tick.column : tick.column + len(tick.word)] = tick.word
    return "".join(line)


def scale(found: list[Tick], columns: int, whole: tuple[bool, bool]) -> str:
    """The lower line. Its ends say whether there is more time to the left and to the right.

    Args:
        whole: Whether nothing is to the left of the window, and whether nothing is to the right.
    """
    line = ["─"] * columns
    for tick in found:
        line[tick.column] = "┬"
    line[0] = ("├" if whole[0] else "◀") if columns > 1 else line[0]
    line[-1] = ("┤" if whole[1] else "▶") if columns > 1 else line[-1]
    return "".join(line)
