"""`tlxviz graph`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tlxviz._errors import ExitCode, UsageError
from tlxviz.commands import streams
from tlxviz.commands.backend import Backend, SimulatorBackend
from tlxviz.commands.base import named, operand
from tlxviz.commands.choices import Launches, parse_iteration, parse_iterations, parse_number, simulated_device
from tlxviz.commands.inputs import add_choice_of_launch, add_input, runs_input, target_of
from tlxviz.commands.interrupts import importing, terminations
from tlxviz.commands.launches import check_launches
from tlxviz.commands.output import Output
from tlxviz.commands.progress import LaunchProgress
from tlxviz.commands.remarks import nothing_recorded
from tlxviz.commands.ttgir_file import TTGIR, read_ttgir
from tlxviz.commands.ways import Simulation
from tlxviz.embedded.kernel_filter import KernelFilter
from tlxviz.embedded.record import DEFAULT_DEVICE, hosting

if TYPE_CHECKING:
    from tlxviz.diagrams.kinds import Subject
    from tlxviz.trace.model import LaunchTrace

_SUFFIXES = (".svg", ".png", ".pdf", ".dot")
KIND_NAMES = ("pipeline", "barriers", "stalls", "iteration", "timeline", "deadlock", "memory")
"""Those of `tlxviz.diagrams.kinds`, whose import `tlxviz --help` need not wait for."""
_OF_ITERATIONS = ("iteration", "timeline")
"""Kinds that show a part of one CTA's time."""


class GraphCommand:
    """Draw a kernel: its warp groups with what they copy, multiply and wait for, its barriers, its memory, where its
    time went, or why it hangs.

    From a trace, from a TTGIR file, or from a script, which is simulated with its own arguments behind it
    (docs/graph.md).
    """

    name = "graph"
    summary = "draw the pipeline of a kernel, its barriers, its memory, where its time goes, or why it hangs"

    def __init__(self, backend: Backend | None = None) -> None:
        self._backend: Backend = backend or SimulatorBackend()

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add = parser.add_argument
        add(
            "--kind",
            choices=KIND_NAMES,
            default=KIND_NAMES[0],
            help=f"what to draw (default: {KIND_NAMES[0]})",
        )
        add(
            "-o",
            "--output",
            metavar="FILE",
            type=named,
            help="the picture; its suffix says what: .svg, .png, .pdf, .dot (default: an SVG beside a trace or TTGIR "
            "file, of a script here, numbered if taken)",
        )
        add("-f", "--force", action="store_true", help="overwrite the file that -o names")
        add_choice_of_launch(parser)
        add(
            "--device",
            default="auto",
            help="what a script is simulated on (default: what it names, else sim:h200)",
        )
        add("--cta", metavar="N", type=parse_number, help="the CTA of an iteration or timeline (default: the longest)")
        which = parser.add_mutually_exclusive_group()
        which.add_argument(
            "--iteration",
            metavar="N",
            dest="iterations",
            type=parse_iteration,
            help="an iteration of the innermost loop, from 0 (default: one of the steady state)",
        )
        which.add_argument("--iterations", metavar="A:B", type=parse_iterations, help="of a timeline: 4:8 for 4 to 7")
        add_input(parser, "draw what a module launches")

    def run(self, arguments: argparse.Namespace) -> int:
        path = Path(arguments.input)
        runs = runs_input(arguments)
        _check_options(arguments)
        if not runs:
            _check_file_options(arguments, path)
        target = None
        if runs:
            target = target_of(arguments)
        stem = f"{arguments.input.rpartition('.')[2] if arguments.module else path.stem}.{arguments.kind}"
        output = Output.choose(
            arguments.output,
            stem if runs else str(path.with_name(stem)),
            force=arguments.force,
            suffixes=_SUFFIXES,
            holds="picture",
        )
        if target is None and path.suffix == TTGIR:
            subject = _subject_of_text(path, arguments.kind)
        else:
            launches = self._launches(arguments, target) if target is not None else _launches_of(path)
            subject = _subject_of(_chosen(arguments, launches, runs), arguments)
        name = _written(subject, arguments.kind, output)
        if not arguments.quiet:
            streams.note(f"graph: {name}")
        return int(ExitCode.OK)

    def _launches(self, arguments: argparse.Namespace, script: Path | str) -> Sequence[LaunchTrace]:
        """What a script, or a module, launches, by simulation."""
        device = simulated_device(
            arguments.device,
            self._backend.known_devices(),
            lambda: "graph needs none, and simulates",
            script if isinstance(script, Path) else None,
        )
        number: int | None = arguments.launch
        if number is not None and number < 0:
            raise UsageError(f"launches count from 0, and {number} is less.")
        options = argparse.Namespace(
            on_gpu=(),
            kernel=arguments.kernel,
            launch=Launches((number or 0,)),
            ctas=(arguments.cta or 0,),
            values="off",
            first_config=True,
            arguments=arguments.arguments,
        )
        way = Simulation(self._backend, device or DEFAULT_DEVICE, options)

        from tlxviz.launch.model import LaunchLog

        log = LaunchLog()
        stopped: Exception | None = None
        with LaunchProgress(shown=not arguments.quiet, doing=way.doing, units=way.units) as progress:
            with importing():
                session = way.begin(progress)
            try:
                with hosting(session), terminations():
                    session.run(script, log, lambda error: None)
            except Exception as error:  # without values, a script that checks what it computes fails at the end
                stopped = error
        streams.flush()
        launches = session.trace.launches
        if not launches:
            if stopped is not None:
                raise stopped
            why = nothing_recorded(str(script), log, KernelFilter(tuple(arguments.kernel)), options.launch)
            raise UsageError(why or f"{script} launched no kernel.")
        return launches


