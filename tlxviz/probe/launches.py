"""Launches of one kernel with the same memory before each, and how long they take."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from contextlib import suppress

import torch

from tlxviz._errors import TlxvizError
from tlxviz.probe.memory import wait_for

Launch = Callable[[], object]

_HEAD_START_CYCLES = 1_000_000
"""How long the GPU is kept busy before a timed launch, so that the time of making the launch does not count."""
_SHARE = 0.4  # of the free memory


class Restorer:
    """Puts the tensors that a kernel may write back to what they held.

    Args:
        tensors: These.
        possible: Whether they are all that it may write.
    """

    def __init__(self, tensors: Sequence[torch.Tensor], *, possible: bool = True) -> None:
        self._kept: list[tuple[torch.UntypedStorage, torch.UntypedStorage]] | None = None
        if not possible:
            return
        torch.cuda.synchronize()  # work of other streams may be about to write them
        storages = {tensor.untyped_storage().data_ptr(): tensor.untyped_storage() for tensor in tensors}
        needed = sum(storage.nbytes() for storage in storages.values())
        if needed > _SHARE * torch.cuda.mem_get_info()[0]:
            return
        self._kept = []
        for storage in storages.values():
            if storage.nbytes():
                self._kept.append((storage, storage.clone()))

    @property
    def possible(self) -> bool:
        """Whether they can be put back; not if there is no room for a copy."""
        return self._kept is not None

    def restore(self) -> None:
        """Put them back, on the current stream."""
        for storage, before in self._kept or ():
            storage.copy_(before, non_blocking=True)


class TooLong(Exception):
    """A launch has not ended in time."""


class GpuFault(TlxvizError):
    """A kernel did what the GPU does not survive."""


class Watchdog:
    """Waits for launches, but not for ever.

    Args:
        seconds: How long.
        kernel: Whose launches they are.
    """

    def __init__(self, seconds: float, kernel: str) -> None:
        self.seconds = seconds
        self._kernel = kernel
        self._pending: torch.cuda.Event | None = None

    @property
    def running(self) -> bool:
        """Whether the last launch has not ended."""
        if self._pending is None:
            return False
        try:
            return not self._pending.query()
        except RuntimeError:  # the kernel has failed, which is an end, too
            return False

    def finish(self, launch: Launch) -> object:
        """Launches, and waits for the end.

        Raises:
            TooLong: there was none in time.
        """
        before = torch.cuda.Event()
        before.record()
        wait_for(before, math.inf)  # work of the program's own may take its time, and Ctrl-C is heard
        made = launch()
        end = torch.cuda.Event()
        end.record()
        self.wait(end)
        return made

    def wait(self, end: torch.cuda.Event) -> None:
        """Waits for an event behind a launch.

        Raises:
            TooLong: it did not come in time.
            GpuFault: the kernel failed.
        """
        self._pending = end
        try:
            ended = wait_for(end, self.seconds)
        except RuntimeError as error:
            raise GpuFault(
                f"kernel {self._kernel} failed on the GPU: {str(error).splitlines()[0]}. Does the script run without "
                "tlxviz? 'compute-sanitizer python script.py' names the place"
            ) from error
        if not ended:
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
