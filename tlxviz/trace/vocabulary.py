"""What each kind of event means on each kind of track. docs/trace.md says the same in prose."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from tlxviz.trace.model import LaunchTrace, TrackKind


class Work(IntEnum):
    """What the time of an event counts as. Time of a warp group between its events counts as BUSY."""

    WAIT = 0
    """Standing still until somebody else has done something."""
    ISSUE = 1
    """Handing work to others: arrivals, copies, MMAs, fences."""
    BUSY = 2
    """Working: an engine during its event, a warp group between its events."""
    NAMED = 3
    """None of these: a stretch that the kernel's author named. What happens in it are events of other tracks."""


@dataclass(frozen=True, slots=True)
class EventMeaning:
    kind: str
    """Kind of the event's site: a `tlxviz.ir.program.SiteKind` value."""
    track: TrackKind
    work: Work
    label: str
    """What a view calls it."""
    begin: str
    end: str
    columns: frozenset[str]
    """Columns that say something beyond track, site, begin, end, outer and inner. `released_by` may still be -1."""


def _entries(
    track: TrackKind, work: Work, kinds: dict[str, tuple[str, str]], begin: str, end: str
) -> list[EventMeaning]:
    return [
        EventMeaning(kind, track, work, label, begin, end, frozenset(columns.split()))
        for kind, (label, columns) in kinds.items()
    ]


_WARP_GROUP_WAITS = {
    "wait": ("wait", "slot phase released_by"),
    "mma_wait": ("MMA wait", "released_by"),
    "named_wait": ("named barrier", "slot phase released_by"),
    "tma_store_wait": ("store wait", "released_by"),
    "async_copy_wait": ("copy wait", ""),
    "cluster_wait": ("cluster wait", "phase released_by"),
}
_WARP_GROUP_ISSUES = {
    "arrive": ("arrive", "slot phase"),
    "expect": ("expect", "slot phase bytes"),
    "tma_load": ("issue load", "slot phase bytes"),
    "tma_store": ("issue store", "slot bytes"),
    "tma_reduce": ("issue reduce", "slot bytes"),
    "mma": ("issue MMA", "slot"),
    "mma_commit": ("commit MMA", "slot phase"),
    "fence": ("fence", ""),
    "named_arrive": ("named arrive", "slot phase"),
    "async_copy": ("issue copy", "slot bytes"),
    "cluster_arrive": ("cluster arrive", "phase"),
    "clc": ("next tile", "slot phase bytes"),
    "tmem_copy": ("issue copy to TMEM", "slot bytes"),
}
_WARP_GROUP_WORK = {
    "tmem_load": ("read TMEM", "slot bytes"),
    "tmem_store": ("write TMEM", "slot bytes"),
}
_TMA_LOADS = {"tma_load": ("load", "slot phase bytes released_by")}
_TMA_COPIES = {"async_copy": ("copy", "slot bytes released_by")}
_TMA_STORES = {
    "tma_store": ("store", "slot bytes released_by"),
    "tma_reduce": ("reduce", "slot bytes released_by"),
}
_TENSOR_CORE = {"mma": ("MMA", "slot released_by")}

_ANSWERS = {"clc": ("answer", "slot phase bytes released_by")}

_RANGES = {"range_begin": ("range", "")}

_REACHED = "the warp group reaches the operation"
_GOES_ON = "the warp group goes on"
_ACCEPTED = "the engine accepts the copy"

MEANINGS: dict[tuple[str, TrackKind], EventMeaning] = {
    (meaning.kind, meaning.track): meaning
    for meaning in [
        *_entries(TrackKind.WARP_GROUP, Work.WAIT, _WARP_GROUP_WAITS, _REACHED, _GOES_ON),
        *_entries(TrackKind.WARP_GROUP, Work.ISSUE, _WARP_GROUP_ISSUES, _REACHED, _GOES_ON),
        *_entries(TrackKind.WARP_GROUP, Work.BUSY, _WARP_GROUP_WORK, _REACHED, "the data have moved"),
        *_entries(TrackKind.TMA, Work.BUSY, _TMA_LOADS, _ACCEPTED, "the data is in shared memory"),
        *_entries(TrackKind.TMA, Work.BUSY, _TMA_COPIES, _ACCEPTED, "the data is in shared memory"),
        *_entries(TrackKind.TMA, Work.BUSY, _TMA_STORES, _ACCEPTED, "the source may be written again"),
        *_entries(
            TrackKind.LAUNCH_CONTROL,
            Work.BUSY,
            _ANSWERS,
            "the block scheduler is asked",
            "its answer is in shared memory",
        ),
        *_entries(TrackKind.RANGE, Work.NAMED, _RANGES, "the warp group reaches the beginning", "it reaches the end"),
        *_entries(
            TrackKind.TENSOR_CORE, Work.BUSY, _TENSOR_CORE, "the tensor core starts the MMA", "the MMA is complete"
        ),
    ]
}
"""All events that a trace of this version has, by kind of site and kind of track."""


def meaning(kind: str, track: TrackKind) -> EventMeaning | None:
    """What an event of a site of this kind means on this track; None for one that this version does not know."""
    return MEANINGS.get((kind, track))


def answer_text(slot: int) -> str:
    """What the block scheduler answered, by the column `slot` of the event: whose work the CTA is to do next."""
    return f"answer: CTA {slot}" if slot >= 0 else "answer: none is left"


def work_of_events(launch: LaunchTrace) -> NDArray[np.int8]:
    """A `Work` value per event of the launch; BUSY for kinds of event that this version does not know."""
    track_kinds = list(TrackKind)
    number = {kind: index for index, kind in enumerate(track_kinds)}
    # The last row serves events without a site, whose site is -1.
    kinds = [site.kind for site in launch.sites] + [""]
    works = {
        kind: [known.work if (known := meaning(kind, track_kind)) else Work.BUSY for track_kind in track_kinds]
        for kind in set(kinds)
    }
    table = np.array([works[kind] for kind in kinds], dtype=np.int8).T
    first = np.array([number[track.kind] * len(kinds) for track in launch.tracks], dtype=np.intp)
    track, site = (launch.events[name].astype(np.intp) for name in ("track", "site"))
    return table.ravel()[first[track] + np.where(site < 0, len(kinds) - 1, site)]
