"""What is kept of a trace's view from one session to the next."""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from tlxviz._errors import TlxvizError
from tlxviz.trace.model import Trace
from tlxviz.trace.whole import write_whole
from tlxviz.tui.state import State
from tlxviz.tui.window import Window

_VERSION = 1
_TAIL = 1 << 16
"""Bytes at the end of a trace that tell it from others: the archive's directory, with checksums of what is in it."""
_DEPTH = 6
"""Lanes that are one in another, at most."""
THEMES = ("dark", "light", "mono")


class Store:
    """A file that holds what is kept.

    Args:
        path: The file; folders that it is in are made when something is written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._written = ""

    @staticmethod
    def of(trace: Path, folder: Path) -> Store | None:
        """That of a trace file, by its contents: the file can be moved. None if it cannot be read."""
        try:
            with trace.open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(0, size - _TAIL))
                tail = file.read()
        except OSError:
            return None
        digest = hashlib.sha256(str(size).encode() + tail).hexdigest()
        return Store(folder / f"{digest[:32]}.json")

    def write(self, state: State) -> None:
        """Keeps what is looked at, whole or not at all. That it cannot be kept is no reason to disturb anybody."""
        text = json.dumps(_encoded(state), indent=1) + "\n"
        if text != self._written:
            with suppress(OSError, TlxvizError):
                self.path.parent.mkdir(parents=True, exist_ok=True)
                write_whole(self.path, text.encode(), force=True)
                self._written = text

    def read(self, trace: Trace, number: int | None = None) -> State:
        """What is kept, as far as it fits the trace; a fresh state where nothing is, or where it is damaged.

        Args:
            number: The launch to open, rather than the one that was open last.
        """
        try:
            kept = json.loads(self.path.read_text(encoding="utf-8"))
            if not isinstance(kept, dict) or cast("dict[str, Any]", kept).get("version") != _VERSION:
                raise ValueError("another version")
            return _decoded(trace, cast("dict[str, Any]", kept), number)
        except (OSError, ValueError, TypeError, KeyError, OverflowError, RecursionError):
            return State.of(trace, number or 0)


def _encoded(state: State) -> dict[str, Any]:
    lane = state.current()
    return {
        "version": _VERSION,
        "launch": state.seen.number,
        "cta": state.cta,
        "window": [state.window.begin, state.window.end],
        "cursor": state.cursor,
        "lane": lane.key if lane is not None else "",
        "event": state.event,
        "folded": sorted(state.folded),
        "pinned": state.pinned,
        "marks": {str(number): marks for number, marks in sorted(state.marks_of.items()) if marks},
        "units": state.units,
        "theme": state.theme,
    }


def _decoded(trace: Trace, kept: dict[str, Any], number: int | None) -> State:
    """Raises ValueError, TypeError or KeyError for what does not fit the trace."""
    launch = _number(kept["launch"], 0, len(trace.launches) - 1)
    state = State.of(trace, launch if number is None else number)
    state.units = _one_of(kept["units"], ("cycles", "ns"))
    state.theme = _one_of(kept["theme"], THEMES)
    state.marks_of = {
        _number(int(key), 0, len(trace.launches) - 1): [_number(each) for each in marks]
        for key, marks in dict(kept["marks"]).items()
    }
    if launch != state.seen.number:
        return state
    whole, ctas = state.seen.whole, state.seen.lanes.ctas
    if ctas:
        state.cta = kept["cta"] if _number(kept["cta"]) in ctas else ctas[0]
    for _ in range(_DEPTH):  # lanes that come up for the first time may be folded by themselves
        state.folded = {str(each) for each in list(kept["folded"])}
        state.visible()
    state.pinned = [str(each) for each in list(kept["pinned"])]
    begin, end = (_number(each, whole.begin, whole.end) for each in kept["window"])
    if end <= begin:
        raise ValueError("an empty window")
    state.window = Window(begin, end)
    state.cursor = _number(kept["cursor"], whole.begin, whole.end - 1)
    if kept["event"] is not None:
        state.event = _number(kept["event"], 0, len(state.launch.events) - 1)
    state.put_on(str(kept["lane"]))
    return state


def _number(value: object, least: int | None = None, most: int | None = None) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{value!r} is no number")
    if (least is not None and value < least) or (most is not None and value > most):
        raise ValueError(f"{value} is out of range")
    return value


def _one_of(value: object, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        raise ValueError(f"{value!r} is none of {allowed}")
    return str(value)
