"""Launches that a page has to show, and the page of some of them."""

from __future__ import annotations

from dataclasses import replace

from analysis.synthetic_traces import launch, pipeline

from tlxviz.exports.html.writer import html
from tlxviz.exports.selection import Selection, cut
from tlxviz.trace import LaunchTrace, SiteRow, Track, TrackKind

HOSTILE = "</script><img src=x onerror=alert(1)>&amp;\u2028'\"${0}{{style}}"


def page_of(*launches: LaunchTrace, selection: Selection | None = None) -> bytes:
    return html([cut(each, number, selection or Selection()) for number, each in enumerate(launches)])


def hostile() -> LaunchTrace:
    """`pipeline` by somebody who names things so that a careless page would run them."""
    plain = pipeline()
    return replace(
        plain,
        kernel=HOSTILE,
        arguments={HOSTILE: HOSTILE},
        source=f"# {HOSTILE}\n" * 8,
        tracks=[replace(each, name=f"{each.name}{HOSTILE}") for each in plain.tracks],
        agents=[replace(each, name=f"{each.name}{HOSTILE}") for each in plain.agents],
        sites=[replace(each, variable=HOSTILE, text=HOSTILE) for each in plain.sites],
    )


def one_event() -> LaunchTrace:
    track = Track(TrackKind.WARP_GROUP, "load", 0, 0, 0, begin=0, end=10)
    site = SiteRow("arrive", 0, "other.py", 3, "full", "ttng.arrive_barrier")
    return launch([track], [site], [(0, 0, 2, 5, -1, -1, 0, 0, 0, -1)], cycles=10)


def dense(count: int = 200_000) -> LaunchTrace:
    """A warp group that waits 3 cycles of 4, without an end: many events on every pixel."""
    track = Track(TrackKind.WARP_GROUP, "load", 0, 0, 0, begin=0, end=4 * count)
    site = SiteRow("wait", 0, "other.py", 3, "full", "ttng.wait_barrier")
    rows = [(0, 0, 4 * at, 4 * at + 3, 0, at, 0, 0, 0, -1) for at in range(count)]
    return launch([track], [site], rows, cycles=4 * count)


def many_lanes(groups: int = 300) -> LaunchTrace:
    tracks = [Track(TrackKind.WARP_GROUP, f"group {at}", 0, 0, 0, begin=0, end=100) for at in range(groups)]
    site = SiteRow("arrive", 0, "other.py", 3, "full", "ttng.arrive_barrier")
    rows = [(at, 0, 10, 90, -1, -1, 0, 0, 0, -1) for at in range(groups)]
    return launch(tracks, [site], rows, cycles=100)


def by_track(of: LaunchTrace) -> list[tuple[int, ...]]:
    """Track, site, begin, end, outer, inner, slot, phase, bytes and released_by of the events, by track and begin."""
    events = of.events
    order = sorted(
        range(len(events)), key=lambda row: tuple(int(events[name][row]) for name in ("track", "begin", "end"))
    )
    place = {row: at for at, row in enumerate(order)} | {-1: -1}
    names = ("track", "site", "begin", "end", "outer", "inner", "slot", "phase", "bytes")
    return [(*(int(events[name][row]) for name in names), place[int(events["released_by"][row])]) for row in order]
