"""Waits that a launch hung in. No event of the trace stands for them, since they have no end."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tlxviz.analysis.hang import hang_of
from tlxviz.exports.model import Cut
from tlxviz.trace.build import events_from_columns
from tlxviz.trace.model import COLUMNS, Events, LaunchTrace, SiteRow, TrackKind


def with_waiters(cut: Cut) -> tuple[LaunchTrace, int]:
    """The launch with an event more for each chosen warp group that waits for ever, and how many these are.

    They stand behind all others, whatever their times are, and last until nothing could go on any more.
    """
    launch = cut.launch
    hang = hang_of(launch)
    if hang is None:
        return launch, 0
    cycle = hang.cycle or 0
    tracks = {
        (track.name, track.cta): row for row, track in enumerate(launch.tracks) if track.kind == TrackKind.WARP_GROUP
    }
    sites: list[SiteRow] = []
    rows: list[dict[str, int]] = []
    for waiter in hang.waiters:
        cta = hang.cta or 0 if waiter.cta is None else waiter.cta
        row = tracks.get((waiter.agent, cta))
        since = cycle if waiter.since is None else waiter.since
        end = max(since, cycle)
        if row is None or since > cut.end or end < cut.begin:
            continue
        site = SiteRow(
            waiter.operation or "wait",
            launch.tracks[row].agent,
            waiter.file,
            waiter.line or -1,
            waiter.variable,
            "",
        )
        places = {"outer": waiter.outer, "inner": waiter.inner, "slot": waiter.slot, "phase": waiter.phase}
        rows.append(
            {"track": row, "site": len(launch.sites) + len(sites), "begin": since, "end": end}
            | {name: -1 if place is None else place for name, place in places.items()}
        )
        sites.append(site)
    if not rows:
        return launch, 0
    columns = {name: np.array([row[name] for row in rows], dtype=np.int64) for name in rows[0]}
    more = events_from_columns(columns)
    events = Events({name: np.concatenate([launch.events[name], more[name]]) for name in COLUMNS})
    return replace(launch, sites=[*launch.sites, *sites], events=events), len(rows)
