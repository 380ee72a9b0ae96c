"""What of a launch is written: some CTAs, some warp groups, a stretch of time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

import numpy as np

from tlxviz._errors import UsageError
from tlxviz.exports.model import Cut
from tlxviz.trace.model import Events, LaunchTrace, Track


@dataclass(frozen=True, slots=True)
class Selection:
    ctas: tuple[int, ...] | None = None
    """Linear numbers; None for all."""
    roles: tuple[str, ...] = ()
    """Patterns of names of tracks, such as `mma*` or `TMA`; none for all."""
    cycles: tuple[int | None, int | None] = (None, None)
    """SM cycles from, and before which; None where the launch begins or ends."""


def cut(launch: LaunchTrace, number: int, selection: Selection) -> Cut:
    """The chosen tracks of launch `number`, and of their events those that touch the chosen stretch of time.

    Raises UsageError where there is no such track.
    """
    chosen = [_is_chosen(track.cta, track.name, selection) for track in launch.tracks]
    if launch.tracks and not any(chosen):
        raise UsageError(_nothing(launch, number, selection))
    track = launch.events["track"]
    begin, end = selection.cycles
    keep = np.array(chosen, dtype=bool)[track]
    if begin is not None:
        keep &= launch.events["end"] >= begin
    if end is not None:
        keep &= launch.events["begin"] <= end
    events = launch.events if bool(keep.all()) else launch.events.select(keep)
    if not all(chosen):
        places = np.cumsum(chosen, dtype=np.int32) - 1
        events = Events({**events.columns, "track": places[events["track"]]})
    tracks = [each for each, kept in zip(launch.tracks, chosen, strict=True) if kept]
    first, last = _extent(tracks, events)
    return Cut(
        replace(launch, tracks=tracks, events=events),
        number,
        begin if begin is not None else first,
        end if end is not None else max(last, begin or last),
        None if all(chosen) and len(events) == len(launch.events) else launch,
    )


def _is_chosen(cta: int, name: str, selection: Selection) -> bool:
    return (selection.ctas is None or cta in selection.ctas) and (
        not selection.roles or any(fnmatchcase(name, pattern) for pattern in selection.roles)
    )


def _nothing(launch: LaunchTrace, number: int, selection: Selection) -> str:
    names = list(dict.fromkeys(track.name for track in launch.tracks))
    ctas = sorted({track.cta for track in launch.tracks})
    if selection.ctas is not None and not set(ctas) & set(selection.ctas):
        return f"launch {number} ({launch.kernel}) has no CTA of those: recorded are {_listed(ctas)}."
    return f"launch {number} ({launch.kernel}) has no track {' or '.join(selection.roles)}: it has {', '.join(names)}."


def _listed(numbers: Sequence[int]) -> str:
    shown = ", ".join(map(str, numbers[:8]))
    return f"{shown} and {len(numbers) - 8} more" if len(numbers) > 8 else shown


def _extent(tracks: Sequence[Track], events: Events) -> tuple[int, int]:
    """The first and the last cycle of tracks and events; 0 and 0 where there are none."""
    begins = [track.begin for track in tracks]
    ends = [track.end for track in tracks]
    if len(events):
        begins.append(int(events["begin"].min()))
        ends.append(int(events["end"].max()))
    return min(begins, default=0), max(ends, default=0)
