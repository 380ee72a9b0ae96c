"""What is written on a figure, and how wide that is."""

from __future__ import annotations

from functools import lru_cache

from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextToPath

from tlxviz.exports.figure.lanes import Lane, ctas_of
from tlxviz.exports.model import Cut
from tlxviz.trace.model import TrackKind
from tlxviz.trace.vocabulary import meaning

_METRICS = TextToPath()


@lru_cache(maxsize=4096)
def width(text: str, size: float) -> float:
    """Points that a text takes, of the font that comes with matplotlib."""
    return float(
        _METRICS.get_text_width_height_descent(text, FontProperties(family="DejaVu Sans", size=size), ismath=False)[0]
    )


def fitted(text: str, size: float, room: float) -> str:
    """The text, or its beginning and an ellipsis where it takes more than `room` points."""
    if width(text, size) <= room:
        return text
    while text and width(text + "…", size) > room:
        text = text[:-1]
    return text + "…"


def label(cut: Cut, lane: Lane, event: int, room: float, size: float) -> str:
    """What is written into the slice of an event: as much as fits, or nothing."""
    launch = cut.launch
    number, slot = (int(launch.events[name][event]) for name in ("site", "slot"))
    if not 0 <= number < len(launch.sites):
        return ""
    site, track = launch.sites[number], launch.tracks[lane.track]
    known = meaning(site.kind, track.kind)
    word = known.label if known else site.kind
    index = f"[{slot}]" if slot >= 0 else ""
    if not site.variable:
        texts = (word,)
    elif track.kind is TrackKind.WARP_GROUP and not word.endswith("wait"):
        texts = (f"{word} {site.variable}{index}", word)
    else:
        texts = (f"{site.variable}{index}", index)
    return next((text for text in texts if text and width(text, size) <= room), "")


def title(cut: Cut) -> str:
    """The kernel, its grid, and the device."""
    launch = cut.launch
    device = launch.device.get("title") or launch.device.get("name") or ""
    grid = " × ".join(map(str, launch.grid))
    return ", ".join(part for part in (launch.kernel, f"grid {grid}", str(device)) if part)


def subtitle(cut: Cut, shown: list[Lane]) -> str:
    """Which part of it, and how that was recorded."""
    launch, ctas = cut.launch, ctas_of(shown)
    parts = [f"CTA {ctas[0]}"] if len(ctas) == 1 else []
    parts.append(f"cycles {cut.begin:,} to {cut.end:,}")
    parts.append(str(launch.provenance.get("recorder", "")))
    if launch.hang is not None:
        parts.append("never ended")
    elif not launch.complete:
        parts.append("recording was interrupted")
    return ", ".join(part for part in parts if part)
