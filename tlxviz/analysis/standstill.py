"""Why a hang lasts: who waits for whom, all the way round or to somebody who has ended."""

from __future__ import annotations

from dataclasses import dataclass

from tlxviz.analysis.hang import Hang, Waiter
from tlxviz.analysis.pending import expected
from tlxviz.analysis.ways import shortest_way
from tlxviz.trace.model import LaunchTrace


@dataclass(frozen=True, slots=True)
class Standstill:
    """A row of waiters, each of whom waits for an arrival of the next."""

    waiters: tuple[Waiter, ...]
    circle: bool
    """Whether the last waits for the first: then no one of them can go on."""
    ended: tuple[str, ...] = ()
    """Warp groups that the last waits for, and that have ended; empty in a circle, or if nobody arrives there."""


def standstill(launch: LaunchTrace, hang: Hang) -> Standstill | None:
    """A circle of waiters, the shortest one; without one, the row from the first waiter to one that nobody can release.

    Who has arrived in the phase that does not complete is not waited for.

    Returns:
        None where the recorder did not say who arrives where.
    """
    waiters = hang.waiters
    if not waiters or any(each.arrivers is None and each.operation == "wait" for each in waiters):
        return None
    missing = [[one for one in expected(launch, hang, each) if one.arrived is None] for each in waiters]
    following = {
        place: [
            number
            for number, other in enumerate(waiters)
            if any(one.waits(other, each) for one in missing[place]) or is_absent(other, each)
        ]
        for place, each in enumerate(waiters)
    }
    circles = [found[:-1] for start in following if (found := shortest_way(start, {start}, following))]
    if circles:
        return Standstill(tuple(waiters[place] for place in min(circles, key=len)), True)
    row = [0]
    while following[row[-1]]:
        row.append(following[row[-1]][0])
    ended = tuple(dict.fromkeys(each.agent for each in missing[row[-1]] if each.ended))
    return Standstill(tuple(waiters[place] for place in row), False, ended)


def is_absent(other: Waiter, waiter: Waiter) -> bool:
    """Whether `other` keeps its CTA from the barrier of the cluster that `waiter` waits at."""
    return other.operation != "cluster_wait" and any(each.cta == other.cta for each in waiter.absent)
