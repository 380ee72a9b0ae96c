"""The state of the simulated device: what the parts of the stand-in for CUDA have in common."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from enum import Enum
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

import torch

from tlxviz.launch.device.clock import DEFAULT_STREAM, DeviceTime
from tlxviz.launch.device.deferred import Deferred
from tlxviz.launch.model import LaunchLog

if TYPE_CHECKING:
    from tlxviz.devices.model import Device
    from tlxviz.launch.cuda.streams import GenericEvent
    from tlxviz.launch.model import Launch


class Need(Enum):
    """What a launch is needed for."""

    VALUES = "its outputs"
    TIME = "its time; its outputs perhaps later"
    TRIAL = "its time alone"


class Capture(Protocol):
    """A CUDA graph while it is captured: it takes launches down instead of letting them run."""

    def launch(self, launch: Launch) -> None: ...

    def covers(self, stream: int) -> bool:
        """Is work of the stream taken down?"""
        ...

    def concerns(self, event: GenericEvent, stream: int) -> bool:
        """Is it taken down that the stream waits for the event?"""
        ...

    def holds(self, event: GenericEvent) -> bool:
        """Was the event last recorded in this capture?"""
        ...

    def record(self, event: GenericEvent, stream: int) -> None: ...

    def wait(self, event: GenericEvent, stream: int) -> None: ...

    def refuse(self) -> NoReturn:
        """Raise what CUDA says where the host would wait for the device; the capture fails with it."""
        ...

    def refuse_copy(self) -> NoReturn:
        """Raise what torch says of a copy between the device and pageable memory of the host."""
        ...

    def operators(self) -> AbstractContextManager[Any]:
        """Operators of torch that run meanwhile are taken down."""
        ...

    def spoil(self) -> None:
        """The capture has failed."""
        ...


class Gpu:
    """One simulated device.

    Args:
        device: Which one.
        log: Where is written down what the script does with it.
    """

    def __init__(self, device: Device, log: LaunchLog | None = None) -> None:
        self.device = device
        self.log = LaunchLog() if log is None else log
        self.time = DeviceTime(device.limits.sms)
        self.capture: Capture | None = None
        """The graph that is captured now."""
        self.submit: Callable[[Launch], Any] = _nobody
        """Executes a launch on the current stream, captured or not."""
        self.lock = threading.RLock()
        """Held by the thread that launches: neither Triton's caches nor what executes a launch is made for two."""
        self.deferred = Deferred(self.lock)
        """Launches whose outputs nobody has looked at."""
        self.events = False
        """Whether the script has recorded an event that measures."""
        self._local = threading.local()

    @property
    def stream(self) -> int:
        """Handle of this thread's current stream."""
        return getattr(self._local, "stream", DEFAULT_STREAM)

    @stream.setter
    def stream(self, handle: int) -> None:
        self._local.stream = handle

    @property
    def measured(self) -> bool:
        """Whether operators of torch take time, too: an event was recorded, or this thread is timing something."""
        return self.events or self.need is not Need.VALUES

    @property
    def need(self) -> Need:
        """What this thread's launches are needed for now."""
        return getattr(self._local, "need", Need.VALUES)

    @contextmanager
    def timing(self, *, trial: bool) -> Generator[None]:
        """A block whose launches are timed."""
        before = self.need
        self._local.need = Need.TRIAL if trial or before is Need.TRIAL else Need.TIME
        try:
            yield
        finally:
            self._local.need = before
            with torch._C.DisableTorchFunction():  # pyright: ignore[reportPrivateUsage] # it looks at tensors itself
                self.deferred.forget_unreachable()


def _nobody(launch: Launch) -> None:
    raise AssertionError(f"no one executes {launch.kernel}")
