"""The state of the simulated device: what the parts of the stand-in for CUDA have in common."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from enum import Enum
from typing import TYPE_CHECKING, Any, Protocol

import torch

from tlxviz.launch.deferred import Deferred
from tlxviz.launch.device_time import DEFAULT_STREAM, DeviceTime

if TYPE_CHECKING:
    from tlxviz.devices.model import Device
    from tlxviz.launch.model import Launch, LaunchLog


class Need(Enum):
    """What a launch is needed for."""

    VALUES = "its outputs"
    TIME = "its time; its outputs perhaps later"
    TRIAL = "its time alone"


class Capture(Protocol):
    """A CUDA graph while it is captured: it takes launches down instead of letting them run."""

    def launch(self, launch: Launch) -> None: ...


class Gpu:
    """One simulated device.

    Args:
        device: Which one.
        log: Where is written down what the script does with it.
    """

    def __init__(self, device: Device, log: LaunchLog) -> None:
        self.device = device
        self.log = log
        self.time = DeviceTime(device.limits.sms)
        self.capture: Capture | None = None
        """The graph that is captured now."""
        self.submit: Callable[[Launch], Any] = _nobody
        """Executes a launch on the current stream."""
        self.deferred = Deferred()
        """Launches whose outputs nobody has looked at."""
        self.measuring = False
        """Whether the script measures time, so that torch's own operators need one."""
        self._local = threading.local()

    @property
    def stream(self) -> int:
        """Handle of this thread's current stream."""
        return getattr(self._local, "stream", DEFAULT_STREAM)

    @stream.setter
    def stream(self, handle: int) -> None:
        self._local.stream = handle

    @property
    def need(self) -> Need:
        """What this thread's launches are needed for now."""
        return getattr(self._local, "need", Need.VALUES)

    @contextmanager
    def timing(self, *, trial: bool) -> Generator[None]:
        """A block whose launches are timed."""
        before, measuring = self.need, self.measuring
        self._local.need = Need.TRIAL if trial or before is Need.TRIAL else Need.TIME
        self.measuring = True
        try:
            yield
        finally:
            self._local.need = before
            self.measuring = measuring
            with torch._C.DisableTorchFunction():  # pyright: ignore[reportPrivateUsage] # it looks at tensors itself
                self.deferred.forget_unreachable()


def _nobody(launch: Launch) -> None:
    raise AssertionError(f"no one executes {launch.kernel}")