def _check_options(arguments: argparse.Namespace) -> None:
    """Raises UsageError for options that the kind has no use for."""
    kind, iterations = arguments.kind, arguments.iterations
    if kind not in _OF_ITERATIONS and (arguments.cta is not None or iterations is not None):
        option = "--cta" if arguments.cta is not None else "--iterations"
        raise UsageError(
            f"{kind} shows no part of one CTA's time: {option} is for --kind {' or '.join(_OF_ITERATIONS)}."
        )
    if kind == "iteration" and iterations is not None and iterations[1] > iterations[0] + 1:
        raise UsageError("iteration shows one: give --iteration N, or --kind timeline for several.")


def _check_file_options(arguments: argparse.Namespace, path: Path) -> None:
    """Raises UsageError for options that choose what is launched, or on what, where nothing is."""
    given = {"--device": arguments.device != "auto"}
    if path.suffix == TTGIR:
        given |= {"--launch": arguments.launch is not None, "--kernel": bool(arguments.kernel)}
    for option, there in given.items():
        if there:
            what = "a script" if option == "--device" else "a trace or a script"
            raise UsageError(f"{option} is for {what}, and {arguments.input} is none.")


def _launches_of(path: Path) -> Sequence[LaunchTrace]:
    with importing():
        from tlxviz.trace import load_trace
    return load_trace(path).launches


def _chosen(arguments: argparse.Namespace, launches: Sequence[LaunchTrace], runs: bool) -> LaunchTrace:
    """The launch to draw; what else there is, is said."""
    source: str = arguments.input
    number: int | None = None if runs else arguments.launch
    check_launches(source, len(launches), number)
    kernels = KernelFilter(tuple(arguments.kernel))
    if number is not None:
        if not kernels(launches[number].kernel):
            wanted = " or ".join(arguments.kernel)
            raise UsageError(f"launch {number} of {source} is of {launches[number].kernel}, not of {wanted}.")
        return launches[number]
    fitting = [launch for launch in launches if kernels(launch.kernel)]
    if not fitting:
        held = ", ".join(dict.fromkeys(launch.kernel for launch in launches))
        raise UsageError(f"{source} has no launch of {', '.join(arguments.kernel)}: it has {held}.")
    others = [kernel for kernel in dict.fromkeys(each.kernel for each in fitting) if kernel != fitting[0].kernel]
    if others and not arguments.quiet:
        streams.note(f"drawn is {fitting[0].kernel}; --kernel NAME draws {' or '.join(others)}")
    return fitting[0]


def _subject_of_text(path: Path, kind: str) -> Subject:
    with importing():
        from tlxviz.commands.allocation import allocation_of
        from tlxviz.diagrams.kinds import Subject
        from tlxviz.ir import load_program

    text = read_ttgir(path)
    program = load_program(text, str(path))
    return Subject(program, allocation=allocation_of(text) if kind == "memory" else None)


def _subject_of(launch: LaunchTrace, arguments: argparse.Namespace) -> Subject:
    """Names are those of the trace. Raises TtgirError where its TTGIR cannot be read."""
    with importing():
        from tlxviz.diagrams.kinds import Subject
        from tlxviz.ir import load_program, name_from_source

    if not launch.ttgir:
        raise UsageError(f"{arguments.input} holds no TTGIR of {launch.kernel}, from which it would be drawn.")
    program = load_program(launch.ttgir, f"TTGIR of {launch.kernel}")
    name_from_source(program, launch.source, launch.source_file, launch.source_line)
    return Subject(program, launch, cta=arguments.cta, iterations=arguments.iterations)


def _written(subject: Subject, kind: str, output: Output) -> str:
    """The name of the file that was written. Where nothing draws, the DOT is kept, and CannotDraw says so."""
    with importing():
        from tlxviz.diagrams.kinds import KINDS
        from tlxviz.diagrams.renderer import CannotDraw, find_renderer, render

    chosen = KINDS[kind]
    if chosen.needs_launch and subject.launch is None:
        raise UsageError(f"{kind} shows what happened in a launch: give a trace or a script, not a .ttgir file.")
    text = chosen.dot(subject)
    format_ = output.path.suffix.removeprefix(".")
    if format_ == "dot":
        return output.write(text.encode())
    try:
        with terminations():  # or what draws goes on
            picture = render(text, format_, find_renderer(format_))
    except CannotDraw as error:
        kept = output.instead(".dot").write(text.encode())
        raise CannotDraw(
            f"no {format_.upper()} was drawn: {error}.\nThe graph is kept as {kept}; with Graphviz: "
            f"dot -T{format_} -O {operand(kept)}"
        ) from error
    return output.write(picture)
