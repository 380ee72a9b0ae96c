"""The actions that need nothing but the state."""

from __future__ import annotations

from collections.abc import Callable

from tlxviz.tui import flowing, moving, travel
from tlxviz.tui.state import State

OF_STATE: dict[str, Callable[[State], str]] = {
    "zoom_in": lambda state: moving.zoom(state, 0.5),
    "zoom_out": lambda state: moving.zoom(state, 2.0),
    "left": lambda state: moving.pan(state, -0.1),
    "right": lambda state: moving.pan(state, 0.1),
    "page_left": lambda state: moving.pan(state, -0.5),
    "page_right": lambda state: moving.pan(state, 0.5),
    "fit": moving.fit,
    "whole": moving.whole,
    "back": moving.back,
    "up": lambda state: moving.lane(state, -1),
    "down": lambda state: moving.lane(state, 1),
    "fold": moving.fold,
    "pin": moving.pin,
    "next": lambda state: moving.step(state, 1),
    "previous": lambda state: moving.step(state, -1),
    "next_wait": lambda state: travel.wait(state, 1),
    "previous_wait": lambda state: travel.wait(state, -1),
    "worst_wait": lambda state: travel.worst_wait(state, 1),
    "less_bad_wait": lambda state: travel.worst_wait(state, -1),
    "next_same": lambda state: travel.same_site(state, 1),
    "previous_same": lambda state: travel.same_site(state, -1),
    "next_iteration": lambda state: travel.iteration(state, 1),
    "previous_iteration": lambda state: travel.iteration(state, -1),
    "released_by": travel.to_releaser,
    "releases": travel.to_released,
    "previous_released": lambda state: travel.among_released(state, -1),
    "next_released": lambda state: travel.among_released(state, 1),
    "data_from": flowing.to_source,
    "data_to": flowing.to_target,
    "next_hit": lambda state: travel.hit(state, 1),
    "previous_hit": lambda state: travel.hit(state, -1),
    "range": moving.span,
    "range_of_event": moving.span_of_event,
    "mark": moving.mark,
    "next_mark": moving.next_mark,
    "units": moving.units,
}
"""By the name of the action: changes the state, and returns what there is to say."""
