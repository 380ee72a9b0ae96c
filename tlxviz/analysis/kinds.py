"""What a warp group does at sites of each kind: stand still, or work itself."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tlxviz.trace.model import LaunchTrace, TrackKind
from tlxviz.trace.vocabulary import MEANINGS, Work

WAIT_KINDS: tuple[str, ...] = tuple(
    kind for (kind, track), meaning in MEANINGS.items() if track == TrackKind.WARP_GROUP and meaning.work == Work.WAIT
)
"""Kinds of site at which a warp group stands still."""

OF_TENSOR_MEMORY = frozenset({"tmem_load", "tmem_store"})
"""Kinds of site at which a warp group reads or writes tensor memory by itself."""


def site_wait_kinds(launch: LaunchTrace) -> NDArray[np.int64]:
    """Index into `WAIT_KINDS` of each site, -1 for one that does not wait, and -1 once more at the end for site -1."""
    index = {kind: number for number, kind in enumerate(WAIT_KINDS)}
    return np.array([*(index.get(site.kind, -1) for site in launch.sites), -1], dtype=np.int64)
