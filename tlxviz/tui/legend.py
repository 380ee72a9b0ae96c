"""What the lanes and the signs of the timeline stand for, in words."""

from __future__ import annotations

from tlxviz.trace.model import LaunchTrace, TrackKind
from tlxviz.tui.lane import Lane
from tlxviz.tui.looks import APPEARANCES, Look

_OF_TRACKS = {
    TrackKind.WARP_GROUP: "a warp group of the CTA",
    TrackKind.TMA: "copies that the TMA engine has under way",
    TrackKind.TENSOR_CORE: "MMAs of all warp groups, as the tensor core runs them",
    TrackKind.LAUNCH_CONTROL: "answers of the block scheduler: which CTA's work comes next (cluster launch control)",
    TrackKind.RANGE: "stretches that the kernel's author named",
}
_DERIVED = {
    "copies": "how many copies are under way; ≤ is the most",
    "bytes": "how many bytes are under way; ≤ is the most",
    "barriers": "a stroke where a phase of a barrier ends; <fold> shows each barrier",
    "buffers": "which slots are filled, full, read or free; <fold> shows each slot",
}


def lane_text(launch: LaunchTrace, lane: Lane) -> str:
    """What a lane shows. Names of actions in angle brackets stand for their keys."""
    if lane.key.startswith("cluster "):
        return "the CTAs of a cluster, by what they do; <fold> hides or shows them"
    if not lane.level:
        return "a CTA, by what its tensor core does; <fold> hides or shows its lanes"
    if lane.track >= 0:
        return _OF_TRACKS[launch.tracks[lane.track].kind]
    of = [part for part in lane.key.split("/") if part in _DERIVED]
    if not of:
        return "copies or MMAs that overlap with those of other lanes"
    if lane.level == 1:
        return _DERIVED[of[0]]
    return "phases of a barrier" if of[0] == "barriers" else "what a slot of a buffer goes through"


def _signs(*looks: Look) -> str:
    return "  ".join(f"{APPEARANCES[each].glyph} {APPEARANCES[each].word}" for each in looks)


ROWS = (
    ("load  mma.0", f"a warp group: {_signs(Look.WAIT, Look.ISSUE, Look.BUSY)} (works between its events)"),
    ("", f"on Blackwell also {_signs(Look.TENSOR)}: reads or writes tensor memory"),
    ("TMA  tensor core", f"copies and MMAs: {_signs(Look.LOAD, Look.STORE, Look.MMA)}"),
    ("CLC", f"{_signs(Look.ASKED)}: until the block scheduler has said whose work comes next"),
    ("copies  bytes", "how many are under way at a time; ≤ is the most"),
    ("barriers", f"│ where a phase ends; of one barrier: {_signs(Look.EVEN, Look.ODD)}"),
    ("buffers", f"the slots: {_signs(Look.FILL, Look.FULL, Look.READ, Look.FREE)}"),
    ("▁▂▃▄▅▆▇", "what takes most of the column, as high as its share"),
    ("─▶  ╌▷", "what released the event; which data it takes"),
    ("═▶", "what released it in another CTA, or what it releases there"),
)
"""Lanes and signs, and what they mean, for the help."""
MOUSE = (
    ("click", "select an event; on a name, its lane; on ▸, show or hide the lanes of the group"),
    ("drag", "select a range"),
    ("wheel", "scroll the lanes; with Ctrl zoom, with Shift go left and right"),
)
