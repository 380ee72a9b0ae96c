"""Which warp group did what an event says, and whose products the tensor cores ran."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tlxviz.analysis.links import Dependencies
from tlxviz.analysis.parts import Part
from tlxviz.trace.model import LaunchTrace, TrackKind

Int64 = NDArray[np.int64]


def doers(launch: LaunchTrace, made: Dependencies, rows: Int64) -> Int64:
    """The track of the warp group that each event is of, or that issued it to an engine; -1 for none."""
    track = made.track[rows]
    doer = track.copy()
    engines = np.flatnonzero(~made.on_group[rows])
    issuer = made.before[rows[engines]]
    doer[engines] = np.where(issuer >= 0, made.track[issuer], -1)
    # of what nobody is known to have issued, the site tells the warp group
    left = np.flatnonzero(doer < 0)
    if len(left):
        doer[left] = _by_site(launch, track[left], launch.events["site"][rows[left]].astype(np.int64))
    return doer


def _by_site(launch: LaunchTrace, track: Int64, site: Int64) -> Int64:
    agent = [*(each.agent for each in launch.sites), -1]
    groups = {
        (each.cta, each.agent): row for row, each in enumerate(launch.tracks) if each.kind == TrackKind.WARP_GROUP
    }
    pairs, of = np.unique(np.stack((track, site)), axis=1, return_inverse=True)
    tracks: list[int] = pairs[0].tolist()
    sites: list[int] = pairs[1].tolist()
    found = [groups.get((launch.tracks[one].cta, agent[other]), -1) for one, other in zip(tracks, sites, strict=True)]
    return np.array(found, np.int64)[of.reshape(-1)]


def cycles_of_products(part: Part, made: Dependencies, rows: Int64, begin: Int64, end: Int64) -> tuple[Int64, Int64]:
    """SM cycles from `begin` to `end` in which the tensor core of the SM of the events `rows` ran products: those of
    their own warp group, and those of any."""
    sms = np.array([each.sm for each in part.launch.tracks] or [0], np.int64)
    sm, issuer, start, cycles = _stretches(part, made, sms)
    track = made.track[rows]
    # one ascending line of time for all SMs, and one for all warp groups
    first = int(made.begin.min(initial=0))
    span = int(made.end.max(initial=0)) - first + 1
    by_issuer = np.argsort(issuer, kind="stable")
    own_start, own_cycles = (issuer * span + start)[by_issuer], cycles[by_issuer]
    own = _covered(own_start, own_cycles, track * span + begin, track * span + end)
    here = sms[track] * span
    return own, _covered(sm * span + start, cycles, here + begin, here + end)


def _stretches(part: Part, made: Dependencies, sms: Int64) -> tuple[Int64, Int64, Int64, Int64]:
    """SM, issuing track, begin and length of the stretches in which tensor cores ran products, by SM and begin.

    Where products overlap, also those of several CTAs, the cycles are those of the one that began first.
    """
    there = part.on[TrackKind.TENSOR_CORE]
    rows = part.places(there)
    sm = sms[made.track[there]]
    order = np.lexsort((part.rows[there], made.end[there], made.begin[there], sm))
    rows, sm = rows[order], sm[order]
    begin, end = made.begin[rows], made.end[rows]
    if len(rows):
        shift = sm * (int(end.max()) - int(begin.min()) + 1)
        covered = np.maximum.accumulate(end + shift)
        begin[1:] = np.maximum(begin[1:], covered[:-1] - shift[1:])
    return sm, doers(part.launch, made, rows), begin, np.maximum(end - begin, 0)


def _covered(start: Int64, cycles: Int64, begin: Int64, end: Int64) -> Int64:
    """Cycles of disjoint ascending stretches between `begin` and `end`."""
    if not len(start):
        return np.zeros(len(begin), np.int64)
    before = np.concatenate(([0], np.cumsum(cycles)))

    def until(cycle: Int64) -> Int64:
        last = np.searchsorted(start, cycle, side="right") - 1
        inside = np.minimum(cycle - start[last], cycles[last])
        return np.where(last < 0, 0, before[last] + inside)

    return until(end) - until(begin)
