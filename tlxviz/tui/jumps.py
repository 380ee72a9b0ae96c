"""Where in two linked timelines a difference is."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tlxviz.analysis.difference_causes import PathPart
from tlxviz.trace.model import TrackKind
from tlxviz.tui.linked import NAMES, A, B, Link
from tlxviz.tui.window import Window

_ENGINE_TRACKS = (TrackKind.TMA, TrackKind.TENSOR_CORE, TrackKind.LAUNCH_CONTROL)
_ENGINES = frozenset({"copy_latency", "copy_bandwidth", "product", "launch_control"})
"""Activities of engines, not of the warp group that issued them."""


_AROUND = 30
"""Times as long as an event is what is on screen about it, at most."""
_LEAST = 600
"""SM cycles that are on screen about a short event."""
_NOWHERE = "that is in no CTA of the two that are open"


def jump(link: Link, part: PathPart) -> str:
    """Shows a part of a difference in both timelines, one above the other. Returns what there is to say about it."""
    if not part.agent:
        return _NOWHERE
    lead = A if part.a >= part.b else B
    found: dict[int, int] = {}
    for side in (lead, 1 - lead):
        events = _events(link, side, part)
        if len(events):
            found[side] = _chosen(link, side, events, found.get(lead), gap=not part.kind)
    if not found:
        return _NOWHERE
    lead = lead if lead in found else 1 - lead
    link.lead = lead
    lengths = {side: _go(link, side, event, gap=not part.kind) for side, event in found.items()}
    state = link.sides[lead]
    most = max(_LEAST, _AROUND * max(lengths.values()))
    if state.window.cycles > most:
        state.window = Window(state.cursor, state.cursor + most)
    state.window = state.window.centred(state.cursor + lengths[lead] // 2, state.seen.whole)
    if len(found) == 2:
        where = f"{part.kind.replace('_', ' ')} {part.variable}".strip() if part.kind else f"arithmetic of {part.agent}"
        link.align((link.sides[A].cursor, link.sides[B].cursor), where)
        return ""
    link.sides[1 - lead].event = None
    link.follow(lead)
    return f"only {NAMES[lead]} has that"


def _events(link: Link, side: int, part: PathPart) -> NDArray[np.intp]:
    """The events of the open CTA at the part's place; for arithmetic, those of its warp group."""
    state = link.sides[side]
    launch = state.launch
    agents = {part.agent}
    if side == B:
        agents = {other for other, one in link.names.items() if one == part.agent} or agents
    on = [number for number, track in enumerate(launch.tracks) if track.cta == state.cta]
    if not part.kind:
        own = [number for number in on if launch.tracks[number].name in agents]
        return np.flatnonzero(np.isin(launch.events["track"], own))
    line = part.line_b if side == B else part.line_a
    sites = [
        number
        for number, site in enumerate(launch.sites)
        if site.kind == part.kind
        and site.line == line
        and 0 <= site.agent < len(launch.agents)
        and launch.agents[site.agent].name in agents
    ]
    engines = [number for number in on if launch.tracks[number].kind in _ENGINE_TRACKS]
    there = np.isin(launch.events["site"], sites) & np.isin(launch.events["track"], on)
    wanted = np.isin(launch.events["track"], engines) == (part.activity in _ENGINES)
    return np.flatnonzero(there & wanted) if (there & wanted).any() else np.flatnonzero(there)


def _chosen(link: Link, side: int, events: NDArray[np.intp], other: int | None, *, gap: bool) -> int:
    """Of the events, the one of the same iteration as the other side's, or else the longest; with `gap`, the one behind
    which most time goes by."""
    columns = link.sides[side].launch.events
    if other is not None and not gap:
        theirs = link.sides[1 - side].launch.events
        alike = events[(columns["inner"][events] == theirs["inner"][other])]
        if len(alike):
            return int(alike[0])
    begin, end = columns["begin"][events], columns["end"][events]
    if not gap:
        return int(events[int(np.argmax(end - begin))])
    order = np.argsort(begin, kind="stable")
    idle = np.append(begin[order][1:], end.max()) - end[order]
    return int(events[order[int(np.argmax(idle))]])


def _go(link: Link, side: int, event: int, *, gap: bool) -> int:
    """Selects the event, with the cursor where it begins, or with `gap` where it ends. Gives the SM cycles meant."""
    state = link.sides[side]
    events = state.launch.events
    state.go_to(event)
    if not gap:
        return int(events["end"][event] - events["begin"][event])
    state.event = None
    state.cursor = int(events["end"][event])
    later = events["begin"][(events["track"] == events["track"][event]) & (events["begin"] >= state.cursor)]
    return int(later.min()) - state.cursor if len(later) else 0
