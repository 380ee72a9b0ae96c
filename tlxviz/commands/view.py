"""`tlxviz view`."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from tlxviz._errors import ExitCode, UsageError
from tlxviz.commands import streams, terminal
from tlxviz.commands.base import named, operand
from tlxviz.commands.interrupts import importing
from tlxviz.commands.launches import check_launches


class ViewCommand:
    """Look at a trace in the terminal: a timeline to zoom into, search and follow. `?` lists the keys.

    What was on screen is there again the next time. docs/view.md says how keys are changed.
    """

    name = "view"
    summary = "look at a trace in the terminal"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("trace", metavar="TRACE", type=named, help="a .tlxtrace file")
        parser.add_argument("--launch", metavar="N", type=int, help="begin with this launch of the trace, from 0")
        parser.add_argument(
            "--with", dest="other", metavar="B", type=named, help="compare with another trace, one above the other"
        )
        parser.add_argument(
            "--theme",
            choices=("dark", "light", "mono"),
            help="mono: no colours, the default with NO_COLOR; else as last time",
        )

    def run(self, arguments: argparse.Namespace) -> int:
        path: str = arguments.trace
        if lack := terminal.lacking():
            raise UsageError(f"view needs a terminal, and {lack}: for text there is tlxviz report {operand(path)}.")
        with importing():
            from tlxviz.trace import load_trace
            from tlxviz.tui.settings import keys_file, load_keymap, state_folder
            from tlxviz.tui.store import Store

        if arguments.other is not None:
            return _compare(path, arguments.other, arguments.launch)
        keymap = load_keymap(keys_file())
        trace = load_trace(path)
        number: int | None = arguments.launch
        check_launches(path, len(trace.launches), number)

        with importing():
            from tlxviz.tui.app import TimelineApp
            from tlxviz.tui.state import State

        store = Store.of(Path(path), state_folder())
        state = State.of(trace, number or 0) if store is None else store.read(trace, number)
        state.theme = arguments.theme or ("mono" if os.environ.get("NO_COLOR") else state.theme)
        streams.flush()
        app = TimelineApp(trace, Path(path).name, state=state, keymap=keymap, store=store)
        app.run()
        return app.return_code or int(ExitCode.OK)


def _compare(first: str, second: str, number: int | None) -> int:
    """Two traces one above the other: launch `number` of both, or the first that each has."""
    from tlxviz.trace import load_trace

    names = first, second
    traces = [load_trace(name) for name in names]
    for name, trace in zip(names, traces, strict=True):
        check_launches(name, len(trace.launches), number)
    with importing():
        from tlxviz.tui.compare import compare_app

    streams.flush()
    shown = Path(first).name, Path(second).name
    app = compare_app(traces[0], traces[1], shown if shown[0] != shown[1] else names, (number or 0, number or 0))
    app.run()
    return app.return_code or int(ExitCode.OK)
