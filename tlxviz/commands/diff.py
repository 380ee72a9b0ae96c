"""`tlxviz diff`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tlxviz._errors import ExitCode
from tlxviz.commands import streams
from tlxviz.commands.base import named
from tlxviz.commands.interrupts import importing
from tlxviz.commands.launches import check_launches

if TYPE_CHECKING:
    from tlxviz.trace.model import LaunchTrace


class DiffCommand:
    """Compare two traces: how much faster the second is, and which part of that comes from where."""

    name = "diff"
    summary = "compare two traces"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("a", metavar="A", type=named, help="a .tlxtrace file: what is compared with")
        parser.add_argument("b", metavar="B", type=named, help="another: what is said to be faster or slower")
        parser.add_argument(
            "--launch",
            metavar="N[,M]",
            type=_numbers,
            help="only launch N of both, or N of A and M of B, counted from 0 (default: each with that of its number)",
        )
        parser.add_argument("--json", action="store_true", help="one line of JSON (docs/diff.md)")

    def run(self, arguments: argparse.Namespace) -> int:
        with importing():
            from tlxviz.commands.differences import difference_reporter
            from tlxviz.trace import load_trace

        names: tuple[str, str] = arguments.a, arguments.b
        launches = [load_trace(name).launches for name in names]
        pairs = _pairs(names, launches, arguments.launch)
        left_out = max(map(len, launches)) - min(map(len, launches))
        if arguments.launch is None and left_out:
            more = names[0] if len(launches[0]) > len(launches[1]) else names[1]
            what = (
                "1 launch that the other trace does not have, and that is"
                if left_out == 1
                else (f"{left_out} launches that the other trace does not have, and that are")
            )
            streams.note(f"{more} holds {what} left out. To choose launches: --launch N,M")
        streams.render(difference_reporter(launches[0], launches[1], pairs, names, as_json=arguments.json))
        return int(ExitCode.OK)


def _numbers(text: str) -> tuple[int, int]:
    parts = text.split(",")
    if len(parts) > 2 or not all(part.strip().isdecimal() for part in parts):
        raise argparse.ArgumentTypeError(f"{text!r} names no launches: write 1, or 0,1 for 0 of A and 1 of B")
    return int(parts[0]), int(parts[-1])


def _pairs(
    names: Sequence[str], launches: Sequence[Sequence[LaunchTrace]], chosen: tuple[int, int] | None
) -> list[tuple[int, int]]:
    """Which launches are compared. Raises UsageError where there are none."""
    for place, (name, each) in enumerate(zip(names, launches, strict=True)):
        check_launches(name, len(each), None if chosen is None else chosen[place])
    if chosen is None:
        return [(number, number) for number in range(min(map(len, launches)))]
    return [chosen]
