"""Small traces whose every figure can be worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tlxviz.trace import AgentRow, BarrierRow, BufferRow, LaunchTrace, SiteRow, Track, TrackKind, events_from_rows

PERIOD = 100
"""SM cycles of an iteration of `pipeline`."""

SOURCE = """\
@triton.jit
def pipeline(a, b):
    load(a)
    tlx.barrier_wait(full[slot], phase)
    tlx.barrier_wait(empty[slot], phase)
"""

DEVICE = {"name": "h200", "title": "NVIDIA H200 SXM"}
COLUMNS = ("track", "site", "begin", "end", "outer", "inner", "slot", "phase", "bytes", "released_by")


MEASURED: dict[str, Any] = {
    "recorder": "measured",
    "probe": {
        "slow_down_percent": 0.4,
        "kernel_ms": 3.31,
        "probed_ms": 3.3232,
        "parts": 1,
        "correction_percent": -9.83,
        "recorded_cta_slow_down_percent": 10.9,
        "records": 12345,
        "missing": 0,
    },
}


def launch(
    tracks: list[Track] | None = None,
    sites: list[SiteRow] | None = None,
    rows: list[tuple[int, ...]] | None = None,
    agents: list[AgentRow] | None = None,
    **fields: Any,
) -> LaunchTrace:
    """A launch of these tracks, sites, agents and events (one tuple of `COLUMNS` each)."""
    given: dict[str, Any] = {
        "kernel": "kernel",
        "grid": (1, 1, 1),
        "arguments": {},
        "device": DEVICE,
        "clock_mhz": 1000.0,
        "cycles": 0,
        "flop": 0,
        "barriers": [],
        "buffers": [],
        "provenance": {"recorder": "simulated"},
    }
    return LaunchTrace(
        tracks=tracks or [],
        agents=agents or [],
        sites=sites or [],
        events=events_from_rows(rows or [], COLUMNS),
        **(given | fields),
    )


def pipeline(iterations: int = 12, *, issued: bool = False, **fields: Any) -> LaunchTrace:
    """A producer and a consumer on a ring of two slots, PERIOD cycles an iteration.

    In each: `load` waits 40 cycles for `empty`, spends 4 + 6 on expect and copy, and is busy for 50. `mma` waits 30 for
    `full`, issues an MMA in 10, waits 50 for it, arrives in 4 and is busy for 6. A copy is in flight for 80, an
    MMA runs 50.

    Args:
        issued: Whether the trace says what issued the copies and MMAs.
    """
    end = iterations * PERIOD
    tracks = [
        Track(TrackKind.WARP_GROUP, "load", 0, 0, 0, warps=4, begin=0, end=end),
        Track(TrackKind.WARP_GROUP, "mma", 0, 0, 1, warps=8, begin=0, end=end),
        Track(TrackKind.TMA, "TMA", 0, 0, -1, begin=0, end=end + 30),
        Track(TrackKind.TENSOR_CORE, "tensor core", 0, 0, -1, begin=0, end=end),
    ]
    file = "/somewhere/pipeline.py"
    sites = [
        SiteRow("wait", 0, file, 44, "empty", "ttng.wait_barrier"),
        SiteRow("expect", 0, file, 41, "full", "ttng.barrier_expect", 4096),
        SiteRow("tma_load", 0, file, 42, "a", "ttng.async_tma_copy_global_to_local", 4096),
        SiteRow("wait", 1, file, 43, "full", "ttng.wait_barrier"),
        SiteRow("mma", 1, file, 45, "", "ttng.warp_group_dot"),
        SiteRow("mma_wait", 1, file, 46, "", "ttng.warp_group_dot_wait"),
        SiteRow("arrive", 1, file, 47, "empty", "ttng.arrive_barrier"),
    ]
    rows: list[tuple[int, ...]] = []
    for i in range(iterations):
        at, slot, phase, base = i * PERIOD, i % 2, i // 2 % 2, len(rows)
        before = base - 9 if i else -1
        rows += [
            (0, 0, at, at + 40, 0, i, slot, phase, 0, before + 8 if i else -1),
            (0, 1, at + 40, at + 44, 0, i, slot, phase, 4096, -1),
            (0, 2, at + 44, at + 50, 0, i, slot, phase, 4096, -1),
            (2, 2, at + 50, at + 130, 0, i, slot, phase, 4096, base + 2 if issued else -1),
            (1, 3, at, at + 30, 0, i, slot, phase, 0, before + 3 if i else -1),
            (1, 4, at + 30, at + 40, 0, i, slot, phase, 0, -1),
            (3, 4, at + 35, at + 85, 0, i, slot, phase, 0, base + 5 if issued else -1),
            (1, 5, at + 40, at + 90, 0, i, -1, -1, 0, base + 6),
            (1, 6, at + 90, at + 94, 0, i, slot, phase, 0, -1),
        ]
    given: dict[str, Any] = {
        "kernel": "pipeline",
        "grid": (132, 1, 1),
        "arguments": {"a": "f16[8192, 8192]", "M": 8192, "BLOCK_M": 128, "scale": 0.5, "persistent": True},
        "cycles": 1250,
        "flop": 1_250_000_000,
        "barriers": [BarrierRow("full", 2, (1, 1)), BarrierRow("empty", 2, (1, 1))],
        "buffers": [BufferRow("a", 2, 4096)],
        "source": SOURCE,
        "source_file": file,
        "source_line": 40,
        "statistics": {
            "tensor_core_busy_cycles": 600,
            "tma_busy_cycles": 125,
            "tma_load_bytes": 49152,
            "tma_store_bytes": 0,
            "global_load_bytes": 0,
            "global_store_bytes": 2048,
            "sm_cycles": 1250,
            "ctas": 132,
            "ctas_simulated": 1,
            "ctas_traced": 1,
            "ctas_per_sm": 1,
            "waves": 1,
        },
    }
    agents = [AgentRow("load", "load", 1, 4, 40), AgentRow("mma", "mma", 0, 8, None)]
    return launch(tracks, sites, rows, agents, **(given | fields))


def hung() -> LaunchTrace:
    """`pipeline` after three iterations, when `load` has ended and `mma` waits for a fourth copy."""
    report = {
        "cycle": 5000,
        "cta": 0,
        "waiters": [
            {
                "agent": "mma",
                "operation": "wait",
                "variable": "full",
                "slot": 1,
                "phase": 1,
                "file": "/somewhere/pipeline.py",
                "line": 43,
                "pending": 1,
                "count": 1,
                "missing_bytes": 4096,
                "completed_phases": 1,
                "last_arrival": {"agent": "load", "cycle": 144, "file": "/somewhere/pipeline.py", "line": 42},
                "outer": 0,
                "inner": 3,
                "since": 300,
            }
        ],
        "ended": ["load"],
        "arrivers": [
            {
                "agent": "load",
                "variable": "full",
                "slot": -1,
                "file": "/somewhere/pipeline.py",
                "line": 42,
                "ended": True,
            },
            {
                "agent": "mma",
                "variable": "empty",
                "slot": -1,
                "file": "/somewhere/pipeline.py",
                "line": 44,
                "ended": False,
            },
        ],
    }
    made = pipeline(3, cycles=5000, hang=report)
    made.tracks[1] = replace(made.tracks[1], end=300)
    return made


class Scene:
    """A launch that is told event by event. Engines' tracks come by themselves; times are SM cycles."""

    def __init__(self) -> None:
        self._tracks: list[Track] = []
        self._agents: dict[str, int] = {}
        self._sites: dict[tuple[Any, ...], int] = {}
        self._events: list[tuple[Any, ...]] = []

    def group(self, name: str, begin: int, end: int, *, cta: int = 0, sm: int = 0) -> int:
        """A warp group's track; its number says below whose an event is."""
        agent = self._agents.setdefault(name, len(self._agents))
        self._tracks.append(Track(TrackKind.WARP_GROUP, name, cta, sm, agent, 4, begin, end))
        return len(self._tracks) - 1

    def event(
        self,
        group: int,
        kind: str,
        begin: int,
        end: int,
        *,
        variable: str = "",
        by: int = -1,
        outer: int = -1,
        inner: int = -1,
        slot: int = 0,
        phase: int = 0,
        text: str = "",
        line: int = 0,
    ) -> int:
        """An event on a warp group's track; its number is what `by` means. Sites differ by kind, variable and line."""
        return self._event(group, group, kind, begin, end, variable, by, (outer, inner, slot, phase), text, line)

    def copy(self, group: int, begin: int, end: int, *, by: int, kind: str = "tma_load", **rest: Any) -> int:
        """A copy that the event `by` of a warp group issued."""
        return self._engine(TrackKind.TMA, "TMA", group, kind, begin, end, by, rest)

    def product(self, group: int, begin: int, end: int, *, by: int, **rest: Any) -> int:
        return self._engine(TrackKind.TENSOR_CORE, "tensor core", group, "mma", begin, end, by, rest)

    def _engine(
        self, kind: TrackKind, name: str, group: int, site: str, begin: int, end: int, by: int, rest: dict[str, Any]
    ) -> int:
        cta, sm = self._tracks[group].cta, self._tracks[group].sm
        found = [row for row, each in enumerate(self._tracks) if (each.kind, each.cta) == (kind, cta)]
        if not found:
            found = [len(self._tracks)]
            last = max(each.end for each in self._tracks if each.cta == cta)
            self._tracks.append(Track(kind, name, cta, sm, -1, 0, self._tracks[group].begin, last))
        place = (rest.get("outer", -1), rest.get("inner", -1), rest.get("slot", 0), rest.get("phase", 0))
        words = rest.get("variable", ""), rest.get("text", ""), rest.get("line", 0)
        return self._event(found[0], group, site, begin, end, words[0], by, place, words[1], words[2])

    def _event(
        self,
        track: int,
        group: int,
        kind: str,
        begin: int,
        end: int,
        variable: str,
        by: int,
        place: tuple[int, int, int, int],
        text: str,
        line: int,
    ) -> int:
        key = kind, self._tracks[group].agent, variable, line, text
        site = self._sites.setdefault(key, len(self._sites))
        self._events.append((track, site, begin, end, place, by))
        return len(self._events) - 1

    def launch(self, **fields: Any) -> LaunchTrace:
        """The launch; rows stand by end as in any trace, so that the numbers of events are not their rows."""
        order = sorted(range(len(self._events)), key=lambda each: self._events[each][3])
        place = {-1: -1} | {event: row for row, event in enumerate(order)}
        rows: list[tuple[int, ...]] = []
        for event in order:
            track, site, begin, end, (outer, inner, slot, phase), by = self._events[event]
            rows.append((track, site, begin, end, outer, inner, slot, phase, 0, place[by]))
        sites = [
            SiteRow(kind, agent, "scene.py", line or number + 1, variable, text)
            for number, (kind, agent, variable, line, text) in enumerate(self._sites)
        ]
        agents = [AgentRow(name, "", number, 4) for name, number in self._agents.items()]
        end = max((each.end for each in self._tracks), default=0)
        return launch(self._tracks, sites, rows, agents, **({"cycles": end} | fields))

    def row(self, event: int) -> int:
        """The row of an event in the launch."""
        return sorted(range(len(self._events)), key=lambda each: self._events[each][3]).index(event)
