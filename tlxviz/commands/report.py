"""`tlxviz report`."""

from __future__ import annotations

import argparse

from tlxviz._errors import ExitCode, UsageError
from tlxviz.commands import streams, terminal
from tlxviz.commands.base import named, operand
from tlxviz.commands.interrupts import importing
from tlxviz.commands.launches import check_launches


class ReportCommand:
    """Print what a trace says: what holds the kernel, what would help, and where the time of each warp group goes."""

    name = "report"
    summary = "say what holds a kernel, and what would help"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("trace", metavar="TRACE", type=named, help="a .tlxtrace file")
        parser.add_argument("--launch", metavar="N", type=int, help="only this launch of the trace, counted from 0")
        parser.add_argument(
            "--section",
            metavar="NAME",
            dest="sections",
            action="append",
            default=[],
            help="rather than the short report, this section of the long one; several with commas between; all for all "
            "(docs/report.md)",
        )
        parser.add_argument("--json", action="store_true", help="one line of JSON (docs/report.md)")

    def run(self, arguments: argparse.Namespace) -> int:
        path: str = arguments.trace

        with importing():
            from tlxviz.commands.summaries import summary_reporter
            from tlxviz.trace import load_trace

        launches = load_trace(path).launches
        number: int | None = arguments.launch
        check_launches(path, len(launches), number)
        if number is not None:
            launches = [launches[number]]

        sections = _sections(arguments.sections)
        streams.render(summary_reporter(launches, as_json=arguments.json, sections=sections))
        if not arguments.json and terminal.is_terminal(streams.stdout()):
            streams.note(f"next:  tlxviz view {operand(path)}")
        hung = any(launch.hang is not None for launch in launches)
        return int(ExitCode.FINDINGS if hung else ExitCode.OK)


def _sections(given: list[str]) -> list[str]:
    from tlxviz.reporters.text import NAMES

    wanted = [name.strip() for each in given for name in each.split(",")]
    for name in wanted:
        if name not in (*NAMES, "all"):
            raise UsageError(f"the report has no section {name!r}: write {', '.join(NAMES)}, or all.")
    return list(NAMES) if "all" in wanted else wanted
