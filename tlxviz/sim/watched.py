"""Runs of a launch with an observer: with values off, of as many CTAs as it takes."""

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


def watch(launch: CaughtLaunch, device: Device, kernels: Kernels, observer: Observer) -> Outcome:
    """Runs CTAs of a launch, and tells the observer.

    Raises:
        HangError: they can never end.
        SimulationError: the kernel does what the simulator, or a GPU, refuses.
    """
    program = kernels.program(launch)
    per_sm = check_launch(program, launch.metadata, launch.grid, device)
    total = math.prod(launch.grid)
    placement = place(program.cluster, launch.grid, device)
    arguments = kernels.arguments(launch)

    def watched():
        kernel = kernels.kernel(launch, Options(False, False, CYCLE_LIMIT, watched=True))
        kernel.bind(watch=observer)
        return kernel

    data = reach(device, footprint(launch), total, shared=shares(program), multiplies=multiplies(program))
    dispatcher = Dispatcher(program, device, placement, per_sm, data, arguments, watched, watched)
    outcome = Outcome([], [])
    with torch.inference_mode(), quiet_process():
        dispatcher.run(_numbers(program, placement, total), Tracing(), lambda done: None, outcome)
    return outcome


def _numbers(program: Program, placement: Placement, total: int) -> Sequence[int]:
    """Linear numbers of the CTAs to run: of all where they depend on each other, else of some clusters, the first and
    the last among them."""
    if talks(program) or takes_over(program) or total <= _MOST * placement.size:
        return range(total)
    clusters = list(dict.fromkeys(map(placement.cluster_of, range(total))))
    step = (len(clusters) - 1) / (_MOST - 1)
    chosen = dict.fromkeys(clusters[round(position * step)] for position in range(_MOST))
    return sorted(number for cluster in chosen for number in placement.members(cluster))
