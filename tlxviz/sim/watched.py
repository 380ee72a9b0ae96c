"""Runs of a launch with an observer: with values off as a rule, of as many CTAs as it takes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from tlxviz.devices.model import Device
from tlxviz.ir.program import Program
from tlxviz.sim.dispatch import Dispatcher, Outcome, Tracing
from tlxviz.sim.effects import multiplies, shares, takes_over, talks
from tlxviz.sim.kernels import CYCLE_LIMIT, Kernels, quiet_process
from tlxviz.sim.limits import check_launch
from tlxviz.sim.model import CaughtLaunch
from tlxviz.sim.observer import Observer
from tlxviz.sim.placement import Placement, place
from tlxviz.sim.reach import reach
from tlxviz.sim.record import footprint
from tlxviz.sim.unit import Options

_MOST = 8
"""Clusters that are watched of a launch whose CTAs have nothing to do with each other."""


def watch(
    launch: CaughtLaunch,
    device: Device,
    kernels: Kernels,
    observer: Observer,
    *,
    clusters: Sequence[int] | None = None,
    values: bool = False,
    outcome: Outcome | None = None,
    traced: bool = False,
) -> Outcome:
    """Runs CTAs of a launch, and tells the observer.

    Args:
        launch: The launch.
        device: The GPU to simulate.
        kernels: Where the launch's kernel is compiled.
        observer: Who is told.
        clusters: Numbers of the clusters to run, where CTAs do not depend on each other; some by default.
        values: Whether tensors are computed; the launch's outputs are then written.
        outcome: What to fill, for who wants to know it also when the run ends early; a new one by default.
        traced: Whether events of the first cluster are recorded.

    Raises:
        HangError: they can never end.
        SimulationError: the kernel does what the simulator, or a GPU, refuses.
    """
    program = kernels.program(launch)
    per_sm = check_launch(program, launch.metadata, launch.grid, device)
    total = math.prod(launch.grid)
    placement = place(program.cluster, launch.grid, device)
    arguments = kernels.arguments(launch)
    numbers = _numbers(program, placement, total, clusters)

    def watched():
        kernel = kernels.kernel(launch, Options(values, traced, CYCLE_LIMIT, watched=True))
        kernel.bind(watch=observer)
        return kernel

    data = reach(device, footprint(launch), total, shared=shares(program), multiplies=multiplies(program))
    dispatcher = Dispatcher(program, device, placement, per_sm, data, arguments, watched, watched)
    result = outcome if outcome is not None else Outcome([], [])
    tracing = Tracing(placement.with_mates(numbers[:1])) if traced else Tracing()
    with torch.inference_mode(), quiet_process():
        dispatcher.run(numbers, tracing, lambda done: None, result)
    return result


def all_matter(program: Program) -> bool:
    """Whether CTAs depend on each other, so that all of them have to run."""
    return talks(program) or takes_over(program)


def _numbers(
    program: Program, placement: Placement, total: int, clusters: Sequence[int] | None
) -> Sequence[int]:
    """Linear numbers of the CTAs to run: of all where they depend on each other, else of some clusters, the first and
    the last among them."""
    if all_matter(program):
        return range(total)
    if clusters is None:
        clusters = some_clusters(total // placement.size, _MOST)
    return sorted(number for cluster in clusters for number in placement.members(cluster))


def some_clusters(total: int, most: int) -> list[int]:
    """Numbers of at most so many clusters of `total`, the first and the last among them."""
    if total <= most:
        return list(range(total))
    return [round(position * (total - 1) / max(1, most - 1)) for position in range(most)]
