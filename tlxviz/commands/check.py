"""`tlxviz check`."""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tlxviz._errors import ExitCode, TlxvizError, UsageError
from tlxviz.commands import streams
from tlxviz.commands.backend import Backend, SimulatorBackend
from tlxviz.commands.base import named
from tlxviz.commands.choices import (
    Launches,
    parse_count,
    parse_launches,
    parse_schedule,
    parse_seconds,
    simulated_device,
)
from tlxviz.commands.inputs import device_of_target, target_of
from tlxviz.commands.interrupts import Terminated, importing, terminations
from tlxviz.commands.output import SUFFIX, Output
from tlxviz.commands.progress import LaunchProgress
from tlxviz.commands.remarks import nothing_recorded
from tlxviz.commands.replayed import Recorded
from tlxviz.commands.shape_worker import Job
from tlxviz.commands.shapes import explore_shapes
from tlxviz.commands.ttgir_file import TTGIR, read_ttgir
from tlxviz.embedded.kernel_filter import KernelFilter
from tlxviz.embedded.record import DEFAULT_DEVICE, hosting

if TYPE_CHECKING:
    from tlxviz.check.report import CheckReport, LaunchReport
    from tlxviz.check.session import Session
    from tlxviz.commands.backend import Checker, Recorder
    from tlxviz.devices.model import Device
    from tlxviz.launch.model import Executed, Launch, LaunchLog

_SARIF = (".sarif", ".json")


