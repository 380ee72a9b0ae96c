"""Where a kernel's first element that is no number comes from."""

from __future__ import annotations

from tlxviz.check.model import Finding, Place, Severity
from tlxviz.check.order import Standing
from tlxviz.check.schedules import Pace, Schedule
from tlxviz.check.subjects import Subjects
from tlxviz.devices.model import Device
from tlxviz.ir.operation import Operation
from tlxviz.sim.engine import AgentRun
from tlxviz.sim.errors import SimulationError
from tlxviz.sim.kernels import Kernels
from tlxviz.sim.model import CaughtLaunch
from tlxviz.sim.observer import At
from tlxviz.sim.watched import watch_nans

_LOADS = frozenset({"tt.load", "ttg.local_load", "ttng.tmem_load", "tt.descriptor_load"})
"""What gives what memory holds: of shared and tensor memory that products have made, or nobody."""


class _First:
    """Keeps the first operation whose result has one."""

    def __init__(self) -> None:
        pace = Pace(Schedule())
        self.hold, self.lag = pace.hold, pace.lag
        self.found: tuple[Standing, Operation, At] | None = None

    def nan(self, me: AgentRun, op: Operation, at: At) -> None:
        if self.found is None:
            self.found = Standing(me.index, me.cta.index, 0), op, at


def first_nan(launch: CaughtLaunch, device: Device, kernels: Kernels, clusters: tuple[int, ...]) -> Finding | None:
    """The finding for a launch whose outputs are no numbers; None if no operation of a warp group makes one.

    Args:
        launch: The launch, whose outputs are written.
        device: The GPU to simulate.
        kernels: Where its kernel is compiled.
        clusters: Numbers of the clusters to run, where CTAs do not depend on each other.
    """
    first = _First()
    try:
        watch_nans(launch, device, kernels, first, clusters=clusters)
    except SimulationError:
        return None
    if first.found is None:
        return None
    who, op, at = first.found
    program = kernels.program(launch)
    subjects = Subjects(program)
    doing = subjects.doing(op)
    place: Place = subjects.event(f"{doing} gives NaN", who, op, at)
    comes_in = op.name in _LOADS
    return Finding(
        "nan",
        Severity.WARNING,
        program.name,
        f"{place.role}: {doing} is the first that gives NaN, and outputs have some",
        (place,),
        ("it loads them: they are in its memory already",) if comes_in else ("its operands have none",),
        "See what the memory holds that it loads." if comes_in else "See which operands make it: 0/0, inf-inf, 0*inf.",
    )
