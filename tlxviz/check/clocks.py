"""Vector clocks: what of others has surely happened before.

A component is anything whose events are in order: a warp group, or one of the queues of work that it hands to an engine
(its wgmmas, its TMA stores), or the completed phases of an mbarrier. A clock says of each how many of its events have
happened before; of those that it does not name, none.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TypeVar

Clock = dict[int, int]
Component = TypeVar("Component", bound=Hashable)


def join(clock: dict[Component, int], other: dict[Component, int]) -> None:
    """`clock` learns what `other` knows."""
    for component, index in other.items():
        if clock.get(component, 0) < index:
            clock[component] = index
