"""Words in the room that there is for them, and round steps of an axis."""

from __future__ import annotations

import re
from collections.abc import Sequence

LINE = 10.0
"""Points that a line of small text is high."""
_CHARACTER = 4.2
"""Points that a character of it is wide, most of the time."""
_SLOT = re.compile(r"\[\d+\]:?$")
"""What tells the slots of one ring apart, behind a name of any length."""
_MORE = "..."
"""As wide as two characters, and in every font."""


def fitting(words: Sequence[str], width: float, height: float) -> str:
    """As much of some words as there is room for, in lines; nothing where there is none."""
    lines, room = int(height / LINE), across(width)
    if lines < 1 or room < 4 or not words:
        return ""
    text = ", ".join(dict.fromkeys(words))
    found: list[str] = [""]
    for word in text.split(" "):
        if not found[-1]:
            found[-1] = word
        elif len(found[-1]) + 1 + len(word) <= room:
            found[-1] += f" {word}"
        else:
            found.append(word)
    cut = [_shortened(each, room) for each in found[:lines]]
    if len(found) > lines and not cut[-1].endswith(_MORE):
        cut[-1] = f"{cut[-1][: room - 2]}{_MORE}"
    return "\n".join(cut)


def _shortened(line: str, room: int) -> str:
    """A line in its room: its begin, and the slot that it ends with."""
    if len(line) <= room:
        return line
    slot = _SLOT.search(line)
    end = slot.group() if slot is not None and len(slot.group()) <= room - 6 else ""
    return f"{line[: room - 2 - len(end)]}{_MORE}{end}"


def across(width: float) -> int:
    """Characters that a line has room for."""
    return int((width - 2) / _CHARACTER)


def round_step(least: float) -> int:
    """1, 2 or 5 times a power of ten, and no less than `least`."""
    power = 1
    while True:
        for factor in (1, 2, 5):
            if factor * power >= least:
                return factor * power
        power *= 10
