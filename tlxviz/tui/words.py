"""How the timeline writes numbers, and names events and places."""

from __future__ import annotations

from collections.abc import Sequence

from tlxviz.analysis.places import base_name
from tlxviz.reporters.layout import place
from tlxviz.trace.model import LaunchTrace, TrackKind
from tlxviz.trace.vocabulary import answer_text, meaning


def event_name(launch: LaunchTrace, event: int) -> str:
    """`wait a_full[2]`."""
    number, slot = (int(launch.events[name][event]) for name in ("site", "slot"))
    if launch.tracks[int(launch.events["track"][event])].kind is TrackKind.LAUNCH_CONTROL:
        return answer_text(slot)
    variable = 0 <= number < len(launch.sites) and launch.sites[number].variable
    name = site_name(launch, int(launch.events["track"][event]), number)
    return f"{name}{f'[{slot}]' if slot >= 0 and variable else ''}"


def site_name(launch: LaunchTrace, track: int, number: int) -> str:
    """What events of a site on a track are called, whichever their slot: `wait a_full`."""
    if not 0 <= number < len(launch.sites):
        return "event"
    site = launch.sites[number]
    known = meaning(site.kind, launch.tracks[track].kind)
    return f"{known.label if known else site.kind}{f' {site.variable}' if site.variable else ''}"


def track_name(launch: LaunchTrace, number: int, event: int) -> str:
    """What a track is called beside an event: `load`, or `load of CTA 1` where that is of another CTA."""
    track, other = launch.tracks[number], launch.tracks[int(launch.events["track"][event])]
    return track.name if track.cta == other.cta else f"{track.name} of CTA {track.cta}"


def own_file(launch: LaunchTrace, file: str) -> bool:
    """Whether a file is the kernel's own, which the source panel shows."""
    return bool(launch.source_file) and base_name(file) == base_name(launch.source_file)


def place_text(launch: LaunchTrace, file: str, line: int) -> str:
    """`line 43` in the kernel's own file, `other.py:43` elsewhere."""
    return f"line {line}" if line and own_file(launch, file) else place(file, line)


def time_text(cycles: float, clock_mhz: float, units: str) -> str:
    """A stretch of time, in `cycles` or `ns`."""
    if units == "ns" and clock_mhz > 0:
        ns = cycles * 1000 / clock_mhz
        return f"{ns:,.0f} ns" if ns < 100_000 else f"{ns / 1000:,.1f} us"
    return f"{cycles:,.0f} cycles"


def share_text(part: float, whole: float) -> str:
    """`12 %`; `<1 %` for what is little."""
    percent = 100 * part / whole if whole else 0
    return f"{percent:.0f} %" if percent >= 1 or not part else "<1 %"


def fitted(parts: Sequence[tuple[int, str]], columns: int) -> str:
    """Parts of a line, in order, two spaces between.

    Args:
        parts: Rank and text of each. Of what does not fit, the part of the highest rank is left out first; the last one
            that is left is cut.
        columns: What there is room for.
    """
    left = [(rank, text) for rank, text in parts if text]
    while left:
        line = "  ".join(text for _, text in left)
        if len(line) <= columns:
            return line
        if len(left) == 1:
            return line[: columns - 1] + "…" if columns > 0 else ""
        left.remove(max(left, key=lambda each: each[0]))
    return ""
