"""A ring of two slots in which every time can be worked out by hand, and what it takes to look at it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from analysis.synthetic_traces import launch

from tlxviz.trace import AgentRow, BarrierRow, BufferRow, LaunchTrace, SiteRow, Trace, Track, TrackKind
from tlxviz.tui.app import TimelineApp
from tlxviz.tui.timeline import Timeline

PERIOD = 100
SITES = [
    SiteRow("wait", 0, "ring.py", 1, "empty", "ttng.wait_barrier"),
    SiteRow("expect", 0, "ring.py", 2, "full", "ttng.barrier_expect", 4096),
    SiteRow("tma_load", 0, "ring.py", 3, "a", "ttng.async_tma_copy_global_to_local", 4096),
    SiteRow("wait", 1, "ring.py", 4, "full", "ttng.wait_barrier"),
    SiteRow("mma", 1, "ring.py", 5, "", "ttng.warp_group_dot"),
    SiteRow("arrive", 1, "ring.py", 6, "empty", "ttng.arrive_barrier"),
]
EMPTY, EXPECT, LOAD, FULL, MMA, ARRIVE = range(len(SITES))


def ring(iterations: int = 4, ctas: int = 1) -> LaunchTrace:
    """`load` fills a slot in each iteration of PERIOD cycles, `mma` reads it.

    Iteration i is about slot i % 2, and completes phase i // 2 of its barriers. From its start, `load` waits until 10
    for `empty`, expects until 14, and issues a copy until 20, which is in flight until 90. `mma` waits from 20 until
    95 for `full`, issues an MMA until 100, and arrives from 110 to 114. The tensor core runs from 96 to 146.
    """
    tracks: list[Track] = []
    rows: list[tuple[int, ...]] = []
    end = (iterations + 1) * PERIOD
    for cta in range(ctas):
        first = len(tracks)
        tracks += [
            Track(TrackKind.WARP_GROUP, "load", cta, cta, 0, begin=0, end=iterations * PERIOD),
            Track(TrackKind.WARP_GROUP, "mma", cta, cta, 1, begin=0, end=end),
            Track(TrackKind.TMA, "TMA", cta, cta, -1, begin=0, end=end),
            Track(TrackKind.TENSOR_CORE, "tensor core", cta, cta, -1, begin=0, end=end),
        ]
        start = len(rows)
        for i in range(iterations):
            at, slot, n, base = i * PERIOD, i % 2, i // 2, len(rows)
            freed = start + (i - 2) * 8 + 6 if i >= 2 else -1
            rows += [
                (first, EMPTY, at, at + 10, i, i, slot, (n + 1) % 2, 0, freed),
                (first, EXPECT, at + 10, at + 14, i, i, slot, n, 4096, -1),
                (first, LOAD, at + 14, at + 20, i, i, slot, n, 4096, -1),
                (first + 2, LOAD, at + 20, at + 90, i, i, slot, n, 4096, base + 2),
                (first + 1, FULL, at + 20, at + 95, i, i, slot, n % 2, 0, base + 3),
                (first + 1, MMA, at + 95, at + 100, i, i, slot, -1, 0, -1),
                (first + 1, ARRIVE, at + 110, at + 114, i, i, slot, n, 0, -1),
                (first + 3, MMA, at + 96, at + 146, i, i, slot, -1, 0, base + 5),
            ]
    agents = [AgentRow("load", "load", 1, 4, 40), AgentRow("mma", "mma", 0, 8, None)]
    barriers = [BarrierRow("full", 2, (1, 1)), BarrierRow("empty", 2, (1, 1))]
    return launch(tracks, list(SITES), rows, agents, barriers=barriers, buffers=[BufferRow("a", 2, 4096)], cycles=end)


def event(trace: LaunchTrace, track: int, site: int, iteration: int) -> int:
    """The row of an event."""
    of = trace.events
    for row in range(len(of)):
        if (of["track"][row], of["site"][row], of["inner"][row]) == (track, site, iteration):
            return row
    raise LookupError


async def look(
    trace: LaunchTrace, size: tuple[int, int], then: Callable[[TimelineApp, object], Awaitable[None]] | None = None
) -> list[str]:
    """The timeline's lines when it has the whole terminal, after something was done to it."""
    app = TimelineApp(Trace([trace]))
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        app.query_one("#drawer").add_class("hidden")
        await pilot.pause()
        if then:
            await then(app, pilot)
            await pilot.pause()
        timeline = app.query_one(Timeline)
        return [timeline.render_line(y).text for y in range(timeline.size.height)]
