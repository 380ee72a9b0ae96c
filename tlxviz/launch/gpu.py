"""The state of the simulated device: what the parts of the stand-in for CUDA have in common."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Protocol

from tlxviz.launch.device_time import DEFAULT_STREAM, DeviceTime

if TYPE_CHECKING:
    from tlxviz.devices.model import Device
    from tlxviz.launch.model import Launch


class Capture(Protocol):
    """A CUDA graph while it is captured: it takes launches down instead of letting them run."""

    def launch(self, launch: Launch) -> None: ...


class Gpu:
    """One simulated device."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.time = DeviceTime(device.limits.sms)
        self.capture: Capture | None = None
        """The graph that is captured now."""
        self._local = threading.local()

    @property
    def stream(self) -> int:
        """Handle of this thread's current stream."""
        return getattr(self._local, "stream", DEFAULT_STREAM)

    @stream.setter
    def stream(self, handle: int) -> None:
        self._local.stream = handle
