"""`run -i`: the script runs in a process of its own, as ever, and leaves traces for the timeline that shows it."""

from __future__ import annotations

import codecs
import json
import os
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, cast

from tlxviz._errors import TlxvizError, UsageError
from tlxviz.commands import streams, terminal

if TYPE_CHECKING:
    from tlxviz.commands.ways import Progress
    from tlxviz.trace.model import Trace

_BETWEEN = 0.5
"""Seconds between two traces, at least."""
_REST = 4
"""Times as long as writing a trace took, nothing is written: a fifth of the time at most goes to it."""
_TRACE, _DOING, _KEPT, _OUT, _ERR = "live.tlxtrace", "doing.json", "kept", "stdout", "stderr"
_AGAIN = 3.0
"""Seconds that it has to keep what was recorded before it is told harder: a key that is pressed twice is no threat."""
_PATIENCE = 10.0
"""Seconds that a script has to end when the timeline is gone, each time that it is told to."""


class Watch:
    """The script's side: puts traces of what there is so far into a folder.

    Args:
        folder: Where the timeline looks; None where nobody watches, and nothing is done.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._done = threading.Event()
        self._thread: threading.Thread | None = None
        self._told: list[object] = []
        self._process = os.getpid()

    def told(self, progress: Progress) -> Progress:
        """Progress that the timeline is told of as well."""
        if self._folder is None:
            return progress

        def both(kernel: str, done: int, total: int) -> None:
            self._told = [kernel, done, total] if done < total else []
            progress(kernel, done, total)

        return both

    def start(self, so_far: Callable[[], Trace]) -> None:
        """Begins to write what `so_far` gives, which a thread of its own calls."""
        if self._folder is not None:
            arguments = self._folder, so_far
            self._thread = threading.Thread(target=self._write_often, args=arguments, name="tlxviz live", daemon=True)
            self._thread.start()

    def close(self, trace: Trace) -> None:
        """Writes what there is at the end, which must not fail: the trace proper is written elsewhere."""
        if self._folder is None or self._thread is None or os.getpid() != self._process:
            return
        self._done.set()
        with suppress(KeyboardInterrupt):  # one more: the trace proper is still to be written
            self._thread.join()
            self._told = []
            self._write_doing(self._folder)
            _save(self._folder, trace)

    def kept(self, trace: str) -> None:
        """Tells the timeline where the trace proper is: what was looked at is there when it is opened again."""
        if self._folder is not None:
            with suppress(OSError):
                (self._folder / _KEPT).write_text(os.path.abspath(trace))

    def _write_often(self, folder: Path, so_far: Callable[[], Trace]) -> None:
        wait = _BETWEEN
        before: object = None
        while not self._done.wait(wait):
            began = time.monotonic()
            self._write_doing(folder)
            with suppress(Exception):  # a look at something that changes under one's eyes: the next will do
                trace = so_far()
                now = [(launch.kernel, launch.complete, len(launch.events)) for launch in trace.launches]
                if now and now != before:
                    _save(folder, trace)
                    before = now
            wait = max(_BETWEEN, _REST * (time.monotonic() - began))

    def _write_doing(self, folder: Path) -> None:
        with suppress(OSError):
            new = folder / f"{_DOING}.new"
            new.write_text(json.dumps(self._told))
            new.replace(folder / _DOING)


def _save(folder: Path, trace: Trace) -> None:
    from tlxviz.trace import save_trace

    if trace.launches:
        with suppress(TlxvizError, OSError):  # such as a full disk, or a timeline that is gone with its folder
            save_trace(trace, folder / _TRACE, force=True)


class ForkedRun:
    """The timeline's side: the process that runs the script.

    Args:
        pid: Of the process, which leads a group.
        folder: Where it writes.
    """

    def __init__(self, pid: int, folder: Path) -> None:
        self.trace = folder / _TRACE
        self._pid, self._folder = pid, folder
        self._status: int | None = None
        self._told_at = float("-inf")
        self._signals = iter((signal.SIGINT, signal.SIGTERM))
        self._read = {name: (0, codecs.getincrementaldecoder("utf-8")("replace")) for name in (_OUT, _ERR)}

    def poll(self) -> int | None:
        if self._status is None:
            pid, status = os.waitpid(self._pid, os.WNOHANG)
            if pid:
                code = os.waitstatus_to_exitcode(status)
                self._status = code if code >= 0 else 128 - code
        return self._status

    def stop(self) -> None:
        now = time.monotonic()
        if self.poll() is None and now - self._told_at >= _AGAIN:
            self._told_at = now
            with suppress(ProcessLookupError):
                os.killpg(self._pid, next(self._signals, signal.SIGKILL))

    def printed(self) -> str:
        return "".join(self._more(name) for name in self._read)

    def _more(self, name: str) -> str:
        at, decoder = self._read[name]
        with (self._folder / name).open("rb") as file:
            file.seek(at)
            data = file.read()
        self._read[name] = at + len(data), decoder
        return decoder.decode(data)

    def doing(self) -> str:
        try:
            told = cast("list[object]", json.loads((self._folder / _DOING).read_text()))
        except (OSError, ValueError):
            return ""
        return f"{told[0]}, {told[1]} of {told[2]}" if len(told) == 3 else ""

    def kept(self) -> Path | None:
        """Where the trace proper is; None if there is none."""
        try:
            return Path((self._folder / _KEPT).read_text())
        except (OSError, ValueError):
            return None

    def end(self) -> int:
        """Ends it, if it still runs, and gives its exit status."""
        while self.poll() is None:
            self.stop()
            until = time.monotonic() + _PATIENCE
            while self.poll() is None and time.monotonic() < until:
                time.sleep(0.05)
        return self._status or 0


def check_terminal() -> None:
    """Raises UsageError unless there is a terminal to show a timeline in."""
    if lack := terminal.lacking():
        raise UsageError(f"-i shows a timeline in the terminal, and {lack}: run it without -i.")
    if find_spec("textual") is None:
        raise TlxvizError("-i needs the package textual, which is not installed: pip install textual.")


def watched(title: str, script: str) -> Path | int:
    """Goes on in a process of its own, and shows in this one what that does.

    Args:
        title: What the script is called.
        script: Its path, or the module's name: what is kept for the next time goes by it.

    Raises KeysError if the user's keys cannot be read, before anything runs.

    Returns:
        In the new process, the folder in which a `Watch` is expected to write. In this one, when all is over, the exit
        status.
    """
    from tlxviz.tui.settings import keys_file, load_keymap, state_folder
    from tlxviz.tui.store import Store

    keymap = load_keymap(keys_file())
    folder = Path(tempfile.mkdtemp(prefix="tlxviz-"))
    for name in (_OUT, _ERR):
        (folder / name).touch()
    streams.flush()
    pid = os.fork()
    if pid == 0:
        _leave_terminal(folder)
        return folder
    with suppress(OSError):  # the child does the same: whoever comes first
        os.setpgid(pid, pid)
    run = ForkedRun(pid, folder)
    try:
        from tlxviz.tui.live import LiveApp

        store = Store.of_script(state_folder(), script)
        app = LiveApp(run, title, keymap=keymap, store=store)
        app.run()
        status = run.end()
        trace = run.kept()
        if trace is not None and app.status is not None:  # it shows all that there is
            kept = Store.of(state_folder(), trace)
            if kept is not None:
                kept.write(app.state)
        return status
    finally:
        run.end()
        _print_again(folder)
        shutil.rmtree(folder, ignore_errors=True)


def _leave_terminal(folder: Path) -> None:
    """Takes the standard streams off the terminal, which is the timeline's."""
    os.setpgid(0, 0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    for number, name in ((1, _OUT), (2, _ERR)):
        file = os.open(folder / name, os.O_WRONLY | os.O_APPEND)
        os.dup2(file, number)
        os.close(file)
    streams.moved()


def _print_again(folder: Path) -> None:
    """What was printed while the timeline had the screen."""
    with (folder / _OUT).open(encoding="utf-8", errors="replace", newline="") as file:
        while text := file.read(1 << 16):
            streams.write(text)
    errors = (folder / _ERR).read_text(encoding="utf-8", errors="replace").rstrip("\n")
    if errors:
        streams.note(errors)
