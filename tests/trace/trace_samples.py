"""Traces for tests."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from tlxviz.trace import (
    COLUMNS,
    AgentRow,
    BarrierRow,
    BufferRow,
    Events,
    LaunchTrace,
    SiteRow,
    Trace,
    Track,
    TrackKind,
    events_from_rows,
)


def sample_launch(**changes: Any) -> LaunchTrace:
    """A load warp group that loads once, and a wait for it."""
    values: dict[str, Any] = {
        "kernel": "gemm",
        "grid": (132, 1, 1),
        "cluster": (2, 1, 1),
        "arguments": {"a": "f16[64, 64]", "M": 64, "scale": float("inf"), "causal": True, "bias": None},
        "device": {"name": "h200", "capability": [9, 0], "limits": {"sms": 132}},
        "clock_mhz": 1640.5,
        "cycles": 1234,
        "flop": 2 * 64**3,
        "tracks": [
            Track(TrackKind.WARP_GROUP, "load", 0, 7, 0, 4, 10, 900),
            Track(TrackKind.TMA, "TMA", 0, 7, -1),
            Track(TrackKind.TENSOR_CORE, "tensor core", 0, 7, -1),
        ],
        "agents": [AgentRow("load", "load", 0, 4, 24), AgentRow("mma", "mma", 1, 4)],
        "sites": [
            SiteRow("tma_load", 0, "gemm.py", 12, "a", "ttng.async_tma_copy_global_to_local", 16384),
            SiteRow("wait", 1, "gemm.py", 20, "full_ä", "ttng.wait_barrier"),
        ],
        "barriers": [BarrierRow("full", 3, (1, 1, 1))],
        "buffers": [BufferRow("a", 3, 16384)],
        "events": events_from_rows(
            [
                (0, 0, 10, 58, 0, 0, 0, 0, 16384, -1, -1),
                (1, 0, 58, 700, 0, 0, 0, 0, 16384, 0, -1),
                (0, 1, 20, 744, 0, 0, 0, 0, 0, 1, 1),
            ],
            tuple(COLUMNS),
        ),
        "provenance": {"recorder": "simulated", "versions": {"tlxviz": "1"}, "options": []},
        "metadata": {"shared": 49160},
        "ttgir": "module {}",
        "source": "def gemm(): ...\n",
        "source_file": "gemm.py",
        "source_line": 5,
        "statistics": {"busy": {"tma": 642}, "ctas": [0, 1]},
        "hang": {"waiting": [{"agent": "mma"}]},
        "complete": False,
    }
    return LaunchTrace(**(values | changes))


def sample_trace() -> Trace:
    return Trace([sample_launch(), sample_launch(kernel="other", hang=None)])


def assert_same_events(left: Events, right: Events) -> None:
    assert list(left.columns) == list(right.columns) == list(COLUMNS)
    for name, dtype in COLUMNS.items():
        assert left[name].dtype == right[name].dtype == dtype
        assert np.array_equal(left[name], right[name]), name


def assert_same(left: Trace, right: Trace) -> None:
    assert len(left.launches) == len(right.launches)
    for one, other in zip(left.launches, right.launches, strict=True):
        for field in fields(LaunchTrace):
            if field.name == "events":
                assert_same_events(one.events, other.events)
            else:
                assert getattr(one, field.name) == getattr(other, field.name), field.name
