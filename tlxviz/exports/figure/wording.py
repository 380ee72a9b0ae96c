"""What is written on a figure, and how wide that is."""

from __future__ import annotations

from functools import lru_cache

from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextToPath

from tlxviz._texts import on_one_line
from tlxviz.exports.figure.lanes import Lane, ctas_of
from tlxviz.exports.model import Cut
from tlxviz.trace.model import TrackKind
from tlxviz.trace.vocabulary import answer_text, meaning

_METRICS = TextToPath()
_LONGEST = 300
"""Characters, which are wider than any page. Laying out a text takes longer than in proportion to its length."""
_SHORTEST = 5
"""Characters, with the ellipsis, of what is left of a range's name: fewer say nothing."""


@lru_cache(maxsize=4096)
def width(text: str, size: float) -> float:
    """Points that a text takes, of the font that comes with matplotlib; of one of more than 300 characters, that these
    take."""
    measured = _METRICS.get_text_width_height_descent(
        on_one_line(text)[:_LONGEST], FontProperties(family="DejaVu Sans", size=size), ismath=False
    )
    return float(measured[0])


def fitted(text: str, size: float, room: float) -> str:
    """The text on one line, or its beginning and an ellipsis where it takes more than `room` points."""
    text = on_one_line(text)
    if len(text) <= _LONGEST and width(text, size) <= room:
        return text
    return text[: _characters(text, size, room)] + "…"


def _characters(text: str, size: float, room: float) -> int:
    """How many of the first characters there is room for, with an ellipsis."""
    fit, too_many = 0, min(len(text), _LONGEST)
    while too_many - fit > 1:
        middle = (fit + too_many) // 2
        if width(text[:middle] + "…", size) <= room:
            fit = middle
        else:
            too_many = middle
    return fit


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
    if track.kind is TrackKind.RANGE:
        name = fitted(site.variable, size, room)
        return name if len(name) >= _SHORTEST or not name.endswith("…") else ""
    if track.kind is TrackKind.LAUNCH_CONTROL:
        texts = (answer_text(slot), f"CTA {slot}" if slot >= 0 else "none")
    elif not site.variable:
        texts = (word,)
    elif track.kind is TrackKind.WARP_GROUP and not word.endswith("wait"):
        texts = (f"{word} {site.variable}{index}", word)
    else:
        texts = (f"{site.variable}{index}", index)
    return next((text for each in texts if (text := on_one_line(each)) and width(text, size) <= room), "")


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
