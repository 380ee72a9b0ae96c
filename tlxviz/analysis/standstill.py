"""Why a hang lasts: who waits for whom, all the way round or to somebody who has ended."""

from __future__ import annotations

from dataclasses import dataclass

from tlxviz.analysis.hang import Hang, Waiter


@dataclass(frozen=True, slots=True)
class Standstill:
    """A row of waiters, each of whom waits for an arrival of the next."""

    waiters: tuple[Waiter, ...]
    circle: bool
    """Whether the last waits for the first: then no one of them can go on."""
    ended: tuple[str, ...] = ()
    """Warp groups that the last waits for, and that have ended; empty in a circle, or if nobody arrives there."""


def standstill(hang: Hang) -> Standstill | None:
    """A circle of waiters, the shortest one; without one, the row from the first waiter to one that nobody can release.

    Returns:
        None where the recorder did not say who arrives where.
    """
    waiters = hang.waiters
    if not waiters or any(each.arrivers is None and each.operation == "wait" for each in waiters):
        return None
    following = [
        [
            number
            for number, other in enumerate(waiters)
            if any(_is(arriver.agent, arriver.remote, other, each) for arriver in each.arrivers or ())
        ]
        for each in waiters
    ]
    circles = [found for start in range(len(waiters)) if (found := _back_to(start, following))]
    if circles:
        return Standstill(tuple(waiters[place] for place in min(circles, key=len)), True)
    row = [0]
    while following[row[-1]]:
        row.append(following[row[-1]][0])
    last = waiters[row[-1]]
    ended = tuple(dict.fromkeys(each.agent for each in last.arrivers or () if each.ended))
    return Standstill(tuple(waiters[place] for place in row), False, ended)


def _is(agent: str, remote: bool, other: Waiter, waiter: Waiter) -> bool:
    """Whether `other` is a warp group of this name that could release `waiter`."""
    return other.agent == agent and (remote or None in (other.cta, waiter.cta) or other.cta == waiter.cta)


def _back_to(start: int, following: list[list[int]]) -> list[int]:
    """The shortest way from a waiter back to it; empty if there is none."""
    ways = [[start]]
    seen: set[int] = set()
    while ways:
        longer: list[list[int]] = []
        for way in ways:
            for place in following[way[-1]]:
                if place == start:
                    return way
                if place not in seen:
                    seen.add(place)
                    longer.append([*way, place])
        ways = longer
    return []
