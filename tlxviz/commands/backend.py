"""What `run` records with: imported only when something is recorded, and replaceable by a test."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from tlxviz.devices.model import Device
    from tlxviz.launch.model import Launch, LaunchLog
    from tlxviz.trace.model import Trace


class Recorder(Protocol):
    """Executes launches and keeps what they did.

    A launch that hangs, or that Ctrl-C cuts short, is in `trace` before the exception leaves `execute`.
    """

    @property
    def trace(self) -> Trace: ...

    def execute(self, launch: Launch) -> None: ...


class Backend(Protocol):
    def known_devices(self) -> Sequence[str]: ...

    def load_device(self, name: str) -> Device: ...

    def make_recorder(
        self,
        device: Device,
        *,
        kernels: Callable[[str], bool],
        launch_number: int,
        ctas: Sequence[int] | None,
        values: bool,
        progress: Callable[[str, int, int], None] | None,
    ) -> Recorder: ...

    def run_script(
        self, path: Path, argv: Sequence[str], device: Device, execute: Callable[[Launch], None], log: LaunchLog
    ) -> int: ...


class SimulatorBackend:
    """The simulator behind the stand-in for CUDA."""

    def known_devices(self) -> Sequence[str]:
        from tlxviz.devices import known_devices

        return known_devices()

    def load_device(self, name: str) -> Device:
        from tlxviz.devices import load_device

        return load_device(name)

    def make_recorder(self, device: Device, **options: Any) -> Recorder:
        from tlxviz import _triton

        _triton.require()
        from tlxviz.sim.recorder import SimulatedRecorder

        return SimulatedRecorder(device, **options)

    def run_script(
        self, path: Path, argv: Sequence[str], device: Device, execute: Callable[[Launch], None], log: LaunchLog
    ) -> int:
        from tlxviz.launch.script import run_script

        return run_script(path, list(argv), device, execute, log)
