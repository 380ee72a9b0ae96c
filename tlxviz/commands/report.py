"""`tlxviz report`."""

from __future__ import annotations

import argparse

from tlxviz._errors import ExitCode, UsageError
from tlxviz.commands import streams
from tlxviz.commands.base import named
from tlxviz.commands.interrupts import importing


class ReportCommand:
    """Print what a trace holds: what each warp group did, where it waited, and who released it."""

    name = "report"
    summary = "print the summary of a trace"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("trace", metavar="TRACE", type=named, help="a .tlxtrace file")
        parser.add_argument("--launch", metavar="N", type=int, help="only this launch of the trace, counted from 0")
        parser.add_argument("--json", action="store_true", help="one line of JSON (docs/report.md)")

    def run(self, arguments: argparse.Namespace) -> int:
        path: str = arguments.trace

        with importing():
            from tlxviz.commands.summaries import summary_reporter
            from tlxviz.trace import load_trace

        launches = load_trace(path).launches
        number: int | None = arguments.launch
        if number is not None:
            if not 0 <= number < len(launches):
                raise UsageError(f"{path} has no launch {number}: {_numbers(len(launches))}.")
            launches = [launches[number]]
        if not launches:
            raise UsageError(f"{path} holds no launch.")

        streams.render(summary_reporter(launches, as_json=arguments.json))
        hung = any(launch.hang is not None for launch in launches)
        return int(ExitCode.FINDINGS if hung else ExitCode.OK)


def _numbers(count: int) -> str:
    return "it holds none" if count == 0 else "it holds only launch 0" if count == 1 else f"it holds 0 to {count - 1}"
