"""Who has arrived in the phase that a hang's waiter waits for, and who has not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tlxviz.analysis.hang import Arriver, Waiter
from tlxviz.trace.model import LaunchTrace, TrackKind

_ARRIVALS = {"wait": frozenset({"arrive", "expect", "mma_commit", "clc"}), "named_wait": frozenset({"named_arrive"})}
"""Kinds of events that count towards a phase, by the operation that waits for it."""


@dataclass(frozen=True, slots=True)
class Expected:
    """A warp group that arrives on a barrier somewhere in the kernel."""

    agent: str
    places: tuple[Arriver, ...]
    """Where it does."""
    ended: bool
    remote: bool
    """Whether these places arrive on barriers of other CTAs, so that it is one of another CTA of the cluster."""
    arrived: int | None
    """SM cycle at which it last arrived in the phase that does not complete; None where it did not, or where
    nobody knows on whose barrier it arrived."""


def expected(launch: LaunchTrace, waiter: Waiter) -> tuple[Expected, ...]:
    """The warp groups that arrive on a waiter's barrier, in the order of the report.

    Whoever waits at a named barrier has arrived there by that, so it is not among those that are missing.
    """
    grouped: dict[tuple[str, bool], list[Arriver]] = {}
    for each in waiter.arrivers or ():
        if waiter.operation != "named_wait" or each.agent != waiter.agent:
            grouped.setdefault((each.agent, each.remote), []).append(each)
    return tuple(
        Expected(
            agent,
            tuple(places),
            all(each.ended for each in places),
            remote,
            None if remote else _arrived(launch, waiter, agent, {each.line for each in places}),
        )
        for (agent, remote), places in grouped.items()
    )


def _arrived(launch: LaunchTrace, waiter: Waiter, agent: str, lines: set[int]) -> int | None:
    kinds = _ARRIVALS.get(waiter.operation)
    if kinds is None or waiter.completed_phases is None or waiter.slot is None:
        return None
    last = waiter.last_arrival
    some = None not in (waiter.pending, waiter.count) and waiter.pending != waiter.count
    if last is not None and some and last.agent == agent and last.line in lines and last.cta in (None, waiter.cta):
        return last.cycle  # where a phase has arrivals, the last one belongs to it; also in a CTA that was not traced
    tracks = [
        number
        for number, track in enumerate(launch.tracks)
        if track.kind is TrackKind.WARP_GROUP and track.name == agent and waiter.cta in (None, track.cta)
    ]
    sites = [
        number
        for number, site in enumerate(launch.sites)
        if site.kind in kinds and site.line in lines and waiter.variable in ("", site.variable)
    ]
    events = launch.events
    of = (events["slot"] == waiter.slot) & (events["phase"] == waiter.completed_phases)
    ends = events["end"][of & np.isin(events["track"], tracks) & np.isin(events["site"], sites)]
    return int(ends.max()) if len(ends) else None
