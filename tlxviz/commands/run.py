"""`tlxviz run`."""

from __future__ import annotations

import argparse
import os
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tlxviz._errors import ExitCode, TlxvizError, UsageError
from tlxviz.commands import streams
from tlxviz.commands.backend import Backend, Gpu, OwnGpu, SimulatorBackend
from tlxviz.commands.base import named, operand
from tlxviz.commands.choices import parse_ctas, parse_launches, simulated_device
from tlxviz.commands.interrupts import Terminated, importing, terminations
from tlxviz.commands.live import Watch, check_terminal, watched
from tlxviz.commands.output import SUFFIX, Output, check_module, check_script
from tlxviz.commands.progress import LaunchProgress
from tlxviz.commands.remarks import nothing_recorded, remarks
from tlxviz.commands.ways import Measurement, Simulation, Way, add_gpu_arguments
from tlxviz.embedded.kernel_filter import KernelFilter
from tlxviz.embedded.record import hosting

if TYPE_CHECKING:
    from tlxviz.commands.beside import Beside
    from tlxviz.launch.model import LaunchLog
    from tlxviz.trace.model import Trace


class RunCommand:
    """Run a script with its GPU kernels recorded: a trace file, and a summary of what each warp group did.

    Options of tlxviz stand before the script; what stands behind it is the script's own.
    """

    name = "run"
    summary = "run a script and record its kernels"

    def __init__(self, backend: Backend | None = None, gpu: OwnGpu | None = None) -> None:
        self._backend: Backend = backend or SimulatorBackend()
        self._gpu: OwnGpu = gpu or Gpu()

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.usage = (
            f"{parser.prog} [options] script.py [args ...]\n       {parser.prog} [options] -m module [args ...]"
        )
        add = parser.add_argument
        add(
            "--device",
            default="auto",
            help="cuda (this machine's GPU), sim:h100, sim:h200, sim:b200, sim:gb200, sim:FILE.toml (of calibrate); "
            "auto (the default): cuda, or without a GPU what the script names, else sim:h200",
        )
        add(
            "-o",
            "--output",
            metavar="FILE",
            type=named,
            help=f"the trace (default: <script>{SUFFIX} here, numbered if taken)",
        )
        add("-f", "--force", action="store_true", help="overwrite the file that -o names")
        add(
            "--kernel",
            metavar="NAME",
            type=named,
            action="append",
            default=[],
            help="record only kernels that match: 'gemm*'",
        )
        add(
            "--launch",
            metavar="LIST",
            type=parse_launches,
            default="0",
            help="which launches of a kernel: 0 (default); 0,3; 2:5; all",
        )
        add(
            "--ctas",
            metavar="LIST",
            type=parse_ctas,
            help="CTAs on the timeline: 0,1,132; 0:4 (0 to 3); default: 0 and others of its SM",
        )
        add("--values", choices=("on", "off"), default="on", help="off: compute only what steers the kernel; faster")
        add("--first-config", action="store_true", help="autotuned kernels take their first configuration, untimed")
        add(
            "-i",
            "--interactive",
            action="store_true",
            help="show the timeline while the script runs, and go on as view does",
        )
        add("-q", "--quiet", action="store_true", help="nothing on stderr but errors")
        add("--json", action="store_true", help="the summary as one line of JSON (docs/report.md)")
        add("-m", dest="module", action="store_true", help="run a module, as python -m does")
        add("script", metavar="script.py", type=named, help="the script, or with -m the module, to run")
        add_gpu_arguments(parser)
        add("arguments", metavar="args", nargs=argparse.REMAINDER, help="its arguments").required = False

    def run(self, arguments: argparse.Namespace) -> int:
        way = self._way(arguments)
        target = check_module(arguments.script) if arguments.module else check_script(Path(arguments.script))
        stem = target.rpartition(".")[2] if isinstance(target, str) else target.stem
        output = Output.choose(arguments.output, stem, force=arguments.force)
        if arguments.compare_sim:
            output.beside(output.name).check()
        folder = None
        if arguments.interactive:
            check_terminal()
            shown = watched(stem, target if isinstance(target, str) else str(target.resolve()))
            if isinstance(shown, int):
                return shown
            folder = shown
        watch = Watch(folder)

        from tlxviz.launch.model import LaunchLog

        log = LaunchLog()
        status, stopped = 0, None
        process = os.getpid()
        with LaunchProgress(shown=not arguments.quiet, doing=way.doing, units=way.units) as progress:
            with importing():
                session = way.begin(watch.told(progress))
            watch.start(session.so_far)

            def end(error: BaseException) -> None:
                progress.close()
                watch.close(session.trace)
                streams.flush()
                code = 1
                if os.getpid() == process:
                    code = _reported(_Run(session.trace, log, 0, error, session.beside, watch), output, arguments)
                streams.end_process(code, int(ExitCode.CANNOT_RUN))

            try:
                with hosting(session), terminations():
                    status = session.run(target, log, end)
            except BaseException as error:  # also for a fault of ours, what was recorded is kept
                stopped = error
            watch.close(session.trace)
        streams.flush()
        if os.getpid() != process:  # a fork of the script's own: the trace is its parent's
            if stopped is not None:
                raise stopped
            return status
        return _conclude(_Run(session.trace, log, status, stopped, session.beside, watch), output, arguments)

    def _way(self, arguments: argparse.Namespace) -> Way:
        script = None if arguments.module else Path(arguments.script)
        name = simulated_device(arguments.device, self._backend.known_devices(), self._gpu.obstacle, script)
        return (
            Measurement(self._gpu, self._backend, arguments)
            if name is None
            else Simulation(self._backend, name, arguments)
        )


