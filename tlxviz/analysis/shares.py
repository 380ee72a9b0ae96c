"""How each warp group spends its time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tlxviz.analysis.groups import WarpGroup
from tlxviz.analysis.kinds import WAIT_KINDS, site_wait_kinds
from tlxviz.analysis.site_totals import SiteTotals
from tlxviz.trace.model import LaunchTrace, TrackKind
from tlxviz.trace.vocabulary import Work, meaning


@dataclass(frozen=True, slots=True)
class Shares:
    """Fractions of a warp group's own time, from its first to its last cycle; busy, issue and wait sum to 1."""

    busy: float
    issue: float
    wait: float
    waits: Mapping[str, float]
    """The wait share by site kind, longest first; kinds that never wait are left out."""


@dataclass(frozen=True, slots=True)
class GroupShares:
    name: str
    role: str
    warps: int
    registers: int | None
    """Registers a thread that the task asks for; None when it asks for none."""
    ctas: int
    """Traced CTAs that the shares are taken over."""
    cycles: int
    """SM cycles of the warp group in these CTAs together."""
    shares: Shares | None
    """None when nothing of it was traced."""


def group_shares(
    launch: LaunchTrace, groups: list[WarpGroup], lives: NDArray[np.int64], totals: SiteTotals
) -> tuple[GroupShares, ...]:
    """Busy, issue and wait shares of every warp group, over the traced CTAs together.

    Args:
        lives: SM cycles of each track.
    """
    works = [
        known.work if (known := meaning(site.kind, TrackKind.WARP_GROUP)) is not None else Work.BUSY
        for site in launch.sites
    ]
    work = np.array([*works, Work.BUSY], np.int64)
    kind = site_wait_kinds(launch)

    def summed(of_site: NDArray[np.int64], size: int) -> NDArray[np.int64]:
        found = np.zeros((len(groups), size), np.int64)
        for number in range(size):
            found[:, number] = totals.cycles[:, of_site == number].sum(axis=1)
        return found

    by_work, by_kind = summed(work, len(Work)), summed(kind, len(WAIT_KINDS))
    result: list[GroupShares] = []
    for index, member in enumerate(groups):
        span = int(lives[list(member.tracks)].sum()) if member.tracks else 0
        shares = None
        if span > 0:
            wait, issue = float(by_work[index, Work.WAIT]), float(by_work[index, Work.ISSUE])
            split = sorted(zip(WAIT_KINDS, by_kind[index].tolist(), strict=True), key=lambda item: -item[1])
            shares = Shares(
                busy=(span - wait - issue) / span,
                issue=issue / span,
                wait=wait / span,
                waits={name: total / span for name, total in split if total > 0},
            )
        agent = member.agent
        result.append(
            GroupShares(agent.name, agent.role, agent.warps, agent.registers, len(member.tracks), span, shares)
        )
    return tuple(result)
