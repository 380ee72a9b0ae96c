"""Signals that end the program: Ctrl-C while modules are imported, and a request to terminate."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType
from typing import Any


@contextmanager
def importing() -> Generator[None]:
    """A block of imports that Ctrl-C ends with KeyboardInterrupt, whatever they make of it.

    The initialisation of numpy, for one, answers it with an ImportError that does not say why.
    """
    pressed = False

    def handler(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        pressed = True
        signal.default_int_handler(number, frame)

    ours = (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )
    if ours:
        signal.signal(signal.SIGINT, handler)
    try:
        yield
    except Exception as error:
        if pressed:
            raise KeyboardInterrupt from error
        raise
    finally:
        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)
    if pressed:
        raise KeyboardInterrupt


class Terminated(KeyboardInterrupt):
    """The process was told to end by a signal other than Ctrl-C's."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.exit_code = 128 + number


@contextmanager
def terminations() -> Generator[None]:
    """A block that SIGTERM and SIGHUP end as Ctrl-C does, so that what was recorded is kept.

    A script that handles them itself goes on doing so. Processes that it forks, as a pool of workers does, end at once:
    nothing is kept of them.
    """
    process = os.getpid()

    def handler(number: int, frame: FrameType | None) -> None:
        if os.getpid() != process:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        raise Terminated(number)

    before: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is signal.SIG_DFL:
                before[number] = signal.signal(number, handler)
    try:
        yield
    finally:
        for number, old in before.items():
            if signal.getsignal(number) is handler:
                signal.signal(number, old)
