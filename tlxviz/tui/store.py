"""What is kept of a view from one session to the next."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar, cast

from tlxviz._errors import TlxvizError
from tlxviz.trace.model import Trace
from tlxviz.trace.whole import write_whole
from tlxviz.tui.state import Rows, State
from tlxviz.tui.window import Window

VERSION = 2
_TAIL = 1 << 16
"""Bytes at the end of a trace that tell it from others: the archive's directory, with checksums of what is in it."""
THEMES = ("dark", "light", "mono")

Kept = dict[str, Any]
_Made = TypeVar("_Made")


class Store:
    """A file that holds what is kept.

    Args:
        path: The file; folders that it is in are made when something is written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._written = ""

    @staticmethod
    def of(folder: Path, *traces: Path) -> Store | None:
        """That of a trace file, or of several that are looked at together, by their contents: files can be moved. None
        if one cannot be read."""
        digests: list[str] = []
        for trace in traces:
            try:
                with trace.open("rb") as file:
                    size = file.seek(0, os.SEEK_END)
                    file.seek(max(0, size - _TAIL))
                    tail = file.read()
            except OSError:
                return None
            digests.append(hashlib.sha256(str(size).encode() + tail).hexdigest())
        name = digests[0] if len(digests) == 1 else _digest(digests)
        return Store(folder / f"{name[:32]}.json")

    @staticmethod
    def of_script(folder: Path, script: str) -> Store:
        """That of a script that is looked at while it runs.

        Args:
            script: Its path, or the module's name.
        """
        return Store(folder / f"{_digest(['script', script])[:32]}.json")

    def keep(self, kept: Mapping[str, Any]) -> None:
        """Writes what is kept, whole or not at all. That it cannot be kept is no reason to disturb anybody."""
        text = json.dumps({"version": VERSION, **kept}, indent=1) + "\n"
        if text != self._written:
            with suppress(OSError, TlxvizError):
                self.path.parent.mkdir(parents=True, exist_ok=True)
                write_whole(self.path, text.encode(), force=True)
                self._written = text

    def restored(self, restore: Callable[[Kept], _Made]) -> _Made | None:
        """What `restore` makes of what is kept. None where nothing is, or where it is damaged or does not fit.

        Args:
            restore: May raise ValueError, TypeError or KeyError for what does not fit.
        """
        try:
            kept = json.loads(self.path.read_text(encoding="utf-8"))
            if not isinstance(kept, dict) or cast("Kept", kept).get("version") != VERSION:
                return None
            return restore(cast("Kept", kept))
        except (OSError, ValueError, TypeError, KeyError, OverflowError, RecursionError):
            return None

    def write(self, state: State) -> None:
        """Keeps what is looked at in a trace."""
        self.keep(encoded(state))

    def read(self, trace: Trace, number: int | None = None) -> State:
        """What is kept, as far as it fits the trace; a fresh state where nothing is, or where it is damaged.

        Args:
            number: The launch to open, rather than the one that was open last.
        """

        def restore(kept: Kept) -> State:
            launch = launch_of(kept, trace)
            state = State.of(trace, launch if number is None else number)
            restore_into(state, kept)
            return state

        return self.restored(restore) or State.of(trace, number or 0)


def _digest(parts: list[str]) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


# ---- a state as JSON


def encoded(state: State) -> Kept:
    """What is kept of a state."""
    lane = state.current()
    return {
        "launch": state.seen.number,
        "cta": state.cta,
        "window": [state.window.begin, state.window.end],
        "cursor": state.cursor,
        "lane": lane.key if lane is not None else "",
        "event": state.event,
        "panel": state.panel,
        "marks": {str(number): marks for number, marks in sorted(state.marks_of.items()) if marks},
        **encoded_looks(state),
    }


def encoded_looks(state: State) -> Kept:
    """What of it is of no one trace: how lanes stand, by kernel, units and theme."""
    rows = {**state.rows_of, state.launch.kernel: state.rows}
    rows = {kernel: each for kernel, each in rows.items() if each.met or each.pinned}
    return {
        "rows": {
            kernel: {"folded": sorted(each.folded), "met": sorted(each.met - each.folded), "pinned": list(each.pinned)}
            for kernel, each in sorted(rows.items())
        },
        "units": state.units,
        "theme": state.theme_kept or state.theme,
    }


def launch_of(kept: Kept, trace: Trace) -> int:
    """The launch that was open."""
    return number_of(kept["launch"], 0, len(trace.launches) - 1)


def restore_into(state: State, kept: Kept) -> None:
    """Puts a state as it was; of another launch than was open, what is of no one launch.

    Raises ValueError, TypeError or KeyError for what does not fit the trace, with the state in between.
    """
    restore_looks(state, kept)
    state.panel = str(kept.get("panel", ""))
    last = len(state.trace.launches) - 1
    state.marks_of = {
        number_of(int(key), 0, last): [number_of(each) for each in marks] for key, marks in dict(kept["marks"]).items()
    }
    whole, ctas = state.seen.whole, state.seen.lanes.ctas
    if launch_of(kept, state.trace) != state.seen.number:
        state.visible()
        state.unfold_cta()
        return
    if ctas:
        state.cta = kept["cta"] if number_of(kept["cta"]) in ctas else ctas[0]
    begin, end = (number_of(each, whole.begin, whole.end) for each in kept["window"])
    if end <= begin:
        raise ValueError("an empty window")
    state.window = Window(begin, end)
    state.cursor = number_of(kept["cursor"], whole.begin, whole.end - 1)
    if kept["event"] is not None:
        state.event = number_of(kept["event"], 0, len(state.launch.events) - 1)
    state.put_on(str(kept["lane"]))


def restore_looks(state: State, kept: Kept) -> None:
    """Raises ValueError, TypeError or KeyError for what cannot be."""
    units, theme = one_of(kept["units"], ("cycles", "ns")), one_of(kept["theme"], THEMES)
    made: dict[str, Rows] = {}
    for kernel, each in dict(kept["rows"]).items():
        folded, met, pinned = ([str(key) for key in list(each[name])] for name in ("folded", "met", "pinned"))
        made[str(kernel)] = Rows(frozenset(folded), frozenset([*folded, *met]), tuple(pinned))
    state.units, state.theme, state.rows_of = units, theme, made
    state.rows = made.pop(state.launch.kernel, Rows())


def number_of(value: object, least: int | None = None, most: int | None = None) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{value!r} is no number")
    if (least is not None and value < least) or (most is not None and value > most):
        raise ValueError(f"{value} is out of range")
    return value


def one_of(value: object, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        raise ValueError(f"{value!r} is none of {allowed}")
    return str(value)
