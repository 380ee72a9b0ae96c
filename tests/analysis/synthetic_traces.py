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


def pipeline(iterations: int = 12, **fields: Any) -> LaunchTrace:
    """A producer and a consumer on a ring of two slots, PERIOD cycles an iteration.

    In each: `load` waits 40 cycles for `empty`, spends 4 + 6 on expect and copy, and is busy for 50. `mma` waits 30 for
    `full`, issues an MMA in 10, waits 50 for it, arrives in 4 and is busy for 6. A copy is in flight for 80, an
    MMA runs 50.
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
            (2, 2, at + 50, at + 130, 0, i, slot, phase, 4096, -1),
            (1, 3, at, at + 30, 0, i, slot, phase, 0, before + 3 if i else -1),
            (1, 4, at + 30, at + 40, 0, i, slot, phase, 0, -1),
            (3, 4, at + 35, at + 85, 0, i, slot, phase, 0, -1),
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
