"""How far a long simulation is, on a terminal."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Self

from tlxviz.commands import streams

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

PATIENCE = 1.0
"""Seconds of a launch before its progress shows."""
_BETWEEN = 0.1
"""Seconds between two drawings."""


class LaunchProgress:
    """Draws what is done, and the time left, of the launch being recorded; call it with (kernel, done, total).

    It draws nothing where stderr is no terminal, and has left the screen whenever the script itself runs.

    Args:
        shown: Whether it draws at all.
        clock: Seconds.
        doing: What is done to the kernel.
        units: What is counted.
    """

    def __init__(
        self,
        *,
        shown: bool = True,
        clock: Callable[[], float] = time.monotonic,
        doing: str = "simulating",
        units: str = "CTAs",
    ) -> None:
        self._words = doing, units
        stream = streams.stderr()
        self._shown = shown and stream is not None and stream.isatty()
        self._clock = clock
        self._kernel: str | None = None
        self._begun = self._drawn = 0.0
        self._bar: tuple[Progress, TaskID] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __call__(self, kernel: str, done: int, total: int) -> None:
        if not self._shown:
            return
        now = self._clock()
        if self._kernel != kernel:
            self.close()
            self._kernel, self._begun = kernel, now
        if done >= total:
            self.close()
        elif now - self._begun >= PATIENCE and now - self._drawn >= _BETWEEN:
            self._drawn = now
            self._draw(kernel, done, total, now - self._begun)

    def close(self) -> None:
        """Take the bar off the screen; the next call begins a launch."""
        if self._bar is not None:
            self._bar[0].stop()
        self._kernel = self._bar = None

    def _draw(self, kernel: str, done: int, total: int, elapsed: float) -> None:
        if self._bar is None:
            self._bar = _start(kernel, total, *self._words)
        progress, task = self._bar
        left = f"{elapsed / done * (total - done):.0f} s left" if done else ""
        progress.update(task, completed=done, total=total, left=left)
        progress.refresh()


def _start(kernel: str, total: int, doing: str, units: str) -> tuple[Progress, TaskID]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    # The kernel's own prints go to stdout as they are, so nothing may be redirected, and the simulation keeps its core:
    # no thread draws.
    progress = Progress(
        TextColumn(doing + " {task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(units + "  {task.fields[left]}"),
        console=Console(file=streams.stderr(), stderr=True, markup=False, highlight=False),
        transient=True,
        auto_refresh=False,
        redirect_stdout=False,
        redirect_stderr=False,
    )
    progress.start()
    return progress, progress.add_task(kernel, total=total, left="")
