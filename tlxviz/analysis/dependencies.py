"""What each event waited for: the chain that leads from it back to the start of its CTA.

A chain is a row of stretches without gaps. It goes backwards from the end of an event: through what the event itself
did, and from there to the event that let it begin or go on. That is

- of a wait that was held up, the event that released it (`released_by`); of one at a named barrier that another wait
  there completed, the latter's begin;
- of a copy or an MMA, the event before it on the engine if that held it up, else the operation that issued it;
- of an MMA's issue that was held up because the tensor core's queue was full, the MMA whose end made room; of one that
  is not asynchronous, the MMA itself;
- of everything else on a warp group's track, the event before it, with the arithmetic between the two.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tlxviz.analysis.engines import answers, copies, of_kind, products_of_cores
from tlxviz.analysis.kinds import OF_TENSOR_MEMORY
from tlxviz.analysis.links import Activity, Dependencies
from tlxviz.analysis.occupation import Occupation
from tlxviz.analysis.parts import Part, Parts
from tlxviz.trace.model import LaunchTrace, TrackKind
from tlxviz.trace.vocabulary import Work, meaning

Int64 = NDArray[np.int64]

_CLOCK_CYCLES = 64
"""By so much a measured release may seem to come after the wait that it ended."""
_UNKNOWN_CYCLES = 256
"""A wait that took longer, and that no event released, is not explained."""
_ENGINES = {
    TrackKind.TMA: Activity.COPY_LATENCY,
    TrackKind.TENSOR_CORE: Activity.PRODUCT,
    TrackKind.LAUNCH_CONTROL: Activity.LAUNCH_CONTROL,
}


def dependencies(launch: LaunchTrace, occupied: Occupation) -> Dependencies:
    """What each event of a launch waited for, by rows of its table.

    Times of warp groups' events are those of `occupied`, within their tracks.
    """
    part = Parts(launch, one=True)[0]
    made = linked(part)
    return made.renumbered(np.argsort(part.rows), part.rows, part.tracks, occupied)


def linked(part: Part) -> Dependencies:
    """What each event of a part waited for, by its place in the part."""
    launch, occupied, groups = part.launch, part.occupied, part.on[TrackKind.WARP_GROUP]
    events, size = launch.events, len(occupied.row)
    begin, end = events["begin"], events["end"]
    # slices of copies
    begin[groups] = occupied.begin[groups]
    end[groups] = begin[groups] + occupied.cycles[groups]
    on_group = np.zeros(size, bool)
    on_group[groups] = True
    before = np.full(size, -1, np.int64)
    before[groups] = np.arange(-1, groups.stop - 1)
    before[part.heads[part.heads < groups.stop]] = -1
    site = events["site"]
    works, activities = _works_and_activities(part, site)
    made = Dependencies(
        begin,
        end,
        occupied.track,
        on_group,
        works,
        activities,
        begin.copy(),
        np.full(size, -1, np.int64),
        before,
        occupied.lower,
        occupied.upper,
    )
    by = events["released_by"]
    _waits(made, np.flatnonzero(made.work[groups] == Work.WAIT), by)
    _meetings(made, part, site)
    sms = np.array([each.sm for each in launch.tracks] or [0], np.int64)
    joins = {TrackKind.TMA: copies, TrackKind.TENSOR_CORE: products_of_cores, TrackKind.LAUNCH_CONTROL: answers}
    for track_kind, join in joins.items():
        there = part.on[track_kind]
        if there.stop > there.start:
            join(made, part, there, sms, by, site)
    return made


def _works_and_activities(part: Part, site: Int64) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    """The `Work` and the `Activity` of each event."""
    kinds = [*(each.kind for each in part.launch.sites), ""]
    works, activities = np.empty(len(site), np.int8), np.empty(len(site), np.int8)
    for track_kind, there in part.on.items():
        if there.stop == there.start:
            continue
        of_kind = {each: known.work if (known := meaning(each, track_kind)) else Work.BUSY for each in set(kinds)}
        works[there] = np.array([of_kind[each] for each in kinds], np.int8)[site[there]]
        if track_kind != TrackKind.WARP_GROUP:
            activities[there] = _ENGINES.get(track_kind, Activity.ISSUE)
            continue
        doing = dict.fromkeys(of_kind, Activity.ISSUE)
        doing |= {each: Activity.TENSOR_MEMORY for each in doing if each in OF_TENSOR_MEMORY}
        doing |= {each: Activity.HAND_OFF for each, work in of_kind.items() if work == Work.WAIT}
        doing |= {each: Activity.COPY_LATENCY for each in doing if each == "async_copy_wait"}
        activities[there] = np.array([doing[each] for each in kinds], np.int8)[site[there]]
    return works, activities


def _waits(made: Dependencies, rows: Int64, released_by: Int64) -> None:
    begin, end, by = made.begin[rows], made.end[rows], released_by[rows]
    released = np.where(by >= 0, made.end[by], -1)
    credible = (by >= 0) & ((released <= end + _CLOCK_CYCLES) | (made.begin[by] <= end))
    held = np.flatnonzero(credible & (released > begin))
    made.since[rows[held]] = np.minimum(released, end)[held]
    made.cause[rows[held]] = by[held]
    unknown = rows[np.flatnonzero(~credible & (end - begin > _UNKNOWN_CYCLES))]
    made.activity[unknown[made.activity[unknown] == Activity.HAND_OFF]] = Activity.UNKNOWN


def _meetings(made: Dependencies, part: Part, site: Int64) -> None:
    """Named barriers that the last wait completes, which no arrival does: the others wait for it to begin."""
    launch = part.launch
    if not any(each.kind == "named_wait" for each in launch.sites):
        return
    rows = np.flatnonzero(of_kind(launch, "named_wait")[site[part.on[TrackKind.WARP_GROUP]]])
    if not len(rows):
        return
    cta = np.array([each.cta for each in launch.tracks], np.int64)[made.track[rows]]
    slot, phase = (launch.events[name][rows].astype(np.int64) for name in ("slot", "phase"))
    # rows of a trace stand by end, and so do equals here
    order = np.lexsort((part.rows[rows], made.begin[rows], phase, slot, cta))
    rows, key = rows[order], np.stack((cta, slot, phase))[:, order]
    last = np.flatnonzero(np.concatenate(((np.diff(key) != 0).any(axis=0), [True])))
    latest = rows[last[np.searchsorted(last, np.arange(len(rows)))]]
    came = made.begin[latest]
    # an arrival that came later still is a cause already
    others = (rows != latest) & (came > made.since[rows]) & (came <= made.end[rows]) & (phase[order] >= 0)
    mine, came, latest = rows[others], came[others], latest[others]
    made.since[mine], made.cause[mine], made.activity[mine] = came, latest, Activity.HAND_OFF
