"""A plan carried out on one launch: what was built, launched and measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tlxviz.ir.program import Program
from tlxviz.probe.assemble import Part
from tlxviz.probe.build import ProbingStages
from tlxviz.probe.memory import Memory
from tlxviz.probe.plan import Plan
from tlxviz.probe.points import Point
from tlxviz.sim.model import CaughtLaunch
from tlxviz.sim.replay import Replayed


@dataclass(eq=False, slots=True)
class Attempt:
    """One plan, its builds, and what their launches left."""

    plan: Plan
    builds: Sequence[ProbingStages]
    """The compiler's stages of each part."""
    usual: ProbingStages
    """Those of the build that is launched with nothing recorded, for the lengths of CTAs."""
    host: CaughtLaunch
    """The launch of the marked kernel, with parameters in the host's memory."""
    program: Program
    """The marked kernel."""
    points: Sequence[Point]
    replayed: Replayed
    memory: Memory
    late: bool = False
    """Whether CTAs write their headers when they end."""
    parts: list[Part] = field(default_factory=list[Part])
    """What was recorded."""
    kernel: Any = None
    """What the last launch returned."""
    lengths: NDArray[np.int64] | None = None
    """SM cycles that each CTA takes where nothing is recorded; None if the launch cannot be repeated."""
    references: Sequence[NDArray[np.void]] = ()
    """Headers of launches in which nothing was recorded."""
    plain_ms: float = 0.0
    """Median time of the kernel as the program launches it."""
    part_ms: Sequence[float] = ()
    """Median time of each part, with its probes."""
    rounds: int = 0
    """Launches that the medians are of."""

    @property
    def one_wave(self) -> bool:
        """Whether no CTA waited for another to end."""
        return all(int(each["start_ns"].max()) <= int(each["end_ns"].min()) for each in self.references)

    @property
    def probed_ms(self) -> float:
        """Median time with probes; of the slowest part."""
        return max(self.part_ms, default=0.0)

    @property
    def slow_down(self) -> float:
        """Of the kernel; 0.01 is a hundredth."""
        return max(self.slow_downs, default=0.0)

    @property
    def slow_downs(self) -> list[float]:
        """That of each part."""
        return [each / self.plain_ms - 1 for each in self.part_ms]
