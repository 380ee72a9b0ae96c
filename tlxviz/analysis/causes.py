"""What a cycle of a warp group goes to."""

from __future__ import annotations

from enum import IntEnum, StrEnum

import numpy as np
from numpy.typing import NDArray

from tlxviz.analysis.links import Activity
from tlxviz.trace.model import LaunchTrace

_FILLING = frozenset({"expect", "tma_load", "async_copy", "clc"})


class Cause(StrEnum):
    """What a cycle of a warp group goes to. All but the last three are of its main loop."""

    TENSOR_CORE = "tensor_core"
    """The tensor core computes the warp group's own products."""
    TENSOR_CORE_OTHER = "tensor_core_other"
    """The tensor core is busy with products of another warp group, or of another CTA of the SM."""
    COPY_LATENCY = "copy_latency"
    """A copy is under way that nothing holds up."""
    COPY_BANDWIDTH = "copy_bandwidth"
    """A copy is behind others: the engine or memory is saturated."""
    RING_FULL = "ring_full"
    """A producer waits for a slot: its consumers are late."""
    RING_EMPTY = "ring_empty"
    """A consumer waits for data that its producer has not asked for yet: the producer is late."""
    NEXT_TILE = "next_tile"
    """The block scheduler has been asked which CTA's work comes next, and has not answered yet."""
    PARTNER = "partner"
    """A named barrier, or that of the cluster, holds it until others come."""
    ARITHMETIC = "arithmetic"
    """Its own work between events: arithmetic, loads without TMA, control flow."""
    TENSOR_MEMORY = "tensor_memory"
    """It reads or writes tensor memory."""
    ISSUE = "issue"
    """It hands work to others."""
    SYNCHRONIZATION = "synchronization"
    """From a release until it goes on; waits that find their phase complete."""
    PROLOGUE = "prologue"
    """Anything before its main loop."""
    EPILOGUE = "epilogue"
    """Anything after it."""
    OTHER = "other"
    """Waits of which nobody recorded what ended them."""


CAUSES = tuple(Cause)
NUMBER = {cause: number for number, cause in enumerate(CAUSES)}
"""Position in `CAUSES`."""


class Wait(IntEnum):
    """What a wait is for."""

    PHASE = 0
    """A phase that another warp group's arrival completes."""
    SLOT = 1
    """The same, of a slot to be filled."""
    ENGINE = 2
    """A phase that a copy or product completes."""
    PRODUCTS = 3
    STORES = 4
    PARTNERS = 5
    COPIES = 6
    """Copies without TMA, which no event ends."""
    OTHER = 7


WAITS = {
    "wait": Wait.PHASE,
    "mma_wait": Wait.PRODUCTS,
    "tma_store_wait": Wait.STORES,
    "named_wait": Wait.PARTNERS,
    "cluster_wait": Wait.PARTNERS,
    "async_copy_wait": Wait.COPIES,
}
"""What sites of each kind wait for; `PHASE` is still to be told apart."""


def _causes() -> NDArray[np.int64]:
    """Numbers of causes. Rows: what a wait is for; columns: what went on, the last one for its warp group's product."""
    table = np.full((len(Wait), len(Activity) + 1), NUMBER[Cause.RING_EMPTY], np.int64)
    table[[Wait.PHASE, Wait.ENGINE, Wait.PRODUCTS], Activity.PRODUCT] = NUMBER[Cause.TENSOR_CORE_OTHER]
    table[:, Activity.COPY_LATENCY] = NUMBER[Cause.COPY_LATENCY]
    table[:, Activity.COPY_BANDWIDTH] = NUMBER[Cause.COPY_BANDWIDTH]
    for each in (Wait.PRODUCTS, Wait.STORES, Wait.OTHER):
        table[each, [Activity.ARITHMETIC, Activity.ISSUE, Activity.HAND_OFF, Activity.TENSOR_MEMORY]] = NUMBER[
            Cause.ISSUE
        ]
    table[:, Activity.LAUNCH_CONTROL] = NUMBER[Cause.NEXT_TILE]
    table[Wait.SLOT] = NUMBER[Cause.RING_FULL]
    table[Wait.PARTNERS] = NUMBER[Cause.PARTNER]
    table[Wait.COPIES] = NUMBER[Cause.COPY_LATENCY]
    others = [each for each in Wait if each not in (Wait.SLOT, Wait.PARTNERS, Wait.COPIES)]
    table[others, len(Activity)] = NUMBER[Cause.TENSOR_CORE]
    return table


CAUSE_OF_WAIT = _causes()
"""Of what goes on that is not the wait itself: see `_causes`."""


def filling_sites(launch: LaunchTrace) -> NDArray[np.bool_]:
    """Whether each site is a wait after which its warp group fills a slot; one entry more, false, for site -1."""
    found = np.zeros(len(launch.sites) + 1, bool)
    following: dict[int, str] = {}
    for number in range(len(launch.sites) - 1, -1, -1):
        site = launch.sites[number]
        if site.kind == "wait":
            found[number] = following.get(site.agent, "") in _FILLING
        elif site.kind not in ("fence", "range_begin", "range_end"):
            following[site.agent] = site.kind
    return found
