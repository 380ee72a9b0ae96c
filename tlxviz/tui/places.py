"""Where somebody wants to go: `1,234`, `12us`, `+500`, `50%`, `i:40`."""

from __future__ import annotations

import re

import numpy as np

from tlxviz.tui.state import State
from tlxviz.tui.travel import group_rows

_TIME = re.compile(r"([+-]?)\s*(\d[\d,_]*\.?\d*|\.\d+)\s*(cycles|cycle|c|ns|us|µs|ms|%)?", re.IGNORECASE)
_ITERATION = re.compile(r"i(?:teration)?\s*:?\s*(?:(\d+)\s*\.\s*)?(\d+)", re.IGNORECASE)
_NS = {"ns": 1.0, "us": 1e3, "µs": 1e3, "ms": 1e6}


class PlaceError(Exception):
    """There is no such place. The text says why."""


def go(state: State, text: str) -> str:
    """Goes to a place.

    Args:
        text: A cycle; with `ns`, `us` or `ms` a time since the launch began; with `%` a share of the launch; with a
            sign in front, from the cursor. A number alone is in the units on screen. `i:40` is an iteration of the
            warp group under the cursor, `i:2.40` one of the outermost loop's iteration 2.

    Returns:
        What there is to say about it.

    Raises PlaceError.
    """
    text = text.strip()
    if found := _ITERATION.fullmatch(text):
        return _iteration(state, int(found[1]) if found[1] else None, int(found[2]))
    found = _TIME.fullmatch(text)
    if found is None:
        raise PlaceError(f"{text} is no place: write 1,234 or 12us or 50% or i:40")
    whole = state.seen.whole
    cycle = _cycles(state, float(found[2].replace(",", "").replace("_", "")), (found[3] or "").lower())
    if found[1]:
        cycle = state.cursor + (cycle if found[1] == "+" else -cycle)
    kept = max(whole.begin, min(round(cycle), whole.end - 1))
    state.remember()
    state.cursor, state.event = kept, None
    state.window = state.window.centred(kept, whole)
    return "" if kept == round(cycle) else f"the launch is from {whole.begin:,} to {whole.end:,}"


def _cycles(state: State, number: float, unit: str) -> float:
    if unit == "%":
        return state.seen.whole.begin + state.seen.whole.cycles * number / 100
    unit = unit or ("ns" if state.units == "ns" else "")
    if unit in _NS:
        if state.launch.clock_mhz <= 0:
            raise PlaceError("the trace has no clock: write cycles")
        return number * _NS[unit] * state.launch.clock_mhz / 1000
    return number


def _iteration(state: State, outer: int | None, inner: int) -> str:
    events, rows = state.launch.events, group_rows(state)
    its = rows[events["inner"][rows] == inner]
    if outer is not None:
        its = its[events["outer"][its] == outer]
    if not len(its):
        last = int(events["inner"][rows].max(initial=-1))
        known = f"the last is {last}" if last >= 0 else "it has no loop"
        raise PlaceError(f"the warp group has no iteration {inner}: {known}")
    if outer is None:  # of several of that number, the one under the cursor's iteration of the outermost loop
        before = rows[events["begin"][rows] <= state.cursor]
        here = int(events["outer"][before[-1]]) if len(before) else -1
        same = its[events["outer"][its] == here]
        its = same if len(same) else its
    event = int(its[np.argmin(events["begin"][its])])
    state.go_to(event)
    return f"iteration {inner}"
