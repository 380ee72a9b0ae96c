"""How slices are drawn: a lightness or a hatch of its own for each, so that they differ on a grey page as well."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from tlxviz.analysis.kinds import OF_TENSOR_MEMORY
from tlxviz.trace.model import TrackKind
from tlxviz.trace.vocabulary import Work, meaning

INK = "#16181d"


class Look(IntEnum):
    """What a slice shows, in the order of the legend."""

    BUSY = 0
    WAIT = 1
    ISSUE = 2
    LOAD = 3
    STORE = 4
    MMA = 5
    NAMED = 6
    ASKED = 7
    TENSOR = 8


@dataclass(frozen=True, slots=True)
class Appearance:
    word: str
    fill: str
    line: str
    """Of the outline and the hatch."""
    text: str
    """Colour of a label on it."""
    hatch: str = ""
    """matplotlib's letters for it; empty for none."""


APPEARANCES: dict[Look, Appearance] = {
    Look.BUSY: Appearance("busy", "#b7dcc4", "#ffffff", "#16181d"),
    Look.WAIT: Appearance("waiting", "#ffffff", "#c0322b", "#16181d", "//////"),
    Look.ISSUE: Appearance("issuing", "#9a6b00", "#ffffff", "#ffffff"),
    Look.LOAD: Appearance("load", "#6aa2e6", "#ffffff", "#16181d"),
    Look.STORE: Appearance("store", "#dbe8f8", "#4a86c8", "#16181d", "...."),
    Look.MMA: Appearance("MMA", "#55308c", "#ffffff", "#ffffff"),
    Look.TENSOR: Appearance("TMEM access", "#8fd6cf", "#14756e", "#16181d", "||||"),
    Look.ASKED: Appearance("asking for a tile", "#f3e3b5", "#9a6b00", "#16181d", "\\\\"),
    Look.NAMED: Appearance("range", "#f3f4f6", "#6b7280", "#16181d"),
}

_STORES = frozenset({"tma_store", "tma_reduce"})


def look_of(kind: str, track: TrackKind) -> Look:
    """What an event of a site of this kind shows on a track."""
    if track is TrackKind.RANGE:
        return Look.NAMED
    if track is TrackKind.TENSOR_CORE:
        return Look.MMA
    if track is TrackKind.LAUNCH_CONTROL:
        return Look.ASKED
    if track is TrackKind.TMA:
        return Look.STORE if kind in _STORES else Look.LOAD
    if kind in OF_TENSOR_MEMORY:
        return Look.TENSOR
    known = meaning(kind, track)
    work = known.work if known else Work.BUSY
    return {Work.WAIT: Look.WAIT, Work.ISSUE: Look.ISSUE}.get(work, Look.BUSY)
