"""Looks for the way of recording a launch that slows its kernel down little."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tlxviz.probe.attempt import Attempt
from tlxviz.probe.plan import HEADS, WHOLE, Share, equal_shares

ENOUGH = 0.03
"""Slow-down of a kernel below which a way is good enough."""
_DIVISIONS = (3, 4, 6)
"""In how many shares points are divided, one after the other, until good shares together have all of them."""

_MOST_ALONE = 24
"""Places that get a launch each."""
_MOST_LEFT_OUT = 2 / 3
"""Of a kernel's points: a trace with fewer is hardly a measurement."""


@dataclass(frozen=True, slots=True)
class Way:
    """How the points of a kernel are spread over launches and CTAs; see `Plan`."""

    shares: tuple[Share, ...] = WHOLE
    everywhere: bool = False

    @property
    def parts(self) -> int:
        """Launches that are recorded."""
        return len(self.shares)


Try = Callable[[Way], Attempt]


def gentlest(attempt: Try, room_for_all: Callable[[Attempt], bool]) -> Attempt:
    """The first way that slows the kernel down by no more than 3 %.

    All points in one launch are best, of one SM, or of all CTAs where all run at once. Then come several launches, of
    which each has some points. A share of them that costs too much by itself is not used; its points may be in shares
    of another division, since what costs much is not their number, but which warp groups they put out of step. Points
    that are in no good share are left out. If only a third would remain, or none, each place gets a launch of its own,
    where there are few; then heads of loops alone are recorded. If even they cost too much, it is the gentlest way in
    one launch.

    Args:
        attempt: Records in a way.
        room_for_all: Whether all CTAs can record, by an attempt in which some have.
    """
    best = attempt(Way())
    if best.slow_down <= ENOUGH:
        return best
    everywhere = best.one_wave and room_for_all(best)
    if everywhere:
        best = min(best, attempt(Way(everywhere=True)), key=lambda each: each.slow_down)
        if best.slow_down <= ENOUGH:
            return best
    return _in_parts(attempt, everywhere=everywhere) or _alone(attempt, best, everywhere=everywhere) or best


def _alone(attempt: Try, whole: Attempt, *, everywhere: bool) -> Attempt | None:
    """None if heads of loops alone cost too much."""
    shares = whole.plan.alone(whole.program, whole.points)
    if len(shares) <= _MOST_ALONE:
        made = _remaining(attempt, _good(attempt(Way(shares, everywhere))), everywhere=everywhere)
        if made is not None:
            return made
    made = attempt(Way(HEADS, everywhere))
    return made if made.slow_down <= ENOUGH else None


def _in_parts(attempt: Try, *, everywhere: bool) -> Attempt | None:
    """None if the shares that cost little have too few of the points."""
    good: list[Share] = []
    places: int | None = None
    for parts in _DIVISIONS:
        more = tuple(share for share in equal_shares(parts) if places is None or _adds(share, good, places))
        if not more:
            break
        made = attempt(Way(more, everywhere))
        if made.slow_down <= ENOUGH and not good:
            return made
        places = made.plan.places(made.program, made.points)
        good = _needed([*good, *_good(made)], places)
    return _remaining(attempt, good, everywhere=everywhere)


def _remaining(attempt: Try, good: list[Share], *, everywhere: bool) -> Attempt | None:
    """These shares, or those of them that stay good together; None if they have too few of the points."""
    while good:
        made = attempt(Way(tuple(good), everywhere))
        left_out = len(made.plan.left_out(made.program, made.points))
        if left_out > _MOST_LEFT_OUT * len(made.points):
            return None
        if made.slow_down <= ENOUGH:
            return made
        good = _good(made)
    return None


def _good(made: Attempt) -> list[Share]:
    """Shares that slow the kernel down little."""
    return [share for share, cost in zip(made.plan.shares, made.slow_downs, strict=True) if cost <= ENOUGH]


def _needed(shares: list[Share], places: int) -> list[Share]:
    """Shares without those whose places the others have."""
    for share in tuple(shares):
        others = [each for each in shares if each != share]
        if not _adds(share, others, places):
            shares = others
    return shares


def _adds(share: Share, others: Sequence[Share], places: int) -> bool:
    """Whether it has a place that the others have not."""
    return any(share.has(place) and not any(other.has(place) for other in others) for place in range(places))
