"""Threads that the script starts: a stand-in for CUDA holds in them, and the script ends when they have."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from weakref import WeakSet

from tlxviz.launch.patching import Scope

Failed = Callable[[threading.ExceptHookArgs], object]


class Threads:
    """The threads that are started while the scope lasts."""

    def __init__(self) -> None:
        self._started: WeakSet[threading.Thread] = WeakSet()
        self._over = False
        """Whether the script has ended."""

    def install(self, scope: Scope, mode: AbstractContextManager[object], failed: Failed) -> None:
        """Put it into force until `scope` ends.

        Args:
            scope: Takes it back.
            mode: Holds in each thread.
            failed: Gets what a thread raised, unless the script asks for it.
        """
        start = threading.Thread.start

        def start_in_mode(thread: threading.Thread) -> None:
            # Wrapped here and not in the class, because a subclass may have a `run` of its own.
            body = thread.run

            def run() -> None:
                try:
                    with mode:  # torch keeps modes by thread
                        body()
                except BaseException:
                    if not (self._over and thread.daemon):  # Python stops those wherever they are
                        raise

            vars(thread)["run"] = run
            self._started.add(thread)
            start(thread)

        scope.set_attr(threading.Thread, "start", start_in_mode)
        scope.set_attr(threading, "excepthook", failed)

    def join(self) -> None:
        """Wait for those that Python would wait for at the end of the script."""
        while waited := [thread for thread in self._started if thread.is_alive() and not thread.daemon]:
            for thread in waited:
                thread.join()
        self._over = True
