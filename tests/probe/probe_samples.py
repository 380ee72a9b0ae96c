"""Records, recorded launches, and a second way to read them that shares no code with the first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from streams_file import Streams, load

from tlxviz.devices.file import load_device
from tlxviz.devices.model import Device
from tlxviz.ir import load_program
from tlxviz.ir.program import Program
from tlxviz.probe.assemble import Assembled, Assembler, Part
from tlxviz.probe.build import unmarked
from tlxviz.probe.plan import Plan
from tlxviz.probe.points import Point
from tlxviz.sim.placement import place
from tlxviz.sim.replay import CtaReplay, Replayed, replay


def ring_of(times: Any, points: Any, begins: Any) -> NDArray[np.uint32]:
    """What a warp writes that passes `points` at `times`; `begins` says which of them begin a block of code."""
    records = [
        (int(time) + ((int(point) % 255 + 1) << 24 if first else 0)) % (1 << 32)
        for time, point, first in zip(times, points, begins, strict=True)
    ]
    return np.array([*records, *[0] * 32], np.uint32)


def times_one_by_one(ring: Sequence[int] | NDArray[np.uint32], points: Sequence[int], start: int) -> list[int]:
    """The clock at each point: the least that is not before the last and has the record's lower 24 bits."""
    times: list[int] = []
    now = start
    for record, point in zip((int(each) for each in ring), points, strict=False):
        now += (record - now) % (1 << 24)
        tag = ((record - now) % (1 << 32)) >> 24
        assert tag in (0, point % 255 + 1), f"record {len(times)} says {tag - 1}, not {point}"
        times.append(now)
    return times


@dataclass
class Recorded:
    """A launch that was recorded on an H200, and what it takes to put it together."""

    streams: Streams
    replayed: Replayed
    points: list[Point]
    plan: Plan

    @property
    def program(self) -> Program:
        return self.replayed.program

    @property
    def cta(self) -> CtaReplay:
        return self.replayed.ctas[0]

    @property
    def sites(self) -> int:
        return len(self.program.sites)

    @property
    def names(self) -> list[str]:
        """Of the runs of warp groups, in the order in which they began."""
        return [self.program.agents[agent.agent].name for agent in self.cta.agents]

    def assembler(self, *, correction: bool = True) -> Assembler:
        return Assembler(
            self.program,
            self.points,
            self.plan,
            device(),
            self.replayed,
            place(self.program.cluster, self.streams.grid, device()),
            self.streams.lengths if correction else None,
        )

    def assembled(self, parts: Sequence[Part] | None = None, *, correction: bool = True) -> Assembled:
        return self.assembler(correction=correction).assemble(self.streams.parts if parts is None else parts)


@cache
def device() -> Device:
    return load_device("h200")


@cache
def recorded(name: str) -> Recorded:
    streams = load(name)
    launch: Any = streams
    replayed = replay(launch, device(), (0,))
    points = streams.plan.points(load_program(unmarked(streams.ttgir), "<TTGIR>"))
    return Recorded(streams, replayed, points, streams.plan)
