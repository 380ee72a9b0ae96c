"""Where the selected event's data come from and go to: what filled what it reads, and what freed what it fills."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from textual.widget import Widget

from tlxviz.analysis.account import Account
from tlxviz.analysis.flow import DataFlow, FlowKind
from tlxviz.trace.model import TrackKind
from tlxviz.trace.vocabulary import meaning
from tlxviz.tui.moving import NO_EVENT
from tlxviz.tui.panels.facts import Facts, Failure, facts_of, worked_out
from tlxviz.tui.state import State
from tlxviz.tui.steps import go_around
from tlxviz.tui.words import event_name

FLOW = "flow"
"""The fact's name."""


def flow_work(account: Account) -> DataFlow:
    return account.flow


def flow_of(state: State) -> DataFlow | None:
    """The launch's data flow; None as long as it is not known."""
    found = facts_of(state).get(FLOW)
    return found if isinstance(found, DataFlow) else None


def asked_flow(widget: Widget, state: State, found: Callable[[], None]) -> DataFlow | None:
    """Like `flow_of`; has it worked out if it is not known, and calls `found` when it is.

    Nobody has changed the state then, so its listeners are not for that: of two timelines, they would take the focus.
    """
    facts = facts_of(state)
    if FLOW not in facts.asked:
        facts.asked.add(FLOW)
        widget.run_worker(_find(facts, state, found), exit_on_error=False)
    return flow_of(state)


async def _find(facts: Facts, state: State, found: Callable[[], None]) -> None:
    await worked_out(facts, FLOW, flow_work)
    if facts_of(state) is facts:
        found()


def engine_event(state: State, event: int) -> int:
    """What an engine did of what an event issued; the event itself where there is no such thing, or several."""
    events, tracks = state.launch.events, state.launch.tracks
    if tracks[int(events["track"][event])].kind is not TrackKind.WARP_GROUP:
        return event
    rows = np.flatnonzero((events["released_by"] == event) & (events["site"] == events["site"][event]))
    return int(rows[0]) if len(rows) == 1 else event


def links(state: State, event: int) -> tuple[list[tuple[int, FlowKind]], list[tuple[int, FlowKind]]]:
    """Where an event's data come from and go to; of one that issued work, those of the work. By begin."""
    flow = flow_of(state)
    if flow is None:
        return [], []
    events = state.launch.events
    work = engine_event(state, event)
    both = {event, work}
    came, go = ([each for one in sorted(both) for each in found(one)] for found in (flow.into, flow.out_of))

    def begin(each: tuple[int, FlowKind]) -> int:
        return int(events["begin"][each[0]])

    return sorted(came, key=begin), sorted(go, key=begin)


def _not_known(state: State) -> str:
    found = facts_of(state).get(FLOW)
    return found.why if isinstance(found, Failure) else "" if found is not None else "where data go is being worked out"


def to_source(state: State) -> str:
    """To what filled the slot that the selected event reads, or freed the one that it fills."""
    if state.event is None:
        return NO_EVENT
    came, _ = links(state, state.event)
    return _to_first(state, came, _no_data(state, state.event, "no copy filled what it reads, as far as is known"))


def to_target(state: State) -> str:
    """To what reads the slot that the selected event fills, or fills the one that it gives back."""
    if state.event is None:
        return NO_EVENT
    _, go = links(state, state.event)
    return _to_first(state, go, _no_data(state, state.event, "nothing reads what it fills, as far as is known"))


def _no_data(state: State, event: int, none: str) -> str:
    """Why there is no way from an event along data: it moves none, or none is known."""
    launch = state.launch
    number = int(launch.events["site"][event])
    track = launch.tracks[int(launch.events["track"][event])]
    kind = launch.sites[number].kind if 0 <= number < len(launch.sites) else ""
    moves = track.kind is not TrackKind.WARP_GROUP or meaning(kind, TrackKind.TMA) or kind == "mma"
    return none if moves else f"{event_name(launch, event)} moves no data: select an MMA or a copy"


def _to_first(state: State, found: list[tuple[int, FlowKind]], otherwise: str) -> str:
    """To the first of several events; where there is none, what there is to say about that."""
    if not found:
        return _not_known(state) or otherwise
    state.together = tuple(row for row, _ in found)
    state.go_to(state.together[0])
    return f"1 of {len(found)}: <previous_released> and <next_released> change" if len(found) > 1 else ""


def among(state: State, direction: int) -> str:
    """To the next (1) or the one before (-1) of those that the last key could have gone to; empty if that was none."""
    together = state.together
    if state.event is None or state.event not in together or len(together) < 2:
        return ""
    place = go_around(state, together, direction)
    return f"{place + 1} of {len(together)}: {event_name(state.launch, together[place])}"
