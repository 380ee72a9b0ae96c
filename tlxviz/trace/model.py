"""The trace: what every recorder writes and every view reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray


class TrackKind(StrEnum):
    WARP_GROUP = "warp_group"
    TMA = "tma"
    TENSOR_CORE = "tensor_core"
    RANGE = "range"
    """Stretches of a warp group's time that the kernel's author named."""
    LAUNCH_CONTROL = "launch_control"
    """The block scheduler's answers to who asks for another CTA's work (CLC)."""


@dataclass(frozen=True, slots=True)
class Track:
    """A row of the timeline: one agent of one CTA."""

    kind: TrackKind
    name: str
    """`load`, `mma.0`, ...; `TMA`, `tensor core` and `CLC` for the engines; `mma.0 ranges`."""
    cta: int
    """Linear CTA number in the grid."""
    sm: int
    agent: int
    """Index of the program's agent; -1 for an engine."""
    warps: int = 0
    begin: int = 0
    """SM cycle at which the agent starts."""
    end: int = 0
    """SM cycle at which it ends."""


@dataclass(frozen=True, slots=True)
class SiteRow:
    """What a view needs to know of a program's site, with no IR at hand."""

    kind: str
    """A `tlxviz.ir.program.SiteKind` value."""
    agent: int
    file: str
    line: int
    variable: str
    text: str
    """The operation's short name, e.g. `ttng.wait_barrier`."""
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class AgentRow:
    name: str
    role: str
    task: int
    warps: int
    registers: int | None = None


@dataclass(frozen=True, slots=True)
class BarrierRow:
    name: str
    slots: int
    counts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class BufferRow:
    name: str
    slots: int
    bytes: int


COLUMNS: dict[str, np.dtype[Any]] = {
    "track": np.dtype("<i4"),
    "site": np.dtype("<i4"),
    "begin": np.dtype("<i8"),
    "end": np.dtype("<i8"),
    "outer": np.dtype("<i4"),
    "inner": np.dtype("<i4"),
    "slot": np.dtype("<i4"),
    "phase": np.dtype("<i4"),
    "bytes": np.dtype("<i8"),
    "released_by": np.dtype("<i8"),
    "peer": np.dtype("<i4"),
}
"""Columns of the event table with their types; docs/trace.md says what each means."""
LATER_COLUMNS = frozenset({"peer"})
"""Those that files of format 1.0 lack: there, nothing is known of them."""


@dataclass(eq=False, slots=True)
class Events:
    """Events of one launch: one numpy column per field of `COLUMNS`, all of the same length, ordered by `end`."""

    columns: Mapping[str, NDArray[Any]]

    def __len__(self) -> int:
        return len(self.columns["begin"])

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.columns[name]

    def take(self, rows: NDArray[np.intp]) -> Events:
        """The events of these row numbers, none twice, in this order.

        `released_by` follows the rows to their new places, and is -1 where the releasing event was left out.
        """
        count = len(self)
        # One place more than rows: index -1, "nothing released it", finds the -1 at the end.
        places = np.full(count + 1, -1, dtype=np.int64)
        places[rows] = np.arange(len(rows))
        columns = {name: column[rows] for name, column in self.columns.items()}
        columns["released_by"] = places[columns["released_by"]]
        return Events(columns)

    def select(self, mask: NDArray[np.bool_]) -> Events:
        """The events for which `mask` holds; `released_by` as in `take`."""
        return self.take(np.flatnonzero(mask))

    def in_order(self) -> Events:
        """The events by `end`, those of one cycle as they stand: the order that a trace has."""
        end = self.columns["end"]
        if len(end) < 2 or bool((end[1:] >= end[:-1]).all()):
            return self
        return self.take(np.argsort(end, kind="stable"))

    @staticmethod
    def concat(parts: Sequence[Events]) -> Events:
        """All events of the parts, one part after the other; `released_by` goes on meaning the event it meant."""
        columns = {
            name: np.concatenate([part[name] for part in parts]) if parts else np.empty(0, dtype)
            for name, dtype in COLUMNS.items()
        }
        released_by = columns["released_by"]
        first = 0
        for part in parts:
            rows = released_by[first : first + len(part)]
            rows[rows >= 0] += first
            first += len(part)
        return Events(columns)


@dataclass(eq=False, slots=True)
class LaunchTrace:
    """One kernel launch."""

    kernel: str
    grid: tuple[int, int, int]
    arguments: dict[str, Any]
    """Arguments and meta-parameters for display: name to int, float, bool, or text such as `f16[8192, 8192]`."""
    device: dict[str, Any]
    """Name and figures of the device: what `Device.to_manifest()` gives."""
    clock_mhz: float
    """SM clock by which cycles become time."""
    cycles: int
    """Predicted or measured duration of the whole launch in SM cycles, all CTAs."""
    flop: int
    """Floating-point operations of all MMAs of the launch; 0 when unknown."""
    tracks: list[Track]
    agents: list[AgentRow]
    sites: list[SiteRow]
    barriers: list[BarrierRow]
    buffers: list[BufferRow]
    events: Events
    provenance: dict[str, Any]
    """`recorder` ("simulated" or "measured"), `versions`, `options`; no date, no path: equal runs give equal bytes."""
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])
    """What the compiler reported: shared memory, warps, registers, ..."""
    ttgir: str = ""
    source: str = ""
    """The kernel's Python source."""
    source_file: str = ""
    source_line: int = 1
    """Line of the first line of `source` in its file."""
    statistics: dict[str, Any] = field(default_factory=dict[str, Any])
    """Recorder's totals: cycles that each unit was busy on the traced SMs, bytes moved, CTAs run, ..."""
    hang: dict[str, Any] | None = None
    """The hang report, if the launch never ended."""
    complete: bool = True
    """False when recording was interrupted."""
    cluster: tuple[int, int, int] = (1, 1, 1)
    """CTAs of a cluster along each axis of the grid, which they divide."""


@dataclass(eq=False, slots=True)
class Trace:
    launches: list[LaunchTrace] = field(default_factory=list[LaunchTrace])
