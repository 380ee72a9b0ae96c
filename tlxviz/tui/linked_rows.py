"""The rows of two launches: those of a role stand in the same place, and what only one has is empty in the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tlxviz.tui.lane import Lane
from tlxviz.tui.slices import no_slices
from tlxviz.tui.state import State

MISSING = "missing "
"""How keys of rows begin that are the other launch's."""


@dataclass(eq=False)
class SideState(State):
    """The state of one of two launches, whose rows are those of both."""

    arranged: Callable[[SideState], list[Lane]] | None = None
    """Gives the rows; None until both sides are there."""

    folds: Callable[[SideState], None] | None = None
    """Folds the row under the cursor in both."""

    def visible(self) -> list[Lane]:
        return self.own() if self.arranged is None else self.arranged(self)

    def fold(self) -> None:
        if self.folds is not None:
            self.folds(self)

    def own(self) -> list[Lane]:
        """The lanes that this launch has by itself."""
        return State.visible(self)


def arrange(sides: Sequence[SideState], names: Mapping[str, str]) -> tuple[list[Lane], list[Lane]]:
    """The rows of both.

    Args:
        names: For warp groups of the second, what the corresponding ones of the first are called.
    """
    called: tuple[Mapping[str, str], ...] = ({}, names)
    own = [{_name(lane, side, called[number]): lane for lane in side.own()} for number, side in enumerate(sides)]
    pinned = {key.removeprefix(MISSING) for side in sides for key in side.pinned if key.startswith(MISSING)}
    for side, each in zip(sides, own, strict=True):
        pinned |= {name for name, lane in each.items() if lane.key in side.pinned}

    def rank(name: str) -> int:
        """The open CTAs' rows before others, since the other CTAs of one have no counterparts in the other."""
        return 0 if name in pinned else 2 if name.startswith(("cta ", "cluster ")) else 1

    order: list[str] = []
    for wanted in range(3):
        order += _merged(*([name for name in each if rank(name) == wanted] for each in own))
    rows: tuple[list[Lane], list[Lane]] = ([], [])
    for name in order:
        for number, side in enumerate(sides):
            there = own[number].get(name)
            rows[number].append(there or _missing(side.cta, name, own[1 - number][name]))
    return rows


def _name(lane: Lane, side: SideState, names: Mapping[str, str]) -> str:
    """A lane's key without the CTA, or cluster, if that is the open one, and with the first launch's name of its warp
    group."""
    if lane.key.startswith("cluster "):
        return "cluster" if lane.key in side.seen.lanes.around(side.cta) else lane.key
    head, slash, rest = lane.key.partition("/")
    track, more_slash, more = rest.partition("/")
    return ("" if lane.cta == side.cta else head) + slash + names.get(track, track) + more_slash + more


def _merged(a: Sequence[str], b: Sequence[str]) -> list[str]:
    """All of both: those of `a` in their order, and each that only `b` has behind its predecessor there."""
    names = list(a)
    place = 0
    for name in b:
        if name not in names:
            names.insert(place, name)
        place = names.index(name) + 1
    return names


def _missing(cta: int, name: str, like: Lane) -> Lane:
    """A row for what only the other launch has."""
    return Lane(f"{MISSING}{name}", f"no {like.label or 'more'}", like.depth, cta, no_slices)
