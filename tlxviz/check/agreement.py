"""Whether a launch computes the same under two schedules."""

from __future__ import annotations

from typing import Any

from tlxviz.check.model import Finding, Place, Severity
from tlxviz.check.schedules import Delay, Pace, Schedule
from tlxviz.devices.model import Device
from tlxviz.ir.program import Program
from tlxviz.sim.effects import talks
from tlxviz.sim.errors import SimulationError
from tlxviz.sim.kernels import Kernels, written_tensors
from tlxviz.sim.model import CaughtLaunch
from tlxviz.sim.observer import ENGINES
from tlxviz.sim.record import tensor_of
from tlxviz.sim.watched import run_paced

OTHER = Schedule((Delay("w", 2_000, random=True), *(Delay(engine, 6_000, random=True) for engine in ENGINES)), seed=1)
"""What the usual schedule is compared with."""
_IN_ANY_ORDER = frozenset({"tt.atomic_rmw", "tt.atomic_cas", "ttng.async_tma_reduce"})
"""What makes the order of sums depend on the schedule, and so their last bits."""


def comparable(launch: CaughtLaunch, program: Program) -> bool:
    """Whether two runs have to agree bit for bit, and it is known what they write."""
    return written_tensors(launch, program) is not None and not any(
        op.name in _IN_ANY_ORDER for op in program.module.walk()
    )


def disagreement(launch: CaughtLaunch, device: Device, kernels: Kernels, clusters: tuple[int, ...]) -> Finding | None:
    """A finding if two schedules give different results; the outputs stay as they are.

    Args:
        launch: One that is `comparable`.
        device: The GPU to simulate.
        kernels: Where its kernel is compiled.
        clusters: Numbers of the clusters to run, where CTAs do not depend on each other.
    """
    program = kernels.program(launch)
    outputs = written_tensors(launch, program) or ()
    before = [tensor.clone() for tensor in outputs]
    results: list[list[Any]] = []
    try:
        for schedule in (Schedule(), OTHER):
            run_paced(launch, device, kernels, Pace(schedule), clusters=clusters)
            results.append([tensor.clone() for tensor in outputs])
            for tensor, old in zip(outputs, before, strict=True):
                tensor.copy_(old)
    except SimulationError:
        return None  # a run without values says more of it
    finally:
        kernels.bind(())
        for tensor, old in zip(outputs, before, strict=True):
            tensor.copy_(old)
    for tensor, first, second in zip(outputs, *results, strict=True):
        differ = (first != second) & ~((first != first) & (second != second))
        count = int(differ.sum())
        if count:
            return _finding(launch, program, tensor, first, second, differ, count)
    return None


def _finding(
    launch: CaughtLaunch, program: Program, tensor: Any, first: Any, second: Any, differ: Any, count: int
) -> Finding:
    at = tuple(differ.nonzero()[0].tolist())
    name = next((name for name, value in launch.parameters if tensor_of(value) is tensor), "an output")
    place = Place(f"writes {name}", program.agents[0].name, program.kernel.location, name, -1, -1)
    return Finding(
        "schedule",
        Severity.WARNING if talks(program) else Severity.ERROR,
        program.name,
        f"{name} depends on the schedule: {count:,} of its {tensor.numel():,} elements differ, the first at "
        f"{list(at)}: {first[at].item():g} as usual, and {second[at].item():g} under {OTHER}",
        (place,),
        ("the kernel has no atomic operation that would explain it",),
        "Look for memory that is read before it is complete, or overwritten before it has been read.",
        schedule=str(OTHER),
        facts={"have": count, "need": 0},
    )
