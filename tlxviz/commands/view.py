"""`tlxviz view`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from tlxviz._errors import ExitCode, UsageError
from tlxviz.commands import streams, terminal
from tlxviz.commands.base import named, operand
from tlxviz.commands.interrupts import importing
from tlxviz.commands.launches import check_launches

if TYPE_CHECKING:
    from tlxviz.tui.keys import Keymap


class ViewCommand:
    """Look at a trace in the terminal: a timeline to zoom into, search and follow. `?` lists the keys.

    What was on screen is there again the next time, also of two traces. Keys are changed in
    ~/.config/tlxviz/keys.toml, as docs/view.md says.
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
            from tlxviz.tui.settings import keys_file, load_keymap, put_theme, state_folder
            from tlxviz.tui.store import Store

        keymap = load_keymap(keys_file())
        if arguments.other is not None:
            return _compare(path, arguments.other, arguments.launch, keymap, arguments.theme)
        trace = load_trace(path)
        number: int | None = arguments.launch
        check_launches(path, len(trace.launches), number)

        with importing():
            from tlxviz.tui.app import TimelineApp
            from tlxviz.tui.state import State

        store = Store.of(state_folder(), Path(path))
        state = State.of(trace, number or 0) if store is None else store.read(trace, number)
        put_theme(state, arguments.theme)
        streams.flush()
        app = TimelineApp(trace, Path(path).name, state=state, keymap=keymap, store=store)
        app.run()
        return app.return_code or int(ExitCode.OK)


def _compare(first: str, second: str, number: int | None, keymap: Keymap, theme: str | None) -> int:
    """Two traces one above the other: launch `number` of both, or those of last time."""
    from tlxviz.trace import load_trace

    names = first, second
    traces = [load_trace(name) for name in names]
    for name, trace in zip(names, traces, strict=True):
        check_launches(name, len(trace.launches), number)
    with importing():
        from tlxviz.tui.compare import CompareApp
        from tlxviz.tui.linked import Link
        from tlxviz.tui.linked_store import LinkStore
        from tlxviz.tui.settings import put_theme, state_folder
        from tlxviz.tui.store import Store

    file = Store.of(state_folder(), *map(Path, names))
    store = LinkStore(file) if file is not None else None
    numbers = number or 0, number or 0
    link = Link(traces[0], traces[1], numbers) if store is None else store.read(traces[0], traces[1], number)
    for side in link.sides:
        put_theme(side, theme)
    streams.flush()
    shown = Path(first).name, Path(second).name
    app = CompareApp(link, shown if shown[0] != shown[1] else names, keymap=keymap, store=store)
    app.run()
    return app.return_code or int(ExitCode.OK)
