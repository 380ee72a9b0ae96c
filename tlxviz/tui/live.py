"""The timeline of a script that still runs."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar, Protocol

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.widgets import Log, Static, TabbedContent, TabPane

from tlxviz._errors import TlxvizError
from tlxviz.trace import load_trace
from tlxviz.trace.model import Trace
from tlxviz.tui.app import TimelineApp
from tlxviz.tui.keys import Keymap, Mode, bindings, with_keys
from tlxviz.tui.reload import go_to_hang, hanging, nothing_yet, replace_trace
from tlxviz.tui.settings import put_theme
from tlxviz.tui.state import State
from tlxviz.tui.store import Kept, Store, encoded_looks, restore_looks

_OUTPUT, _HANG = "tab-output", "tab-hang"
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


class Output(Log, inherit_bindings=False):
    """What the script prints."""

    title = "Output"
    BINDINGS: ClassVar[list[BindingType]] = bindings(
        {
            "list_down": "scroll_down",
            "list_up": "scroll_up",
            "list_page_down": "page_down",
            "list_page_up": "page_up",
            "list_first": "scroll_home",
            "list_last": "scroll_end",
            "list_left": "scroll_left",
            "list_right": "scroll_right",
        }
    )


class LiveApp(TimelineApp):
    """`tlxviz run -i`: the newest time of what is recorded, until somebody looks elsewhere; in the end, `view`.

    Args:
        recording: What is being recorded.
        title: The script.
        keymap: The keys of each action, if not the default ones.
        store: Where what is not of one trace is kept for the next time that the script runs: how lanes stand, units,
            theme and the panel that is open.
    """

    CSS = TimelineApp.CSS + "\n#live { height: 1; background: $panel; }"
    MODE: ClassVar[Mode] = Mode.LIVE

    def __init__(
        self,
        recording: Recording,
        title: str,
        *,
        keymap: Keymap | None = None,
        store: Store | None = None,
    ) -> None:
        state = State.of(nothing_yet(title))
        self._looks = store
        kept = store.restored(lambda kept: _restored(state, kept)) if store is not None else None
        self._panel, self._shown = kept or (_OUTPUT, True)
        put_theme(state)
        super().__init__(state.trace, title, state=state, keymap=keymap)
        self.doing |= {"newest": self._newest, "output": self._open_output, "stop": self._stop}
        self.recording = recording
        self._opened = ""
        """The tab that nobody has opened: the program did."""
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

    def compose(self) -> ComposeResult:
        yield Static(id="live", markup=False)
        yield from super().compose()

    def on_mount(self) -> None:
        tabs = self.main.query_one(TabbedContent)
        tabs.add_pane(TabPane("Output", Output(id="output", max_lines=_LINES), id=_OUTPUT))
        self.call_after_refresh(self.open_tab, self._panel)
        self.main.query_one("#drawer").set_class(not self._shown, "hidden")
        self._end_ticks = self.set_interval(_TICK, self.tick).stop
        self._say()

    # ---- what the script does

    def tick(self) -> None:
        """Looks what is new."""
        if self.status is not None or not self.drawn:
            return
        status = self.recording.poll()  # asked first, so that nothing comes after it
        output = self.main.query("#output")
        if not output:
            return
        text = self.recording.printed()
        if text:
            self.main.query_one("#output", Log).write(plain(text))
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
            self._opened = _HANG
            self.open_tab(_HANG)
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
            follows = "" if self._following else "   <newest>: follow the newest time"
            keys = with_keys(f"<stop>: stop{follows}", self.keymap)
            said = f"{self._script} runs{': ' + doing if doing else ''}   {keys}"
        for line in self.main.query("#live").results(Static):  # none while the program ends
            line.update(said, layout=False)

    # ---- actions

    def open_tab(self, name: str) -> None:
        tabs = self.main.query_one(TabbedContent)
        if tabs.query(f"#{name}"):
            tabs.active = name

    def _open_output(self) -> None:
        self.show_drawer()
        self.open_tab(_OUTPUT)

    def _newest(self) -> None:
        """Goes to the newest time and stays there."""
        self._following = True
        replace_trace(self.state, self.state.trace, newest=True)
        self._placed = self._looked_at()

    def _stop(self) -> None:
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
            self._stop()

    # ---- what is kept

    def follow(self) -> None:
        super().follow()
        self._shown = not self.main.query_one("#drawer").has_class("hidden")
        active = self.main.query_one(TabbedContent).active
        if active and active != self._opened:
            self._panel, self._opened = active, ""

    def keep(self) -> None:
        if self._looks is None:
            return
        kept = encoded_looks(self.state)
        for rows in kept["rows"].values():  # not which CTAs are open: the newest time opens them
            for name in ("folded", "met"):
                rows[name] = [key for key in rows[name] if "/" in key]
        self._looks.keep({"panel": self._panel, "shown": self._shown, **kept})


def _restored(state: State, kept: Kept) -> tuple[str, bool]:
    """Puts a state as it was. Gives the name of the panel's tab, and whether panels are on screen."""
    panel, shown = str(kept["panel"]), bool(kept["shown"])
    restore_looks(state, kept)
    return panel, shown


def plain(text: str) -> str:
    """Text without what moves a terminal's cursor or colours it; a bar that is drawn over itself has a line a time."""
    return _CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
