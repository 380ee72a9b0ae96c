"""Ways through a launch: along what released what, from iteration to iteration, from wait to worse wait.

Each function changes the state, and returns what there is to say about it; nothing if all went as asked. Names of
actions in angle brackets stand for their keys.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tlxviz.trace.model import TrackKind
from tlxviz.tui import flowing
from tlxviz.tui.lanes import waits
from tlxviz.tui.moving import NO_EVENT
from tlxviz.tui.state import State
from tlxviz.tui.steps import go_around, step, under_cursor

Rows = NDArray[np.int64]


def to_releaser(state: State) -> str:
    """To what released the selected event."""
    if state.event is None:
        return NO_EVENT
    before = int(state.launch.events["released_by"][state.event])
    if before < 0:
        return f"nothing released it, {_why_none(state, state.event)}"
    state.go_to(before)
    return ""


def _why_none(state: State, event: int) -> str:
    """Why there is nothing that released an event, and where to go on."""
    launch = state.launch
    track = launch.tracks[int(launch.events["track"][event])]
    if waits(launch)[event]:
        for_ever = launch.hang is not None and int(launch.events["end"][event]) >= track.end
        return "ever: the panel Hang says who should" if for_ever else "as far as the trace says"
    if track.kind is TrackKind.WARP_GROUP:
        return "its turn came: <previous_wait> goes to the wait before"
    return "as far as the trace says"


def to_released(state: State) -> str:
    """To the first event that the selected one released."""
    if state.event is None:
        return NO_EVENT
    released = released_by(state, state.event)
    if not len(released):
        return "it released nothing"
    state.together = ()
    state.go_to(int(released[0]))
    return (
        f"1 of {len(released)} that it released: <previous_released> and <next_released> change"
        if len(released) > 1
        else ""
    )


def among_released(state: State, direction: int) -> str:
    """To the next (1) or the one before (-1) of those that one event has released."""
    if state.event is None:
        return NO_EVENT
    if said := flowing.among(state, direction):
        return said
    releaser = int(state.launch.events["released_by"][state.event])
    together = [int(row) for row in released_by(state, releaser)] if releaser >= 0 else []
    if len(together) < 2:
        return "nothing else was released with it"
    place = go_around(state, together, direction)
    return f"{place + 1} of {len(together)} that were released together"


def released_by(state: State, event: int) -> Rows:
    """Rows of the events that an event has released, by begin."""
    events = state.launch.events
    rows = np.flatnonzero(events["released_by"] == event)
    return rows[np.argsort(events["begin"][rows], kind="stable")]


def iteration(state: State, direction: int) -> str:
    """To the next iteration (1) of the warp group, or the one before (-1)."""
    events, rows = state.launch.events, group_rows(state)
    if not len(rows):
        return "there is no warp group"
    inner, outer = events["inner"][rows], events["outer"][rows]
    starts = np.flatnonzero(np.concatenate(([True], (np.diff(inner) != 0) | (np.diff(outer) != 0))))
    event = _row(under_cursor(state))
    own = np.flatnonzero(rows == event)
    here = int(own[0]) if len(own) else int(np.searchsorted(events["begin"][rows], state.cursor, side="right")) - 1
    place = int(np.searchsorted(starts, here, side="right")) - 1 + direction
    if not 0 <= place < len(starts):
        return "no later iteration" if direction > 0 else "no earlier iteration"
    row = int(rows[starts[place]])
    state.go_to(row, remember=False)
    number = int(events["inner"][row])
    return f"iteration {number}" if number >= 0 else "outside of loops"


def _row(event: int | None) -> int:
    """A row that is none of an event's, where there is no event."""
    return -1 if event is None else event


def group_rows(state: State) -> Rows:
    """Rows of the events of a warp group, by begin: of that under the cursor, of that of the selected event, or of the
    CTA's first."""
    launch, events = state.launch, state.launch.events
    lane = state.current()
    tracks = [lane.track] if lane is not None and lane.track >= 0 else []
    if state.event is not None:
        tracks.append(int(events["track"][state.event]))
    tracks += [number for number, each in enumerate(launch.tracks) if each.cta == state.cta]
    groups = [each for each in tracks if launch.tracks[each].kind is TrackKind.WARP_GROUP]
    return track_rows(state, groups[0]) if groups else np.empty(0, np.int64)


def track_rows(state: State, track: int) -> Rows:
    """Rows of the events of a track, by begin."""
    events = state.launch.events
    rows = np.flatnonzero(events["track"] == track)
    return rows[np.argsort(events["begin"][rows], kind="stable")]


def same_site(state: State, direction: int) -> str:
    """To the next event (1) of the same operation and agent, or the one before (-1)."""
    if state.event is None:
        return NO_EVENT
    events = state.launch.events
    rows = track_rows(state, int(events["track"][state.event]))
    rows = rows[events["site"][rows] == events["site"][state.event]]
    place = int(np.flatnonzero(rows == state.event)[0]) + direction
    if not 0 <= place < len(rows):
        return f"the {'last' if direction > 0 else 'first'} of {len(rows)}"
    state.go_to(int(rows[place]), remember=False)
    return f"{place + 1} of {len(rows)} of the same line"


def worst_wait(state: State, direction: int) -> str:
    """To the longest wait of the launch; when this went there, to the next longest (1), or back (-1)."""
    launch = state.launch
    rows = np.flatnonzero(waits(launch))
    if not len(rows):
        return "nobody waits"
    rows = rows[np.argsort(launch.events["begin"][rows] - launch.events["end"][rows], kind="stable")]
    own = np.flatnonzero(rows == _row(state.event))
    on = len(own) and state.event == state.worst
    place = max(0, min(int(own[0]) + direction, len(rows) - 1)) if on else 0
    state.go_to(int(rows[place]))
    state.worst = state.event
    return "the longest wait of the launch" if place == 0 else f"wait {place + 1} of {len(rows)} by length"


def wait(state: State, direction: int) -> str:
    """To the next wait of the lane (1), or the one before (-1)."""
    if step(state, direction, waits(state.launch)):
        return ""
    return f"no {'later' if direction > 0 else 'earlier'} wait in this lane"


def hit(state: State, direction: int) -> str:
    """To the next hit of the search (1), or the one before (-1)."""
    hits = state.hits
    if hits is None:
        return "nothing has been searched for: <search> does"
    place = hits.after(state.cta, state.cursor, under_cursor(state), direction)
    if place is None:
        return f"no hits: {hits.query}"
    state.go_to(int(hits.events[place]))
    return f"hit {place + 1:,} of {len(hits):,}: {hits.query}"
