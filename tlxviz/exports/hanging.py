"""Waits that a launch hung in. No event of the trace stands for them, since they have no end."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tlxviz.exports.model import Cut
from tlxviz.trace.build import events_from_columns
from tlxviz.trace.model import COLUMNS, Events, LaunchTrace, SiteRow, TrackKind


def with_waiters(cut: Cut) -> tuple[LaunchTrace, int]:
    """The launch with an event more for each chosen warp group that waits for ever, and how many these are.

    They stand behind all others, whatever their times are, and last until nothing could go on any more.
    """
    launch = cut.launch
    hang = launch.hang or {}
    waiters: list[dict[str, Any]] = hang.get("waiters", [])
    cycle = int(hang.get("cycle", 0))
    tracks = {
        (track.name, track.cta): row for row, track in enumerate(launch.tracks) if track.kind == TrackKind.WARP_GROUP
    }
    sites: list[SiteRow] = []
    rows: list[dict[str, int]] = []
    for waiter in waiters:
        row = tracks.get((str(waiter.get("agent")), int(waiter.get("cta", hang.get("cta", 0)))))
        since = int(waiter.get("since", cycle))
        end = max(since, cycle)
        if row is None or since > cut.end or end < cut.begin:
            continue
        site = SiteRow(
            str(waiter.get("operation", "wait")),
            launch.tracks[row].agent,
            str(waiter.get("file", "")),
            int(waiter.get("line", -1)),
            str(waiter.get("variable", "")),
            "",
        )
        rows.append(
            {"track": row, "site": len(launch.sites) + len(sites), "begin": since, "end": end}
            | {name: int(waiter.get(name, -1)) for name in ("outer", "inner", "slot", "phase")}
        )
        sites.append(site)
    if not rows:
        return launch, 0
    columns = {name: np.array([row[name] for row in rows], dtype=np.int64) for name in rows[0]}
    more = events_from_columns(columns)
    events = Events({name: np.concatenate([launch.events[name], more[name]]) for name in COLUMNS})
    return replace(launch, sites=[*launch.sites, *sites], events=events), len(rows)