class CheckCommand:
    """Look for synchronization faults: hangs, races, wrong counts, with the operations that make them.

    A script runs on a simulated GPU with its own arguments behind it, and each launch is checked before it runs. Of a
    TTGIR file the text alone is checked (docs/check.md). The exit status is 1 where an error is found, and with
    --strict a warning; findings that the kernel's source keeps by a comment do not count.
    """

    name = "check"
    summary = "find races, hangs and wrong counts in the kernels of a script"

    def __init__(self, backend: Backend | None = None) -> None:
        self._backend: Backend = backend or SimulatorBackend()

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.usage = (
            f"{parser.prog} [options] script.py [args ...]\n       {parser.prog} [options] -m module [args ...]\n"
            f"       {parser.prog} [options] kernel.ttgir"
        )
        add = parser.add_argument
        add("--device", default="auto", help="the simulated GPU: sim:h200 (the default, unless the script names one)")
        add(
            "--kernel",
            metavar="NAME",
            type=named,
            action="append",
            default=[],
            help="check only kernels that match: 'gemm*'",
        )
        add(
            "--launch",
            metavar="LIST",
            type=parse_launches,
            default="all",
            help="which launches of a kernel: all (default); 0; 0,3; 2:5",
        )
        add(
            "--seconds",
            metavar="S",
            type=parse_seconds,
            default=math.inf,
            help="try no further schedule of a launch after so many (default: until a few seconds' work is done)",
        )
        add(
            "--schedules",
            metavar="N",
            type=parse_count,
            help="orders of events to run each launch under (default: 20, or fewer of one that costs much)",
        )
        add("--replay", metavar="ID", type=parse_schedule, help="only the schedule that a finding names")
        add(
            "--explore",
            metavar="S",
            type=parse_seconds,
            help="for S seconds, run the script with other numbers among its arguments, and on few SMs",
        )
        add("-o", "--output", metavar="FILE", type=named, help="with --replay: a trace of what the schedule does")
        add("--first-config", action="store_true", help="autotuned kernels take their first configuration, untimed")
        add("--strict", action="store_true", help="warnings count as findings")
        add("--json", action="store_true", help="one line of JSON (docs/check.md)")
        add("--sarif", metavar="FILE", type=named, help="write a SARIF 2.1.0 log too, for code scanning")
        add("-f", "--force", action="store_true", help="overwrite the files that --sarif and -o name")
        add("-q", "--quiet", action="store_true", help="nothing on stderr but errors")
        add("-m", dest="module", action="store_true", help="check what a module launches, run as python -m does")
        add("input", metavar="INPUT", type=named, help="a script, with -m a module, or a .ttgir file")
        add("arguments", metavar="args", nargs=argparse.REMAINDER, help="a script's arguments").required = False

    def run(self, arguments: argparse.Namespace) -> int:
        path = Path(arguments.input)
        runs = arguments.module or path.suffix != TTGIR
        _check_input(arguments, runs=runs)
        output = None
        if arguments.sarif is not None:
            output = Output.choose(
                arguments.sarif, path.stem, force=arguments.force, suffixes=_SARIF, holds="SARIF log"
            )
        if not runs:
            return _conclude(self._of_text(arguments, path), arguments, output, Path.cwd())
        trace = None
        if arguments.output is not None:
            trace = Output.choose(arguments.output, path.stem, force=arguments.force)
        return self._of_script(arguments, output, trace)

    # ------------------------------------------------------------------ a script

    def _of_script(self, arguments: argparse.Namespace, output: Output | None, kept: Output | None) -> int:
        target = target_of(arguments)
        script = target if isinstance(target, Path) else None
        name = self._chosen_device(arguments, script)
        device = _seen(self._backend.load_device(name or DEFAULT_DEVICE), arguments)
        folder, process = Path.cwd(), os.getpid()

        from tlxviz.launch.model import LaunchLog

        log = LaunchLog()
        stopped: BaseException | None = None
        status = 0
        grids: list[tuple[int, int, int]] = []

        def execute(launch: Launch) -> Executed | None:
            grids.append(launch.grid)
            return session.execute(launch)

        with LaunchProgress(shown=not arguments.quiet) as progress:
            with importing():
                recorder = self._backend.make_recorder(
                    device, kernels=lambda kernel: False, launches=(), ctas=(), values=True, progress=progress
                )
                checker = Recorded(self._checker(arguments, device), wanted=kept is not None)
                session = self._session(arguments, checker, recorder)
            try:
                # what the script prints is not what was asked for
                with hosting(recorder), terminations(), redirect_stdout(sys.stderr):
                    status = self._backend.run_script(
                        target, arguments.arguments, device, execute, log, first_config=arguments.first_config
                    )
            except BaseException as error:
                stopped = error
        streams.flush()
        if os.getpid() != process:  # a fork of the script's own: the report is its parent's
            if stopped is not None:
                raise stopped
            return status
        if kept is not None:
            checker.save(kept, quiet=arguments.quiet)
        more: Sequence[LaunchReport] = ()
        if arguments.explore is not None and stopped is None and not status:
            report = session.report(device.title)
            more = self._explored(arguments, target, name or DEFAULT_DEVICE, report, checker, grids)
        return _finish(_Run(session, log, status, stopped, more), device, arguments, output, folder)

    def _explored(
        self,
        arguments: argparse.Namespace,
        target: Path | str,
        device: str,
        report: CheckReport,
        checker: Checker,
        grids: Sequence[tuple[int, int, int]],
    ) -> Sequence[LaunchReport]:
        """What other shapes of the script show."""
        from tlxviz.check.explore import Tried
        from tlxviz.check.shapes import Shape, Traits

        kernels = tuple(arguments.kernel)
        job = Job(target, device, arguments.first_config, kernels, arguments.seconds, arguments.schedules)
        first = Tried(report.findings, Traits.of(checker.programs), tuple(grids))
        found, reports = explore_shapes(job, Shape(tuple(arguments.arguments)), arguments.explore, first)
        if not arguments.quiet:
            refused = f", of which the script refused {found.refused}" if found.refused else ""
            streams.note(f"explored {found.tried} shapes{refused}")
        return reports

    def _session(
        self, arguments: argparse.Namespace, checker: Checker, recorder: Recorder
    ) -> Session[Launch, Executed | None]:
        from tlxviz.check.session import Session

        kernels, chosen = KernelFilter(tuple(arguments.kernel)), arguments.launch.numbers

        def wanted(kernel: str, number: int) -> bool:
            return kernels(kernel) and (chosen is None or number in chosen)

        return Session(checker, recorder.execute, wanted=wanted)

    def _checker(self, arguments: argparse.Namespace, device: Device) -> Checker:
        return self._backend.make_checker(
            device, seconds=arguments.seconds, schedules=arguments.schedules, replay=arguments.replay
        )

    def _chosen_device(self, arguments: argparse.Namespace, script: Path | None = None) -> str | None:
        return simulated_device(
            arguments.device, self._backend.known_devices(), lambda: "check needs none, and simulates one", script
        )

    # ------------------------------------------------------------------ a text

    def _of_text(self, arguments: argparse.Namespace, path: Path) -> CheckReport:
        with importing():
            from tlxviz.check.report import LaunchReport, gather
            from tlxviz.check.source import Source
            from tlxviz.ir import load_program

        program = load_program(read_ttgir(path), str(path))
        chosen = self._chosen_device(arguments)
        name = chosen if arguments.device != "auto" and chosen else device_of_target(program, self._backend)
        device = self._backend.load_device(name)
        checked = self._checker(arguments, device).read(program)
        found = LaunchReport(program.name, Source(), checked.findings, 0, 0, checked.schedules)
        return gather(device.title, [found])


