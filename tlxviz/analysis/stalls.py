"""Where on the kernel's sites the time of each warp group goes by, and which sites end its waits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tlxviz.analysis.account import Account
from tlxviz.analysis.causes import Cause
from tlxviz.analysis.groups import group_of_track
from tlxviz.analysis.kinds import site_wait_kinds

Int64 = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SiteTime:
    """Time of a warp group at one site, over the traced CTAs together."""

    group: int
    """Position in `Account.groups`."""
    site: int
    cycles: int
    """SM cycles."""
    share: float
    """Of the warp group's time."""
    waits: bool
    """Whether it stands still there, and does not hand work to others."""
    cause: Cause | None
    """What most of the time at this line goes to; None where nothing says."""


@dataclass(frozen=True, slots=True)
class EndedWait:
    """Time that a warp group waited at one site until an event of another site ended it."""

    group: int
    site: int
    by: int
    """The site that ended the waits: an arrival, or what an engine was told to do."""
    share: float
    """Of the warp group's time."""


def site_times(account: Account) -> tuple[SiteTime, ...]:
    """All sites at which warp groups spent time, by warp group and site."""
    causes = _causes(account)
    sites, waiting = account.launch.sites, site_wait_kinds(account.launch) >= 0
    cycles = account.totals.cycles[:, :-1]
    lives = _lives(account)
    found: list[SiteTime] = []
    groups, numbers = (each.tolist() for each in np.nonzero(cycles))
    for group, site in zip(groups, numbers, strict=True):
        row, spent = sites[site], int(cycles[group, site])
        place = (account.groups[group].agent.name, row.kind, row.variable, row.file, row.line)
        share = spent / int(lives[group]) if lives[group] > 0 else 0.0
        found.append(SiteTime(group, site, spent, share, bool(waiting[site]), causes.get(place)))
    return tuple(found)


def ended_waits(account: Account) -> tuple[EndedWait, ...]:
    """Who ended how much waiting, by warp group, its site, and the site that ended it, as far as that is known."""
    launch, events, size = account.launch, account.launch.events, len(account.launch.sites) + 1
    group = group_of_track(launch, account.groups)
    rows = np.flatnonzero((site_wait_kinds(launch) >= 0)[events["site"]] & (events["released_by"] >= 0))
    rows = rows[group[events["track"][rows]] >= 0]
    key = group[events["track"][rows]] * size + events["site"][rows]
    key = key * size + events["site"][events["released_by"][rows]] % size
    keys, place = np.unique(key, return_inverse=True)
    spent = np.bincount(place, weights=(events["end"] - events["begin"])[rows], minlength=len(keys))
    lives = _lives(account)
    found: list[EndedWait] = []
    for each, cycles in zip(keys.tolist(), spent.tolist(), strict=True):
        (of, site), by = divmod(each // size, size), each % size
        if by < size - 1 and cycles and lives[of] > 0:
            found.append(EndedWait(of, site, by, cycles / int(lives[of])))
    return tuple(found)


def _lives(account: Account) -> Int64:
    """SM cycles of each warp group."""
    return np.array([int(account.lives[list(each.tracks)].sum()) for each in account.groups], np.int64)


def _causes(account: Account) -> dict[tuple[str, str, str, str, int], Cause]:
    """What most of the time of each warp group at each place goes to."""
    sums: dict[tuple[str, str, str, str, int], dict[Cause, int]] = {}
    for each in account.attribution:
        for item in each.items:
            causes = sums.setdefault((item.agent, item.kind, item.variable, item.file, item.line), {})
            causes[item.cause] = causes.get(item.cause, 0) + item.cycles
    return {place: max(causes, key=lambda cause: causes[cause]) for place, causes in sums.items()}
