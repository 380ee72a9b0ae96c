"""Launches of one kernel with the same memory before each, and how long they take."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from contextlib import suppress

import torch

from tlxviz.probe.memory import wait_for

Launch = Callable[[], object]

_HEAD_START_CYCLES = 1_000_000
"""How long the GPU is kept busy before a timed launch, so that the time of making the launch does not count."""
_SHARE = 0.4  # of the free memory


class Restorer:
    """Puts the tensors that a kernel may write back to what they held."""

    def __init__(self, tensors: Sequence[torch.Tensor]) -> None:
        storages = {tensor.untyped_storage().data_ptr(): tensor.untyped_storage() for tensor in tensors}
        self._kept: list[tuple[torch.UntypedStorage, torch.UntypedStorage]] | None = []
        needed = sum(storage.nbytes() for storage in storages.values())
        if needed > _SHARE * torch.cuda.mem_get_info()[0]:
            self._kept = None
            return
        for storage in storages.values():
            if storage.nbytes():
                self._kept.append((storage, storage.clone()))

    @property
    def possible(self) -> bool:
        """Whether there was room for a copy."""
        return self._kept is not None

    def restore(self) -> None:
        for storage, before in self._kept or ():
            storage.copy_(before, non_blocking=True)


class TooLong(Exception):
    """A launch has not ended in time."""


class Watchdog:
    """Waits for launches, but not for ever."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._pending: torch.cuda.Event | None = None

    @property
    def running(self) -> bool:
        """Whether the last launch has not ended."""
        return self._pending is not None and not self._pending.query()

    def finish(self, launch: Launch) -> object:
        """Launches, and waits for the end.

        Raises:
            TooLong: there was none in time.
        """
        torch.cuda.current_stream().synchronize()
        made = launch()
        end = torch.cuda.Event()
        end.record()
        self.wait(end)
        return made

    def wait(self, end: torch.cuda.Event) -> None:
        """Waits for an event behind a launch.

        Raises:
            TooLong: it did not come in time.
        """
        self._pending = end
        if not wait_for(end, self.seconds):
            raise TooLong


def median_ms(launches: Sequence[Launch], before: Callable[[], None], rounds: int, watchdog: Watchdog) -> list[float]:
    """The median time of each of several launches, taken in turn so that they meet the same clocks.

    Args:
        launches: What launches each.
        before: Called before each launch.
        rounds: How often.
        watchdog: Waits for each.

    Returns:
        Milliseconds.

    Raises:
        TooLong: one has not ended in time.
    """
    times: list[list[float]] = [[] for _ in launches]
    for _ in range(rounds):
        for launch, own in zip(launches, times, strict=True):
            before()
            first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            with suppress(AttributeError):  # no more than a convenience of torch's own tests
                torch.cuda._sleep(_HEAD_START_CYCLES)  # pyright: ignore[reportPrivateUsage, reportUnknownMemberType]
            first.record()
            launch()
            last.record()
            watchdog.wait(last)
            own.append(first.elapsed_time(last))
    return [statistics.median(own) for own in times]
