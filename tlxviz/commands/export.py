"""`tlxviz export`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tlxviz._errors import ExitCode, UsageError
from tlxviz.commands import streams
from tlxviz.commands.base import named
from tlxviz.commands.choices import parse_ctas, parse_iterations
from tlxviz.commands.interrupts import importing
from tlxviz.commands.launches import check_launches
from tlxviz.commands.output import Output
from tlxviz.embedded.kernel_filter import KernelFilter

if TYPE_CHECKING:
    from tlxviz.exports.model import Format
    from tlxviz.exports.selection import Selection
    from tlxviz.trace.model import LaunchTrace

SUFFIXES = {
    "csv": ".csv",
    "parquet": ".parquet",
    "perfetto": ".perfetto-trace",
    "chrome": ".json",
    "svg": ".svg",
    "png": ".png",
    "html": ".html",
}
"""Those of `tlxviz.exports.formats`, whose import `tlxviz --help` need not wait for."""


class ExportCommand:
    """Write a trace as a file that other tools open (docs/export.md)."""

    name = "export"
    summary = "write a trace as a file that other tools open"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add = parser.add_argument
        add("--to", choices=tuple(SUFFIXES), metavar="FORMAT", help=f"{', '.join(SUFFIXES)} (default: by -o's suffix)")
        add(
            "-o", "--output", metavar="FILE", type=named, help="the file (default: beside the trace, numbered if taken)"
        )
        add("-f", "--force", action="store_true", help="overwrite the file that -o names")
        add("--launch", metavar="N", type=int, help="only this launch, counted from 0")
        add("--kernel", metavar="NAME", type=named, action="append", default=[], help="a kernel that matches: 'gemm*'")
        add("--ctas", metavar="LIST", type=parse_ctas, help="only these CTAs: 0, or 0,1,132, or 0:4")
        add("--roles", metavar="NAMES", type=_names, default=(), help="only these tracks: load,'mma*',TMA")
        add(
            "--range",
            metavar="A:B",
            type=_cycles,
            default=(None, None),
            help="only SM cycles A to B; either may be left out",
        )
        add(
            "--iterations",
            metavar="A:B",
            type=parse_iterations,
            help="only the stretch of time of iterations A to B-1 of the innermost loop",
        )
        add("-q", "--quiet", action="store_true", help="nothing on stderr but errors")
        add("trace", metavar="TRACE", type=named, help="a .tlxtrace file")

    def run(self, arguments: argparse.Namespace) -> int:
        path = Path(arguments.trace)
        if arguments.iterations is not None and arguments.range != (None, None):
            raise UsageError("--range and --iterations both choose a stretch of time: give one of them.")
        to = _format(arguments.to, arguments.output)
        output = Output.choose(
            arguments.output,
            str(path.with_suffix("")) if path.name else "trace",
            force=arguments.force,
            suffixes=(SUFFIXES[to],),
            holds=f"file for {to}",
        )
        with importing():
            from tlxviz.exports.formats import FORMATS
            from tlxviz.exports.selection import cuts
            from tlxviz.trace import load_trace

            format_ = FORMATS[to]
            write = format_.load()
        launches = _chosen(arguments, load_trace(path).launches)
        chosen = cuts(launches, lambda launch, number: _selection(arguments, format_, launch, number))
        if format_.single and len(chosen) > 1:
            if not arguments.quiet:
                streams.note(f"written is launch {chosen[0].number}, one of {len(chosen)}; --launch N writes another")
            chosen = chosen[:1]
        name = output.write(write(chosen))
        if not arguments.quiet:
            streams.note(f"export: {name}")
        return int(ExitCode.OK)


def _selection(arguments: argparse.Namespace, format_: Format, launch: LaunchTrace, number: int) -> Selection:
    """What options, and else the format, choose of launch `number`."""
    from tlxviz.exports.looping import of_iterations
    from tlxviz.exports.selection import Selection

    selection = Selection(arguments.ctas, arguments.roles, arguments.range)
    if arguments.iterations is not None:
        selection = of_iterations(launch, number, selection, *arguments.iterations)
    return selection if format_.focus is None else format_.focus()(launch, selection)


def _names(text: str) -> tuple[str, ...]:
    names = tuple(name for part in text.split(",") if (name := part.strip()))
    if not names:
        raise argparse.ArgumentTypeError(f"{text!r} names no tracks: write load, or load,'mma*'")
    return names


def _cycles(text: str) -> tuple[int | None, int | None]:
    """A stretch of time of `1000:2000`, `1000:` or `:2000`."""
    first, colon, last = (part.strip() for part in text.partition(":"))
    if colon and all(not part or part.isdecimal() for part in (first, last)):
        begin, end = (int(part) if part else None for part in (first, last))
        if begin is None or end is None or begin < end:
            return begin, end
    raise argparse.ArgumentTypeError(
        f"{text!r} is no stretch of time: write 1000:2000 for SM cycles, or 1000: or :2000"
    )


def _format(given: str | None, output: str | None) -> str:
    """The name of the format. Raises UsageError where nothing says it."""
    if given is not None:
        return given
    suffix = Path(output).suffix if output is not None else ""
    for name, known in SUFFIXES.items():
        if suffix == known:
            return name
    raise UsageError(f"say what to write: --to {', '.join(SUFFIXES)}, or -o with a name that ends so.")


def _chosen(arguments: argparse.Namespace, launches: Sequence[LaunchTrace]) -> list[tuple[int, LaunchTrace]]:
    """The launches to write, with their numbers. Raises UsageError where there are none."""
    source: str = arguments.trace
    number: int | None = arguments.launch
    check_launches(source, len(launches), number)
    kernels = KernelFilter(tuple(arguments.kernel))
    fitting = [
        (place, launch)
        for place, launch in enumerate(launches)
        if (number is None or place == number) and kernels(launch.kernel)
    ]
    if not fitting:
        held = ", ".join(dict.fromkeys(launch.kernel for launch in launches))
        raise UsageError(f"{source} has no such launch of {', '.join(arguments.kernel)}: it has {held}.")
    return fitting
