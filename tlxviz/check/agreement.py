"""Whether a launch computes the same under several schedules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tlxviz.check.model import Finding, Place, Severity
from tlxviz.check.nans import first_nan
from tlxviz.check.schedules import Delay, Pace, Schedule, engines_of
from tlxviz.devices.model import Device
from tlxviz.ir.program import Program
from tlxviz.sim.comparison import first_difference, same
from tlxviz.sim.effects import talks
from tlxviz.sim.errors import SimulationError
from tlxviz.sim.kernels import Kernels, written_tensors
from tlxviz.sim.model import CaughtLaunch
from tlxviz.sim.record import tensor_of
from tlxviz.sim.runtime.tensors import has_nan
from tlxviz.sim.watched import run_paced

_APART = 1_500
"""Cycles before each operation by which one warp group is slower than the next."""
_IN_ANY_ORDER = frozenset({"tt.atomic_rmw", "tt.atomic_cas", "ttng.async_tma_reduce"})
"""What makes the order of sums depend on the schedule, and so their last bits."""


def comparable(launch: CaughtLaunch, program: Program) -> bool:
    """Whether two runs have to agree bit for bit, and it is known what they write."""
    return written_tensors(launch, program) is not None and not any(
        op.name in _IN_ANY_ORDER for op in program.module.walk()
    )


def disagreement(launch: CaughtLaunch, device: Device, kernels: Kernels, clusters: tuple[int, ...]) -> Finding | None:
    """A finding if results are no numbers, or if a schedule gives others than the usual one; outputs stay as they are.

    Args:
        launch: One that is `comparable`.
        device: The GPU to simulate.
        kernels: Where its kernel is compiled.
        clusters: Numbers of the clusters to run, where CTAs do not depend on each other.
    """
    program = kernels.program(launch)
    outputs = written_tensors(launch, program) or ()
    before = [tensor.clone() for tensor in outputs]
    usual: list[Any] = []
    try:
        for schedule in (Schedule(), *_turned(program)):
            run_paced(launch, device, kernels, Pace(schedule), clusters=clusters)
            if not usual:
                usual = [tensor.clone() for tensor in outputs]
                made = any(map(has_nan, outputs))
                _restore(outputs, before)
                if made and not _has_nans(launch):
                    return first_nan(launch, device, kernels, clusters)
                continue
            for tensor, first in zip(outputs, usual, strict=True):
                if not same(first, tensor):
                    return _finding(launch, program, schedule, tensor, first, tensor.clone())
            _restore(outputs, before)
    except SimulationError:
        return None  # a run without values says more of it
    finally:
        kernels.bind(())
        _restore(outputs, before)
    return None


def _turned(program: Program) -> Iterator[Schedule]:
    """Two schedules in which any two warp groups are slow in another order, and engines late."""
    last = len(program.agents) - 1
    late = [Delay(engine, 6_000, random=True) for engine in engines_of(program)]
    for seed, places in enumerate((range(last + 1), range(last, -1, -1))):
        slow = [Delay(f"w{agent}", _APART * place) for agent, place in enumerate(places) if place]
        yield Schedule((*slow, *late), seed)


def _has_nans(launch: CaughtLaunch) -> bool:
    """Whether some of the launch's tensors hold what is no number before it."""
    tensors = [tensor_of(value) for _, value in launch.parameters]
    return any(has_nan(tensor) for tensor in tensors if tensor is not None)


def _restore(outputs: Sequence[Any], before: Sequence[Any]) -> None:
    for tensor, old in zip(outputs, before, strict=True):
        tensor.copy_(old)


def _finding(
    launch: CaughtLaunch, program: Program, schedule: Schedule, tensor: Any, first: Any, second: Any
) -> Finding:
    at, count = first_difference(first, second)
    name = next((name for name, value in launch.parameters if tensor_of(value) is tensor), "an output")
    place = Place(f"writes {name}", program.agents[0].name, program.kernel.location, name, -1, -1)
    return Finding(
        "schedule",
        Severity.WARNING if talks(program) else Severity.ERROR,
        program.name,
        f"{name} depends on the schedule: {count:,} of its {tensor.numel():,} elements differ, the first at "
        f"{list(at)}: {float(first[at]):g} as usual, and {float(second[at]):g} under {schedule}",
        (place,),
        ("the kernel has no atomic operation that would explain it",),
        "Look for memory that is read before it is complete, or overwritten before it has been read.",
        schedule=str(schedule),
        facts={"have": count, "need": 0},
    )
