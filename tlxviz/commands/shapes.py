"""`tlxviz check --explore`: the script once more, with other sizes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from tlxviz._errors import TlxvizError
from tlxviz.commands.backend import SimulatorBackend
from tlxviz.commands.shape_worker import Answer, Job, Worker
from tlxviz.embedded.kernel_filter import KernelFilter

if TYPE_CHECKING:
    from tlxviz.check.explore import Exploration, Tried
    from tlxviz.check.report import LaunchReport
    from tlxviz.check.shapes import Shape
    from tlxviz.check.source import Source
    from tlxviz.launch.model import Executed, Launch


def explore_shapes(job: Job, own: Shape, seconds: float, first: Tried) -> tuple[Exploration, list[LaunchReport]]:
    """Runs a script with nasty shapes for so many seconds; what came of it, and reports on what they show.

    Args:
        job: The script.
        own: The user's shape.
        seconds: After which the last run is given up.
        first: What came of the user's shape.
    """
    from tlxviz.check.explore import Tried, explore
    from tlxviz.check.report import LaunchReport

    sources: dict[str, Source] = {}
    worker = Worker(job, time.monotonic() + seconds)

    def run(shape: Shape) -> Tried:
        answer = worker.run(shape)
        if isinstance(answer, str):
            return Tried((), first.traits, refused=answer)
        tried, known = answer
        sources.update(known)
        return tried

    try:
        found = explore(run, own, seconds, first)
    finally:
        worker.end()
    return found, [
        LaunchReport(shown.finding.kernel, sources[shown.finding.kernel], (shown.finding,), 0, 0, 0)
        for shown in found.shown
    ]


def run_shape(job: Job, shape: Shape) -> Answer:
    """Runs a script once, with each launch checked, in this process."""
    from tlxviz.check.checker import SCHEDULES, Checker
    from tlxviz.check.explore import Tried
    from tlxviz.check.session import Session
    from tlxviz.check.shapes import Traits
    from tlxviz.launch.model import LaunchLog

    backend = SimulatorBackend()
    device = shape.on(backend.load_device(job.device))
    recorder = backend.make_recorder(
        device, kernels=lambda kernel: False, launches=(), ctas=(), values=True, progress=None
    )
    checker = Checker(device, seconds=job.seconds, schedules=job.schedules or SCHEDULES)
    chosen = KernelFilter(job.kernels)
    grids: list[tuple[int, int, int]] = []
    session = Session(checker, recorder.execute, wanted=lambda kernel, number: chosen(kernel))

    def execute(launch: Launch) -> Executed | None:
        grids.append(launch.grid)
        return session.execute(launch)

    refused = ""
    try:
        status = backend.run_script(
            job.target, shape.arguments, device, execute, LaunchLog(), first_config=job.first_config
        )
        refused = f"it ended with status {status}" if status else ""
    except TlxvizError as error:
        refused = str(error)
    report = session.report(device.title)
    findings = tuple(finding for finding in report.findings if finding.suppressed is None)
    traits = Traits.of(checker.programs)
    tried = Tried(findings, traits, tuple(grids), "" if findings else refused)
    return tried, {kernel.kernel: kernel.source for kernel in report.kernels}
