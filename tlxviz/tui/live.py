"""The timeline of a script that still runs."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar, Protocol

from textual.binding import BindingType
from textual.widgets import Log, Static, TabbedContent, TabPane

from tlxviz._errors import TlxvizError
from tlxviz.trace import load_trace
from tlxviz.trace.model import Trace
from tlxviz.tui.app import TimelineApp
from tlxviz.tui.reload import go_to_hang, hanging, nothing_yet, replace_trace

_TICK = 0.2
"""Seconds between two looks at what the script has done."""
_LINES = 10_000
"""Lines of output that can be scrolled back; the file has all of them."""
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[@-Z\\-_]|[\x00-\x08\x0b-\x1f\x7f]")


class Recording(Protocol):
    """A script that is being recorded elsewhere."""

    trace: Path
    """Where the trace is written, whole or not at all, again and again."""

    def poll(self) -> int | None:
        """Its exit status; None while it runs."""
        ...

    def stop(self) -> None:
        """Ends it as Ctrl-C does; harder each time it is called."""
        ...

    def printed(self) -> str:
        """What it has printed since the last call."""
        ...

    def doing(self) -> str:
        """What it does now, in a few words; empty where there is nothing to say."""
        ...


class LiveApp(TimelineApp):
    """`tlxviz run -i`: the newest time of what is recorded, until somebody looks elsewhere; in the end, `view`.

    Args:
        recording: What is being recorded.
        title: The script.
    """

    CSS = TimelineApp.CSS + "\n#live { height: 1; background: $panel; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        ("ctrl+c", "stop", "stop the script"),
        ("end", "newest", "follow the newest time"),
        ("O", "output", "what the script prints"),
    ]

    def __init__(self, recording: Recording, title: str) -> None:
        super().__init__(nothing_yet(title), title)
        self.recording = recording
        self.status: int | None = None
        """The script's exit status, when all that it left has been read."""
        self._script = title
        self._read: tuple[int, int] | None = None
        self._loading = False
        self._leaving = False
        self._stopped = 0
        self._placed = self._looked_at()
        self._following = True
        self._end_ticks: Callable[[], None] | None = None

    def on_mount(self) -> None:
        self.mount(Static(id="live", markup=False), before="#head")
        tabs = self.query_one(TabbedContent)
        tabs.add_pane(TabPane("Output", Log(id="output", max_lines=_LINES), id="tab-output"))
        self.call_after_refresh(self.action_output)
        self._end_ticks = self.set_interval(_TICK, self.tick).stop
        self._say()

    # ---- what the script does

    def tick(self) -> None:
        """Looks what is new."""
        if self.status is not None:
            return
        status = self.recording.poll()  # asked first, so that nothing comes after it
        output = self.query("#output")
        if not output:
            return
        text = self.recording.printed()
        if text:
            self.query_one("#output", Log).write(plain(text))
        stamp = self._stamp()
        if stamp is not None and stamp != self._read and not self._loading:
            self._loading, self._read = True, stamp
            self.run_worker(self._load, thread=True, group="load")
        elif status is not None and not self._loading:
            self._ended(status)
        self._say()

    def _stamp(self) -> tuple[int, int] | None:
        try:
            found = self.recording.trace.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_ino

    def _load(self) -> None:
        try:
            trace = load_trace(self.recording.trace)
        except TlxvizError:  # it was written whole, so there is none: the next one will do
            trace = None
        self.call_from_thread(self._show, trace)

    def _show(self, trace: Trace | None) -> None:
        self._loading = False
        if trace is None or not trace.launches:
            return
        self._following = self._following and self._looked_at() == self._placed
        replace_trace(self.state, trace, newest=self._following)
        self._placed = self._looked_at()
        self.state.changed()

    def _ended(self, status: int) -> None:
        self.status = status
        if self._end_ticks is not None:
            self._end_ticks()
        if self._leaving:
            self.exit()
            return
        number = hanging(self.state.trace)
        if number is not None:
            go_to_hang(self.state, number)
            self.open_tab("tab-hang")
            self.state.changed()

    def _looked_at(self) -> object:
        state = self.state
        return state.window, state.seen.number, state.cta, state.event, state.cursor

    def _say(self) -> None:
        if self.status is not None:
            ended = "has ended" if self.status == 0 else f"has ended with exit status {self.status}"
            said = f"{self._script} {ended}"
        elif self._stopped:
            said = f"stopping {self._script}: press again if it does not end"
        else:
            doing = self.recording.doing()
            follows = "" if self._following else "   end: follow the newest time"
            said = f"{self._script} runs{': ' + doing if doing else ''}   ctrl+c: stop{follows}"
        self.query_one("#live", Static).update(said)

    # ---- actions

    def open_tab(self, name: str) -> None:
        tabs = self.query_one(TabbedContent)
        if tabs.query(f"#{name}"):
            tabs.active = name

    def action_output(self) -> None:
        self.open_tab("tab-output")

    def action_newest(self) -> None:
        """Goes to the newest time and stays there."""
        self._following = True
        replace_trace(self.state, self.state.trace, newest=True)
        self._placed = self._looked_at()
        self.state.changed()

    def action_stop(self) -> None:
        """Stops the script and stays; what was recorded is kept."""
        if self.status is None:
            self._stopped += 1
            self.recording.stop()
            self._say()

    async def action_quit(self) -> None:
        """Stops the script if it runs, and leaves when it has kept what was recorded."""
        if self.status is not None:
            self.exit()
        else:
            self._leaving = True
            self.action_stop()


def plain(text: str) -> str:
    """Text without what moves a terminal's cursor or colours it; a bar that is drawn over itself has a line a time."""
    return _CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