@dataclass(frozen=True, slots=True)
class _Run:
    """What became of a script."""

    trace: Trace
    log: LaunchLog
    status: int
    stopped: BaseException | None
    """What ended it before its own end."""
    beside: Beside | None = None
    """What was simulated beside it."""
    watch: Watch | None = None
    """Who is told where the trace is."""


def _conclude(run: _Run, output: Output, arguments: argparse.Namespace) -> int:
    """Keep the trace, say what there is to say, and return the exit status, or raise what stopped the script."""
    trace, log, stopped = run.trace, run.log, run.stopped
    kernels = KernelFilter(tuple(arguments.kernel))
    if not arguments.quiet:
        off = arguments.values == "off"
        for line in remarks(log, trace.launches, kernels, arguments.launch, arguments.ctas, values_off=off):
            streams.note(line)
    if trace.launches:
        _keep(run, output, arguments)
    if isinstance(stopped, KeyboardInterrupt):
        kept = "what was recorded until then is kept" if trace.launches else "nothing was recorded"
        terminated = isinstance(stopped, Terminated)
        streams.fail(f"{'terminated' if terminated else 'interrupted'}; {kept}")
        return stopped.exit_code if terminated else int(ExitCode.INTERRUPTED)
    if stopped is not None:
        raise stopped
    if any(launch.hang is not None for launch in trace.launches):
        return int(ExitCode.FINDINGS)
    if not trace.launches and not run.status:
        why = nothing_recorded(arguments.script, log, kernels, arguments.launch)
        if why is not None:
            raise UsageError(why)
    return run.status


def _reported(run: _Run, output: Output, arguments: argparse.Namespace) -> int:
    """The same where the process ends with it, so that nobody is left to report an error."""
    try:
        return _conclude(run, output, arguments)
    except TlxvizError as error:
        streams.fail(str(error))
        return int(error.exit_code)
    except BaseException as error:  # a fault of ours
        streams.note("".join(traceback.format_exception(error)).rstrip())
        return 1


def _keep(run: _Run, output: Output, arguments: argparse.Namespace) -> None:
    """Save the trace and print its summary: the summary also where the disk turns out to be full."""
    trace, name = run.trace, output.name
    lost: TlxvizError | None = None
    try:
        name = output.save(trace)
    except TlxvizError as error:
        lost = error
    else:
        if run.watch is not None:
            run.watch.kept(name)
        if not arguments.quiet:
            _say_saved(trace, name, f"tlxviz report {operand(name)}", f"tlxviz view {operand(name)}")

    from tlxviz.commands.summaries import summary_reporter

    streams.render(summary_reporter(trace.launches, as_json=arguments.json))
    if run.beside is not None and run.beside.trace is not None and run.beside.pairs:
        _compare(trace, run.beside, name, output, arguments)
    if lost is not None:
        raise lost


def _compare(trace: Trace, beside: Beside, name: str, output: Output, arguments: argparse.Namespace) -> None:
    """Save what was simulated, and print how the recorded launches differ from it."""
    simulated = beside.trace
    if simulated is None:
        return
    second = output.beside(name)
    lost: TlxvizError | None = None
    shown = second.name
    try:
        shown = second.save(simulated)
    except TlxvizError as error:
        lost = error
    else:
        if not arguments.quiet:
            _say_saved(simulated, shown, f"tlxviz diff {operand(name)} {operand(shown)}")

    from tlxviz.commands.differences import difference_reporter

    names = name, shown
    streams.render(difference_reporter(trace.launches, simulated.launches, beside.pairs, names, as_json=arguments.json))
    if lost is not None:
        raise lost


def _say_saved(trace: Trace, name: str, *following: str) -> None:
    number = len(trace.launches)
    more = "" if number == 1 else f" ({number} launches)"
    after = "\n       ".join(following)
    streams.note(f"trace: {name}{more}\nnext:  {after}")
