"""Runs of a launch with an observer, or with somebody who holds up agents: of as many CTAs as it takes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from tlxviz._version import __version__
from tlxviz.devices.model import Device
from tlxviz.ir.program import Program
from tlxviz.sim.compiler import CompiledKernel
from tlxviz.sim.dispatch import Dispatcher, Outcome, Tracing
from tlxviz.sim.effects import multiplies, shares, takes_over, talks
from tlxviz.sim.errors import HangError
from tlxviz.sim.footprint import footprint
from tlxviz.sim.kernels import CYCLE_LIMIT, Kernels, quiet_process
from tlxviz.sim.limits import check_launch
from tlxviz.sim.model import CaughtLaunch
from tlxviz.sim.observer import NanWatch, Observer, Pacing
from tlxviz.sim.placement import Placement, place
from tlxviz.sim.reach import reach
from tlxviz.sim.record import launch_trace
from tlxviz.sim.unit import Options
from tlxviz.trace.model import LaunchTrace

_MOST = 8
"""Clusters that are watched of a launch whose CTAs have nothing to do with each other."""


def watch(
    launch: CaughtLaunch,
    device: Device,
    kernels: Kernels,
    observer: Observer,
    *,
    clusters: Sequence[int] = (),
    outcome: Outcome | None = None,
) -> Outcome:
    """Runs CTAs of a launch with values off, and tells the observer.

    Args:
        launch: The launch.
        device: The GPU to simulate.
        kernels: Where the launch's kernel is compiled.
        observer: Who is told.
        clusters: Numbers of the clusters to run, where CTAs do not depend on each other; some by default.
        outcome: What to fill, for who wants to know it also when the run ends early; a new one by default.

    Raises:
        HangError: they can never end.
        SimulationError: the kernel does what the simulator, or a GPU, refuses.
    """
    options = Options(False, False, CYCLE_LIMIT, watched=True)
    return _run(launch, device, kernels, observer, options, clusters, outcome or Outcome([], []))


def run_paced(
    launch: CaughtLaunch, device: Device, kernels: Kernels, pacing: Pacing, *, clusters: Sequence[int] = ()
) -> Outcome:
    """Runs CTAs of a launch with values on, so that it writes its outputs, while somebody holds up agents.

    Args and errors are those of `watch`.
    """
    options = Options(True, False, CYCLE_LIMIT, paced=True)
    return _run(launch, device, kernels, pacing, options, clusters, Outcome([], []))


def watch_nans(
    launch: CaughtLaunch, device: Device, kernels: Kernels, watch: NanWatch, *, clusters: Sequence[int] = ()
) -> Outcome:
    """The same, and tells of results of operations with elements that are no numbers."""
    options = Options(True, False, CYCLE_LIMIT, paced=True, nans=True)
    return _run(launch, device, kernels, watch, options, clusters, Outcome([], []))


def trace_paced(
    launch: CaughtLaunch, device: Device, kernels: Kernels, pacing: Pacing, *, clusters: Sequence[int] = ()
) -> LaunchTrace:
    """What the CTAs of the first of these clusters do with values off, while somebody holds up agents.

    Args are those of `watch`. A run that hangs is in the trace until then, with the report.

    Raises:
        SimulationError: the kernel does what the simulator, or a GPU, refuses.
    """
    outcome, stopped = Outcome([], []), None
    try:
        _run(launch, device, kernels, pacing, Options(False, True, CYCLE_LIMIT, paced=True), clusters, outcome)
    except HangError as error:
        stopped = error
    program = kernels.program(launch)
    return launch_trace(
        launch,
        program,
        device,
        outcome,
        per_sm=check_launch(program, launch.metadata, launch.grid, device),
        options={"values": "off", "ctas": [cta.index for cta in outcome.traced]},
        version=__version__,
        hang=None if stopped is None else stopped.report,
        complete=True,
    )


def _run(
    launch: CaughtLaunch,
    device: Device,
    kernels: Kernels,
    pacing: Pacing,
    options: Options,
    clusters: Sequence[int],
    outcome: Outcome,
) -> Outcome:
    program = kernels.program(launch)
    per_sm = check_launch(program, launch.metadata, launch.grid, device)
    total = math.prod(launch.grid)
    placement = place(program.cluster, launch.grid, device)
    arguments = kernels.arguments(launch)
    numbers = _numbers(program, placement, total, clusters)

    def kernel() -> CompiledKernel:
        found = kernels.kernel(launch, options)
        found.bind(watch=pacing)
        return found

    outcome.footprint = footprint(launch, program)
    data = reach(device, outcome.footprint, total, shared=shares(program), multiplies=multiplies(program))
    dispatcher = Dispatcher(program, device, placement, per_sm, data, arguments, kernel, kernel)
    traced = placement.with_mates(numbers[:1]) if options.traced else frozenset[int]()
    with torch.inference_mode(), quiet_process():
        dispatcher.run(numbers, Tracing(traced), lambda done: None, outcome)
    return outcome


def all_matter(program: Program) -> bool:
    """Whether CTAs depend on each other, so that all of them have to run."""
    return talks(program) or takes_over(program)


def _numbers(program: Program, placement: Placement, total: int, clusters: Sequence[int]) -> Sequence[int]:
    """Linear numbers of the CTAs to run: of all where they depend on each other, else of some clusters, the first and
    the last among them."""
    if all_matter(program):
        return range(total)
    chosen = clusters or some_clusters(total // placement.size, _MOST)
    return sorted(number for cluster in chosen for number in placement.members(cluster))


def some_clusters(total: int, most: int) -> list[int]:
    """Numbers of at most so many clusters of `total`, the first and the last among them."""
    if total <= most:
        return list(range(total))
    return [round(position * (total - 1) / max(1, most - 1)) for position in range(most)]
