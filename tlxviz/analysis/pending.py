"""Who has arrived in the phase that a hang's waiter waits for, and who has not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tlxviz.analysis.hang import Arriver, Hang, Waiter
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
    """Whether these places arrive on barriers of other CTAs."""
    cta: int | None
    """Number of the CTA that the warp group is of; None where that is not known."""
    arrived: int | None
    """SM cycle at which it last arrived in the phase that does not complete; None where nothing says that it did."""

    def waits(self, other: Waiter, waiter: Waiter) -> bool:
        """Whether it is the warp group that waits at `other`; its arrival is one for `waiter`."""
        if other.agent != self.agent:
            return False
        if self.cta is None and self.remote and other.cta is not None:
            return other.cta != waiter.cta
        return None in (other.cta, self.cta) or other.cta == self.cta


def expected(launch: LaunchTrace, hang: Hang, waiter: Waiter) -> tuple[Expected, ...]:
    """The warp groups that arrive on a waiter's barrier, in the order of the report.

    Whoever waits at a named barrier has arrived there by that, so it is not among those that are missing. Nothing says
    which barriers an operation reaches that is `remote`: all other CTAs of the cluster are expected to make it, and the
    waiter's own only where nobody else is missing.
    """
    grouped: dict[tuple[str, bool], list[Arriver]] = {}
    for each in (waiter.arrivers or ()) if waiter.operation in _ARRIVALS else ():
        if waiter.operation != "named_wait" or each.agent != waiter.agent:
            grouped.setdefault((each.agent, each.remote), []).append(each)
    found: list[Expected] = []
    own: list[Expected] = []
    for (agent, remote), places in grouped.items():
        lines = {each.line for each in places}
        for cta in (hang.cluster or (None,)) if remote else (waiter.cta,):
            arrived = _arrived_remotely(waiter, agent, cta, lines) if remote else _arrived(launch, waiter, agent, lines)
            ended = all(each.ended for each in places) or f"{agent} of CTA {cta}" in hang.ended
            made = Expected(agent, tuple(places), ended, remote, cta, arrived)
            (own if remote and cta == waiter.cta and cta is not None and arrived is None else found).append(made)
    return tuple(found) if any(each.arrived is None for each in found) else (*found, *own)


def _arrived_remotely(waiter: Waiter, agent: str, cta: int | None, lines: set[int]) -> int | None:
    cycles = [
        each.cycle
        for each in waiter.remote_arrivals
        if each.agent == agent and each.line in lines and each.cta == cta and each.cycle is not None
    ]
    return max(cycles, default=None)


def _arrived(launch: LaunchTrace, waiter: Waiter, agent: str, lines: set[int]) -> int | None:
    if waiter.completed_phases is None or waiter.slot is None:
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
        if site.kind in _ARRIVALS[waiter.operation] and site.line in lines and waiter.variable in ("", site.variable)
    ]
    events = launch.events
    of = (events["slot"] == waiter.slot) & (events["phase"] == waiter.completed_phases)
    ends = events["end"][of & np.isin(events["track"], tracks) & np.isin(events["site"], sites)]
    return int(ends.max()) if len(ends) else None
