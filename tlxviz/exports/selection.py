"""What of the launches is written: some CTAs, some warp groups, a stretch of time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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


def cuts(launches: Sequence[tuple[int, LaunchTrace]], choose: Callable[[LaunchTrace, int], Selection]) -> list[Cut]:
    """What is chosen of these launches, each with its number, without those of which nothing is.

    `choose` may raise UsageError as well.

    Raises UsageError, which says what there is, where nothing is chosen of any.
    """
    fitting: list[Cut] = []
    misfits: list[UsageError] = []
    for number, launch in launches:
        try:
            fitting.append(cut(launch, number, choose(launch, number)))
        except UsageError as error:
            misfits.append(error)
    if not fitting and misfits:
        raise misfits[0]
    return fitting


def cut(launch: LaunchTrace, number: int, selection: Selection) -> Cut:
    """The chosen tracks of launch `number`, and of their events those that touch the chosen stretch of time.

    The stretch is all cycles before its end: an event that ends as it begins, or begins as it ends, is not in it.
    A launch without tracks has nothing to choose from, and is taken as it is.

    Raises UsageError where there is no such track, or nothing is recorded in the stretch of time or near it.
    """
    chosen = np.array([_is_chosen(track, selection) for track in launch.tracks], dtype=np.bool_)
    if len(chosen) and not chosen.any():
        raise UsageError(_nothing(launch, number, selection))
    first, last = _extent(launch.tracks, launch.events)
    over = max(last, launch.cycles)
    begin, end = selection.cycles
    if (begin is not None and begin >= max(over, 1)) or (end is not None and end <= first):
        stretch = ":".join("" if each is None else str(each) for each in selection.cycles)
        raise UsageError(
            f"launch {number} ({launch.kernel}) has nothing in cycles {stretch}: "
            f"it was recorded from cycle {first} to {last}."
        )
    events = launch.events
    keep = chosen[events["track"]] if len(chosen) else np.ones(len(events), dtype=np.bool_)
    if begin is not None:
        # What takes no time at all is at one cycle.
        keep &= (events["end"] > begin) | (events["begin"] >= begin)
    if end is not None:
        keep &= events["begin"] < end
    rows = None if bool(keep.all()) else np.flatnonzero(keep)
    if rows is not None:
        events = events.take(rows)
    tracks = launch.tracks
    if not chosen.all():
        places = np.cumsum(chosen, dtype=np.int32) - 1
        events = Events({**events.columns, "track": places[events["track"]].astype(np.int32)})
        tracks = [each for each, kept in zip(launch.tracks, chosen, strict=True) if kept]
        first, last = _extent(tracks, events)
    begin = first if begin is None else begin
    return Cut(
        replace(launch, tracks=tracks, events=events),
        number,
        begin,
        max(last, begin) if end is None else min(end, over),
        launch,
        rows,
    )


def _is_chosen(track: Track, selection: Selection) -> bool:
    return (selection.ctas is None or track.cta in selection.ctas) and (
        not selection.roles or any(fnmatchcase(track.name, pattern) for pattern in selection.roles)
    )


def _nothing(launch: LaunchTrace, number: int, selection: Selection) -> str:
    which = f"launch {number} ({launch.kernel})"
    ctas = sorted({track.cta for track in launch.tracks})
    if selection.ctas is not None and not set(ctas) & set(selection.ctas):
        return f"{which} has none of these CTAs: recorded are {_listed(ctas)}."
    names = list(dict.fromkeys(track.name for track in launch.tracks))
    return f"{which} has no track {' or '.join(selection.roles)}: it has {', '.join(names)}."


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
