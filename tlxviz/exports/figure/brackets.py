"""The iterations that a figure brackets: those of the warp group that sets the pace of its first CTA."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tlxviz.analysis.iterations import Iterations, end_of_last, loop_iterations
from tlxviz.analysis.occupation import occupation
from tlxviz.analysis.pace import by_pace
from tlxviz.exports.model import Cut
from tlxviz.trace.model import Events, LaunchTrace

Int64 = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Bracket:
    begin: float
    """SM cycle."""
    end: float
    label: str
    """The iteration's number; `2:14` where the outer loop goes on as well, its number first."""
    from_begin: bool
    """Whether the iteration begins here, and not before what is shown."""
    to_end: bool


@dataclass(frozen=True, slots=True)
class Brackets:
    agent: str
    """Whose iterations."""
    brackets: tuple[Bracket, ...]


def brackets(cut: Cut) -> Brackets:
    """Of the stretch that is shown, and of the warp group that sets the pace, or of one whose iteration begins with it.

    None where nothing iterates.
    """
    if not cut.launch.tracks:
        return Brackets("", ())
    cta = min(track.cta for track in cut.launch.tracks)
    launch = _at_all_times(cut, cta)
    occupied = occupation(launch)
    loops = [(row, loop_iterations(launch, occupied, row)) for row in by_pace(launch, occupied, cta)]
    loops = [(row, loop) for row, loop in loops if len(loop)]
    if not loops:
        return Brackets("", ())
    row, loop = next((each for each in loops if bool((each[1].begin == cut.begin).any())), loops[0])
    first = int(occupied.begin[occupied.of_track(row)][0])
    ends = np.array(
        [
            end if end >= 0 else end_of_last(launch, occupied, row, place)
            for end, place in zip(loop.end.tolist(), loop.first.tolist(), strict=True)
        ],
        np.int64,
    )
    inside: list[int] = np.flatnonzero((loop.begin < cut.end) & (ends > cut.begin)).tolist()
    several = len(set(loop.outer[inside].tolist())) > 1 and bool((loop.outer != loop.inner).any())
    made = tuple(_made(cut, loop, ends, number, several=several, first=first) for number in inside)
    return Brackets(launch.tracks[row].name, made)


def _at_all_times(cut: Cut, cta: int) -> LaunchTrace:
    """The tracks of a CTA that are shown, with all of their events: an iteration ends where the next begins."""
    whole = cut.whole or cut.launch
    shown = {id(track) for track in cut.launch.tracks if track.cta == cta}
    chosen = np.array([id(track) in shown for track in whole.tracks], np.bool_)
    places = np.cumsum(chosen, dtype=np.int32) - 1
    events = whole.events.select(chosen[whole.events["track"]])
    tracks = [track for track in whole.tracks if id(track) in shown]
    return replace(
        whole, tracks=tracks, events=Events({**events.columns, "track": places[events["track"]].astype(np.int32)})
    )


def _made(cut: Cut, loop: Iterations, ends: Int64, number: int, *, several: bool, first: int) -> Bracket:
    begin, end = int(loop.begin[number]), int(ends[number])
    inner, outer = int(loop.inner[number]), int(loop.outer[number])
    # what came before the first event that was kept is not known
    whole = cut.begin <= begin and (number > 0 or begin > first or begin == cut.begin or inner == 0)
    known = int(loop.end[number]) >= 0
    return Bracket(
        begin if whole else cut.begin,
        min(end, cut.end),
        f"{outer}:{inner}" if several else str(inner),
        whole,
        known and end <= cut.end,
    )
