"""Stdout is data, stderr is everything else, and a reader that has gone is no error.

The streams are those that the program was started with, whatever the script does to `sys.stdout`.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TextIO, cast

if TYPE_CHECKING:
    from tlxviz.reporters import Reporter

_REASONS = {errno.ENOSPC: "no space is left on the device", errno.EBADF: "it is closed"}
_scripts_own: list[Any] = []
"""What scripts put in the place of `sys.stdout`. Kept, because it closes the descriptor that it shares when it goes."""


class Channel:
    """A standard stream, and a second way to it for when a script has closed it."""

    def __init__(self, stream: TextIO | None, *, copied: bool = False) -> None:
        self.stream = stream
        self.lost: str | None = None
        """Why nothing can be written; None while it can, or where the reader has gone."""
        self._gone = False
        self._copy = _duplicate(stream) if copied else None

    def usable(self) -> TextIO | None:
        """The stream, or another on the same file; None where there is none."""
        if self._gone:
            return None
        if _is_open(self.stream):
            return self.stream
        if self._copy is not None:
            encoding = getattr(self.stream, "encoding", None) or "utf-8"
            with suppress(OSError):  # the script may have closed every descriptor that it can think of
                self.stream = os.fdopen(self._copy, "w", encoding=encoding, errors="replace")
                self._copy = None
                return self.stream
        self._give_up("it is closed")
        return None

    def guard(self) -> _Guard:
        return _Guard(self)

    def fail(self, error: OSError) -> None:
        """Nothing that is buffered, or comes, is written any more: the interpreter flushes once more when it ends."""
        if not isinstance(error, BrokenPipeError):
            self._give_up(_REASONS.get(error.errno or 0) or error.strerror or str(error))
        self._gone = True
        if self.stream is not None:
            _discard(self.stream)

    def copy_again(self) -> None:
        """The stream's descriptor has become another file."""
        if self._copy is not None:
            self.close()
            self._copy = _duplicate(self.stream)

    def close(self) -> None:
        if self._copy is not None:
            with suppress(OSError):
                os.close(self._copy)
            self._copy = None

    def _give_up(self, reason: str) -> None:
        self.lost = self.lost or reason
        self._gone = True


class _Guard:
    """A block whose OSErrors are failures of the channel."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> bool:
        if not isinstance(error, OSError):
            return False
        self._channel.fail(error)
        return True


class _Streams:
    def __init__(self, *, copied: bool = False) -> None:
        self.out = Channel(sys.stdout, copied=copied)
        self.err = Channel(sys.stderr, copied=copied)
        self.failed = False
        """An error message was given."""


_opened: list[_Streams] = []


@contextmanager
def remembered() -> Generator[None]:
    """Take the streams as they are now for the program's own, and put them back at the end."""
    _fill_descriptors()
    streams = _Streams(copied=True)
    before = sys.stdout, sys.stderr
    _opened.append(streams)
    try:
        yield
    finally:
        _opened.pop()
        # A stream that the script has taken apart cannot be flushed, which the interpreter does when it ends.
        sys.stdout = before[0] if before[0] is None or _is_open(before[0]) else sys.stdout
        sys.stderr = before[1] if before[1] is None or _is_open(before[1]) else sys.stderr
        streams.out.close()
        streams.err.close()


def moved() -> None:
    """The standard descriptors have become other files: what is said from now on goes there."""
    streams = _current()
    streams.out.copy_again()
    streams.err.copy_again()


def note(text: str) -> None:
    """A line for the person at the terminal."""
    _write(_current().err, text + "\n")


def fail(message: str) -> None:
    """The one line that says why the program stops."""
    streams = _current()
    streams.failed = True
    _write(streams.err, f"tlxviz: error: {message}\n")


def write(text: str) -> None:
    """Text to stdout, such as help."""
    _write(_current().out, text)


def stdout() -> TextIO | None:
    return _current().out.usable()


def stderr() -> TextIO | None:
    return _current().err.usable()


def render(reporter: Reporter) -> None:
    """Write a report to stdout; characters that it cannot encode become `?`."""
    channel = _current().out
    stream = channel.usable()
    if stream is None:
        return
    reconfigure = getattr(stream, "reconfigure", None)
    with channel.guard():
        if reconfigure is not None:
            reconfigure(errors="replace")
        reporter.render(stream)
        stream.flush()


def flush() -> None:
    """Empty stdout's buffer, and that of what a script put in its place, while a failure can still be handled."""
    channel = _current().out
    if sys.stdout is not channel.stream:
        with suppress(Exception):  # it is the script's, and may be anything
            sys.stdout.flush()
        _scripts_own.append(sys.stdout)
        sys.stdout = cast("TextIO", channel.stream)
    if _is_open(channel.stream):
        with channel.guard():
            cast("TextIO", channel.stream).flush()


def finish(status: int, otherwise: int) -> int:
    """The exit status after all was written: `otherwise` instead of 0 where stdout took less than all."""
    flush()
    streams = _current()
    if streams.out.lost is None:
        return status
    if not streams.failed:
        fail(f"cannot write to stdout: {streams.out.lost}.")
    return status or otherwise


def end_process(status: int, otherwise: int) -> None:
    """End at once, with what was written: no other thread, handler of an exit or destructor runs any more."""
    status = finish(status, otherwise)
    for stream in (sys.stderr, _current().err.stream):
        with suppress(Exception):
            if stream is not None:
                stream.flush()
    os._exit(status)


def _current() -> _Streams:
    return _opened[-1] if _opened else _Streams()


def _write(channel: Channel, text: str) -> None:
    stream = channel.usable()
    if stream is not None:
        with channel.guard():
            stream.write(text)
            stream.flush()


def _is_open(stream: TextIO | None) -> bool:
    try:
        return stream is not None and not stream.closed
    except ValueError:  # detached from its buffer
        return False


def _fill_descriptors() -> None:
    """Give a closed standard descriptor to the null device: the next file that is opened would get its number."""
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            with suppress(OSError):
                os.open(os.devnull, os.O_RDWR)


def _duplicate(stream: TextIO | None) -> int | None:
    try:
        return None if stream is None else os.dup(stream.fileno())
    except (OSError, ValueError, AttributeError):
        return None


def _discard(stream: TextIO) -> None:
    with suppress(OSError, ValueError, AttributeError):
        descriptor = stream.fileno()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, descriptor)
        os.close(nowhere)