@dataclass(frozen=True, slots=True)
class _Run:
    """What became of a script."""

    session: Session[Launch, Executed | None]
    log: LaunchLog
    status: int
    stopped: BaseException | None
    """What ended it before its own end."""
    more: Sequence[LaunchReport] = ()
    """What other shapes show."""


def _seen(device: Device, arguments: argparse.Namespace) -> Device:
    """The GPU as the script sees it: with as many SMs as the schedule to replay says."""
    if arguments.replay is None or not arguments.replay.sms:
        return device
    from tlxviz.check.shapes import Shape

    return Shape((), arguments.replay.sms).on(device)


def _check_input(arguments: argparse.Namespace, *, runs: bool) -> None:
    """Raises UsageError for an input that is none, and for what goes with other inputs."""
    name = arguments.input
    if not arguments.module and name.endswith(SUFFIX):
        raise UsageError(f"{name} is a trace, in which one order of events is left. Check the script that it is of.")
    if arguments.output is not None and arguments.replay is None:
        raise UsageError("-o is for a trace of one schedule: name it with --replay, or give --replay usual.")
    if runs:
        return
    if arguments.arguments:
        raise UsageError(f"{name} takes no arguments, and there is {arguments.arguments[0]}. Options stand before it.")
    given = {
        "--launch": arguments.launch.numbers is not None,
        "--kernel": bool(arguments.kernel),
        "--first-config": arguments.first_config,
        "--seconds": arguments.seconds != math.inf,
        "--schedules": arguments.schedules is not None,
        "--replay": arguments.replay is not None,
        "--explore": arguments.explore is not None,
    }
    for option, there in given.items():
        if there:
            raise UsageError(f"{option} is for a script, and {name} is none.")


def _finish(run: _Run, device: Device, arguments: argparse.Namespace, output: Output | None, folder: Path) -> int:
    """Say what was found and return the exit status, or raise what ended the script where nothing was found."""
    from tlxviz.check.session import Stopped

    stopped = run.stopped
    report = run.session.report(device.title, run.more)
    status = _conclude(report, arguments, output, folder) if run.session.checked else 0
    if isinstance(stopped, KeyboardInterrupt):
        terminated = isinstance(stopped, Terminated)
        streams.fail(f"{'terminated' if terminated else 'interrupted'}; what comes after that is not checked")
        return stopped.exit_code if terminated else int(ExitCode.INTERRUPTED)
    if stopped is not None and not isinstance(stopped, TlxvizError):  # a fault of ours
        raise stopped
    if status:
        if stopped is not None and not isinstance(stopped, Stopped):
            streams.note(str(stopped))
        return status
    if isinstance(stopped, Stopped):
        raise ScriptNotRun(f"{stopped}, and neither does {arguments.input}; nothing of it counts as a finding.")
    if stopped is not None:
        raise stopped
    if run.status:
        raise ScriptNotRun(f"{arguments.input} ended with status {run.status}, and nothing was found.")
    if report.unchecked:
        first = report.unchecked[0]
        raise TlxvizError(f"kernel {first.kernel} was not checked: {first.reason}")
    if not run.session.checked:
        kernels = KernelFilter(tuple(arguments.kernel))
        chosen = arguments.launch if arguments.launch.numbers is not None else Launches((0,))
        why = nothing_recorded(arguments.input, run.log, kernels, chosen)
        raise UsageError(why or f"{arguments.input} launched no kernel that runs anything.")
    return 0


def _conclude(report: CheckReport, arguments: argparse.Namespace, output: Output | None, folder: Path) -> int:
    """Write what was found, and return the exit status that it stands for."""
    with importing():
        from tlxviz.reporters.check_json import CheckJsonReporter
        from tlxviz.reporters.check_sarif import sarif_log
        from tlxviz.reporters.check_text import CheckTextReporter

    lost: TlxvizError | None = None
    if output is not None:
        try:
            name = output.write(sarif_log(report, folder))
        except TlxvizError as error:  # the disk is full, say: the report comes all the same
            lost = error
        else:
            if not arguments.quiet:
                streams.note(f"sarif: {name}")
    streams.render(CheckJsonReporter(report) if arguments.json else CheckTextReporter(report))
    if lost is not None:
        raise lost
    return int(ExitCode.FINDINGS if report.fails(strict=arguments.strict) else ExitCode.OK)


class ScriptNotRun(TlxvizError):
    """A script did not end as it should, and nothing was found in its kernels."""

    exit_code = ExitCode.SCRIPT_FAILED
