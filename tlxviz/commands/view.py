"""`tlxviz view`."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from tlxviz._errors import ExitCode, UsageError
from tlxviz.commands import streams
from tlxviz.commands.base import named, operand
from tlxviz.commands.interrupts import importing


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
            "--theme",
            choices=("dark", "light", "mono"),
            help="mono: no colours, the default with NO_COLOR; else as last time",
        )

    def run(self, arguments: argparse.Namespace) -> int:
        path: str = arguments.trace
        _check_terminal(path)
        with importing():
            from tlxviz.trace import load_trace
            from tlxviz.tui.settings import keys_file, load_keymap, state_folder
            from tlxviz.tui.store import Store

        keymap = load_keymap(keys_file())
        trace = load_trace(path)
        if not trace.launches:
            raise UsageError(f"{path} holds no launch.")
        number: int | None = arguments.launch
        if number is not None and not 0 <= number < len(trace.launches):
            count = len(trace.launches)
            holds = "it holds only launch 0" if count == 1 else f"it holds 0 to {count - 1}"
            raise UsageError(f"{path} has no launch {number}: {holds}.")

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


def _check_terminal(path: str) -> None:
    """Raises UsageError where there is nothing to draw on, or nothing to read keys from."""
    for name, stream in (("stdout", sys.stdout), ("stdin", sys.stdin), ("stderr", sys.stderr)):
        if not _is_terminal(stream):
            raise UsageError(
                f"view needs a terminal, and {name} is none: for text there is tlxviz report {operand(path)}."
            )
    if os.environ.get("TERM") == "dumb":
        raise UsageError(
            f"view needs a terminal that is not dumb, as TERM says: for text there is tlxviz report {operand(path)}."
        )


def _is_terminal(stream: object) -> bool:
    isatty = getattr(stream, "isatty", None)
    try:
        return bool(isatty and isatty())
    except ValueError:  # it is closed
        return False
