"""What keys do to the window, the lanes, the range and the marks.

Each function changes the state, and returns what there is to say about it; nothing if all went as asked. Names of
actions in angle brackets stand for their keys.
"""

from __future__ import annotations

from tlxviz.tui import steps
from tlxviz.tui.state import State
from tlxviz.tui.window import Window

NO_MARK = "there is no mark: <mark> sets one"
NO_EVENT = "no event is selected: <next> and <previous> go from one to the next"


def zoom(state: State, factor: float) -> str:
    """To `factor` times as many cycles, about the cursor."""
    about = state.cursor if state.window.begin <= state.cursor < state.window.end else state.window.begin
    state.window = state.window.zoomed(factor, about, state.seen.whole)
    return ""


def pan(state: State, share: float) -> str:
    """Moves the cursor by a share of the window's time, and the window with it."""
    whole = state.seen.whole
    by = round(state.window.cycles * share) or (1 if share > 0 else -1)
    state.window = state.window.moved(by, whole)
    state.cursor = max(whole.begin, min(state.cursor + by, whole.end - 1))
    return ""


def lane(state: State, by: int) -> str:
    state.lane = max(0, min(state.lane + by, len(state.visible()) - 1))
    return ""


def step(state: State, direction: int) -> str:
    if steps.step(state, direction):
        return ""
    return f"no {'later' if direction > 0 else 'earlier'} event in this lane"


def fit(state: State) -> str:
    """The range as large as it fits; else the selected event, with a margin."""
    if state.span is not None:
        state.window = state.span.within(state.seen.whole)
        return ""
    if state.event is None:
        return "nothing is selected"
    begin, end = (int(state.launch.events[name][state.event]) for name in ("begin", "end"))
    room = max(8, (end - begin) // 4)
    state.window = Window(begin - room, end + room).within(state.seen.whole)
    return ""


def whole(state: State) -> str:
    state.window = state.cta_window()
    return ""


def fold(state: State) -> str:
    """Hides or shows the lanes of the lane's group."""
    state.fold()
    return ""


def pin(state: State) -> str:
    """Keeps the lane on top, or no longer."""
    lane = state.current()
    if lane is None:
        return ""
    if lane.key in state.pinned:
        state.pinned.remove(lane.key)
    else:
        state.pinned.append(lane.key)
    state.put_on(lane.key)
    return ""


def span(state: State) -> str:
    """Begins a range at the cursor, or ends it there."""
    if state.span_from is None:
        state.span_from, state.span = state.cursor, None
        return "a range begins here: go on, and end it with <range>"
    begin, end = sorted((state.span_from, state.cursor))
    state.span, state.span_from = Window(begin, max(begin + 1, end)), None
    return ""


def span_of_event(state: State) -> str:
    if state.event is None:
        return NO_EVENT
    begin, end = (int(state.launch.events[name][state.event]) for name in ("begin", "end"))
    state.span, state.span_from = Window(begin, max(begin + 1, end)), None
    return ""


def mark(state: State) -> str:
    """Marks the cursor's time, or takes the mark away."""
    if state.cursor in state.marks:
        state.marks.remove(state.cursor)
        return "the mark is gone"
    state.marks.append(state.cursor)
    state.marks.sort()
    return f"mark {state.marks.index(state.cursor) + 1} of {len(state.marks)}"


def next_mark(state: State) -> str:
    """To the next mark; behind the last, to the first."""
    if not state.marks:
        return NO_MARK
    later = [cycle for cycle in sorted(state.marks) if cycle > state.cursor]
    go_to_cycle(state, later[0] if later else min(state.marks))
    return f"mark {sorted(state.marks).index(state.cursor) + 1} of {len(state.marks)}"


def go_to_cycle(state: State, cycle: int) -> None:
    state.remember()
    whole = state.seen.whole
    state.cursor = max(whole.begin, min(cycle, whole.end - 1))
    state.event = None
    if not state.window.begin <= state.cursor < state.window.end:
        state.window = state.window.centred(state.cursor, whole)


def units(state: State) -> str:
    state.units = "ns" if state.units == "cycles" else "cycles"
    return ""


def clear(state: State) -> str:
    state.event = state.span = state.span_from = state.hits = None
    state.lit = frozenset()
    return ""


def back(state: State) -> str:
    return "" if state.back() else "there is nowhere to go back to"
