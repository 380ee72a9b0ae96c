"""The lines above and below the timeline: what is on screen, and what is selected."""

from __future__ import annotations

from tlxviz.tui.keys import Keymap, key_text
from tlxviz.tui.state import State
from tlxviz.tui.words import event_name, fitted, share_text, time_text

_OF_NOTHING = ((7, "worst_wait", "worst wait"), (8, "search", "search"), (9, "go_to", "go to"))
_OF_EVENT = ((7, "released_by", "cause"), (8, "data_from", "data"), (9, "fit", "fit"))
_ALWAYS = ((4, "help", "help"), (5, "quit", "quit"))
"""Keys that the line below names while there is room: rank, action, and what it is called there."""


def head(state: State, columns: int) -> str:
    """Kernel, device, launch, CTA and how much of it is on screen."""
    launch, seen = state.launch, state.seen
    launches = len(state.trace.launches)
    ctas = len(seen.lanes.ctas)
    tracks = seen.lanes.of(state.cta) if ctas else None
    length = time_text(state.window.cycles, launch.clock_mhz, state.units)
    recorder = str(launch.provenance.get("recorder", ""))
    return fitted(
        [
            (1, launch.kernel),
            (5, f"{launch.device.get('title', launch.device.get('name', ''))} {recorder}".strip()),
            (3, f"launch {seen.number} of {launches}" if launches > 1 else ""),
            (2, f"CTA {state.cta}" if ctas else "no CTA"),
            (3, seen.lanes.clusters.where(state.cta) if ctas else ""),
            (6, f"SM {tracks.sm}" if tracks is not None else ""),
            (6, f"of {ctas} traced" if ctas > 1 else ""),
            (4, f"{length} on screen = {share_text(state.window.cycles, seen.whole.cycles)}"),
            (0, "HANG" if launch.hang is not None else ""),
            (3, "interrupted" if launch.tracks and not launch.complete else ""),
        ],
        columns,
    )


def foot(state: State, columns: int, keymap: Keymap, where: str = "", aside: str = "") -> str:
    """The cursor's time, what is selected, the answer to the last key, and where help is.

    Args:
        where: Which timeline the cursor is in, if there are several.
        aside: What else there is to say.
    """
    launch = state.launch

    def time(cycles: int) -> str:
        return time_text(cycles, launch.clock_mhz, state.units)

    selected = ""
    if state.event is not None:
        begin, end = (int(launch.events[name][state.event]) for name in ("begin", "end"))
        selected = f"{event_name(launch, state.event)} {time(end - begin)}"
    ranged = f"range {time(state.span.cycles)}" if state.span is not None else ""
    if state.span_from is not None:
        ranged = f"range from here: {time(abs(state.cursor - state.span_from))}"
    hints = _OF_EVENT if state.event is not None else _OF_NOTHING
    shown = [
        (rank, f"{key_text(keys[0])} {word}") for rank, name, word in (*hints, *_ALWAYS) if (keys := keymap.get(name))
    ]
    return fitted(
        [
            (2, f"{where} at {time(state.cursor)}".lstrip()),
            (1, selected),
            (3, ranged),
            (0, state.said),
            (4, aside),
            *shown,
        ],
        columns,
    )
