"""Finding events by where in the source they are, and by whose they are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tlxviz.analysis.places import base_name
from tlxviz.trace.model import LaunchTrace, TrackKind


def sites_at(launch: LaunchTrace, file: str, line: int) -> frozenset[int]:
    """Numbers of the sites at a line."""
    return frozenset(
        number
        for number, each in enumerate(launch.sites)
        if each.line == line and base_name(each.file) == base_name(file)
    )


def _of_sites(launch: LaunchTrace, sites: frozenset[int]) -> NDArray[np.bool_]:
    wanted = np.zeros(len(launch.sites) + 1, bool)
    wanted[list(sites)] = True
    wanted[-1] = False
    return wanted[launch.events["site"]]


def longest_at(launch: LaunchTrace, sites: frozenset[int], agent: str = "") -> int | None:
    """The longest event of warp groups at these sites, the first of equals; of the agent named, if any is.

    Returns:
        Its row; None if there is none.
    """
    if not sites or not len(launch.events):
        return None
    tracks = np.array(
        [each.kind is TrackKind.WARP_GROUP and agent in ("", each.name) for each in launch.tracks] or [False]
    )
    rows = np.flatnonzero(_of_sites(launch, sites) & tracks[launch.events["track"]])
    if not len(rows):
        return None
    length = launch.events["end"][rows] - launch.events["begin"][rows]
    longest = rows[length == length.max()]
    return int(longest[np.argmin(launch.events["begin"][longest])])


def next_at(launch: LaunchTrace, sites: frozenset[int], cta: int, cursor: int, but: int | None = None) -> int | None:
    """The next event of a CTA at these sites from a cycle on, or the first one if none follows; `but` one.

    Returns:
        Its row; None if the CTA has none.
    """
    if not sites or not len(launch.events):
        return None
    tracks = np.array([each.cta == cta for each in launch.tracks] or [False])
    rows = np.flatnonzero(_of_sites(launch, sites) & tracks[launch.events["track"]])
    if not len(rows):
        return None
    # by begin, those of one cycle by row: so that each has its turn
    begin = launch.events["begin"][rows]
    order = np.lexsort((rows, begin))
    rows, begin = rows[order], begin[order]
    own = np.flatnonzero(rows == (-1 if but is None else but))
    place = int(own[0]) + 1 if len(own) else int(np.searchsorted(begin, cursor))
    return int(rows[place % len(rows)])


def last_of(launch: LaunchTrace, agent: str, cta: int | None) -> int | None:
    """The last event of a warp group in a CTA, or in any if None; None if it has none."""
    tracks = np.array(
        [each.kind is TrackKind.WARP_GROUP and each.name == agent and cta in (None, each.cta) for each in launch.tracks]
        or [False]
    )
    rows = np.flatnonzero(tracks[launch.events["track"]]) if len(launch.events) else np.empty(0, np.int64)
    return int(rows[np.lexsort((launch.events["end"][rows], launch.events["begin"][rows]))[-1]]) if len(rows) else None
