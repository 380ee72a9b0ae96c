"""What `run` records with: imported only when something is recorded, and replaceable by a test."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from tlxviz.devices.model import Device
    from tlxviz.launch.model import Executed, Launch, LaunchLog
    from tlxviz.sim.recording import Recording
    from tlxviz.trace.model import Trace


class Recorder(Protocol):
    """Executes launches and keeps what they did.

    A launch that hangs, or that Ctrl-C cuts short, is in `trace` before the exception leaves `execute`.
    """

    recordings: list[Recording]
    """What is kept of the launches, and for whom."""

    @property
    def trace(self) -> Trace: ...

    def execute(self, launch: Launch) -> Executed | None: ...


class Backend(Protocol):
    def known_devices(self) -> Sequence[str]: ...

    def load_device(self, name: str) -> Device: ...

    def make_recorder(
        self,
        device: Device,
        *,
        kernels: Callable[[str], bool],
        launches: Collection[int] | None,
        ctas: Sequence[int] | None,
        values: bool,
        progress: Callable[[str, int, int], None] | None,
    ) -> Recorder: ...

    def run_script(
        self,
        target: Path | str,
        argv: Sequence[str],
        device: Device,
        execute: Callable[[Launch], Executed | None],
        log: LaunchLog,
        *,
        first_config: bool,
    ) -> int:
        """Run a script, or the module of that name."""
        ...


class SimulatorBackend:
    """The simulator behind the stand-in for CUDA."""

    def known_devices(self) -> Sequence[str]:
        from tlxviz.devices import known_devices

        return known_devices()

    def load_device(self, name: str) -> Device:
        from tlxviz.devices import load_device

        return load_device(name)

    def make_recorder(
        self,
        device: Device,
        *,
        kernels: Callable[[str], bool],
        launches: Collection[int] | None,
        ctas: Sequence[int] | None,
        values: bool,
        progress: Callable[[str, int, int], None] | None,
    ) -> Recorder:
        from tlxviz import _triton

        _triton.require()
        from tlxviz.sim.recorder import SimulatedRecorder
        from tlxviz.sim.recording import Recording

        return SimulatedRecorder(device, Recording(kernels, launches, ctas), values=values, progress=progress)

    def run_script(
        self,
        target: Path | str,
        argv: Sequence[str],
        device: Device,
        execute: Callable[[Launch], Executed | None],
        log: LaunchLog,
        *,
        first_config: bool,
    ) -> int:
        from tlxviz.launch.script import Module, run_script

        program = Module(target) if isinstance(target, str) else target
        return run_script(program, list(argv), device, execute, log, first_config=first_config)
