"""The state of the simulated device: what the parts of the stand-in for CUDA have in common."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn, Protocol

from tlxviz.launch.device_time import DEFAULT_STREAM, DeviceTime

if TYPE_CHECKING:
    from tlxviz.devices.model import Device
    from tlxviz.launch.model import Launch
    from tlxviz.launch.streams import GenericEvent


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

    def spoil(self) -> None:
        """The capture has failed."""
        ...


class Gpu:
    """One simulated device."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.time = DeviceTime(device.limits.sms)
        self.capture: Capture | None = None
        """The graph that is captured now."""
        self.submit: Callable[[Launch], None] | None = None
        """Executes a launch on the current stream, capture or not; set by who catches launches."""
        self.measured = False
        """The script has recorded an event that measures: from now on, operators of torch take time, too."""
        self.estimated = False
        """The time of an operator of torch was estimated."""
        self._local = threading.local()

    @property
    def stream(self) -> int:
        """Handle of this thread's current stream."""
        return getattr(self._local, "stream", DEFAULT_STREAM)

    @stream.setter
    def stream(self, handle: int) -> None:
        self._local.stream = handle
