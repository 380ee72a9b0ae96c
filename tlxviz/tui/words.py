"""How the timeline writes numbers and names events."""

from __future__ import annotations

from tlxviz.trace.model import LaunchTrace
from tlxviz.trace.vocabulary import meaning


def event_name(launch: LaunchTrace, event: int) -> str:
    """`wait a_full[2]`."""
    track = launch.tracks[int(launch.events["track"][event])]
    number = int(launch.events["site"][event])
    if not 0 <= number < len(launch.sites):
        return "event"
    site = launch.sites[number]
    known = meaning(site.kind, track.kind)
    slot = int(launch.events["slot"][event])
    where = f" {site.variable}" if site.variable else ""
    return f"{known.label if known else site.kind}{where}{f'[{slot}]' if slot >= 0 and site.variable else ''}"


def time_text(cycles: float, clock_mhz: float, units: str) -> str:
    """A stretch of time, in `cycles` or `ns`."""
    if units == "ns" and clock_mhz > 0:
        ns = cycles * 1000 / clock_mhz
        return f"{ns:,.0f} ns" if ns < 100_000 else f"{ns / 1000:,.1f} us"
    return f"{cycles:,.0f} cycles"
