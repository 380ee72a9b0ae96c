"""What `run` records with: imported only when something is recorded, and replaceable by a test."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from tlxviz.check.checker import Checked
    from tlxviz.check.schedules import Schedule
    from tlxviz.devices.model import Device
    from tlxviz.ir.program import Program
    from tlxviz.launch.kernels.watch import Call, Handler
    from tlxviz.launch.model import Executed, Launch, LaunchLog
    from tlxviz.probe.options import ProbeOptions
    from tlxviz.sim.errors import SimulationError
    from tlxviz.sim.model import CaughtLaunch
    from tlxviz.sim.recording import Recording
    from tlxviz.trace.model import LaunchTrace, Trace


class Recorder(Protocol):
    """Executes launches and keeps what they did.

    A launch that hangs, or that Ctrl-C cuts short, is in `trace` before the exception leaves `execute`.
    """

    recordings: list[Recording]
    """What is kept of the launches, and for whom."""

    @property
    def trace(self) -> Trace: ...

    def execute(self, launch: Launch) -> Executed | None: ...

    def so_far(self) -> LaunchTrace | None:
        """The launch that is being executed, if it is one to record, as far as it is. Another thread may ask."""
        ...


class Checker(Protocol):
    """Looks for faults in launches, and in the text of kernels."""

    def check(self, launch: CaughtLaunch) -> Checked:
        """Raises UnsupportedOperation where it cannot."""
        ...

    def ended(self, launch: CaughtLaunch, error: SimulationError) -> Checked:
        """What an error that has ended a launch shows."""
        ...

    def read(self, program: Program) -> Checked:
        """What the text of a kernel alone shows."""
        ...

    @property
    def programs(self) -> Sequence[Program]:
        """The kernels that it has seen."""
        ...

    def trace(self, launch: CaughtLaunch) -> LaunchTrace:
        """What a launch does under the schedule that is checked."""
        ...


class GpuRecorder(Protocol):
    """Records launches on the machine's own GPU."""

    recordings: list[Recording]
    """What is kept of the launches, and for whom."""
    device: Device
    """What the machine model says of the GPU."""
    stuck: bool
    """Whether a kernel will never end, so that nothing can be done with the GPU any more."""

    @property
    def trace(self) -> Trace: ...

    def expects(self, kernel: str) -> bool: ...

    def pass_over(self, kernel: str) -> None: ...

    def handle(self, call: Call) -> Any: ...


class OwnGpu(Protocol):
    """Recording on the machine's own GPU."""

    def obstacle(self) -> str | None:
        """Why no kernel can run on it; None if they can."""
        ...

    def make_recorder(
        self,
        options: ProbeOptions,
        *,
        kernels: Callable[[str], bool],
        launches: Collection[int] | None,
        ctas: Sequence[int] | None,
        progress: Callable[[str, int, int], None] | None,
    ) -> GpuRecorder: ...

    def run_script(
        self, target: Path | str, argv: Sequence[str], handler: Handler, log: LaunchLog, *, first_config: bool
    ) -> int:
        """Run a script, or the module of that name."""
        ...

    def device(self) -> Device:
        """What the machine model says of the GPU in use. It initialises CUDA."""
        ...


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

    def make_checker(
        self, device: Device, *, seconds: float, schedules: int | None, replay: Schedule | None
    ) -> Checker:
        """What checks launches under so many schedules, or under one alone."""
        ...

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

    def make_checker(
        self, device: Device, *, seconds: float, schedules: int | None, replay: Schedule | None
    ) -> Checker:
        from tlxviz.check.checker import SCHEDULES, Checker

        return Checker(device, seconds=seconds, schedules=schedules or SCHEDULES, replay=replay)

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


class Gpu:
    """The machine's own GPU, and a recorder that puts timestamps into kernels."""

    def obstacle(self) -> str | None:
        if not any(any(Path("/dev").glob(name)) for name in _DEVICE_FILES):
            return "this machine has no NVIDIA GPU that this process may use (no /dev/nvidia0)"
        from tlxviz import _triton

        _triton.require()
        from tlxviz.launch.real import obstacle

        return obstacle()

    def make_recorder(
        self,
        options: ProbeOptions,
        *,
        kernels: Callable[[str], bool],
        launches: Collection[int] | None,
        ctas: Sequence[int] | None,
        progress: Callable[[str, int, int], None] | None,
    ) -> GpuRecorder:
        from tlxviz.devices import load_device
        from tlxviz.probe.recorder import ProbingRecorder
        from tlxviz.sim.recording import Recording

        # Which GPU it is, CUDA says once the script has initialised it.
        return ProbingRecorder(Recording(kernels, launches, ctas), options, load_device(_NEAREST), progress)

    def run_script(
        self, target: Path | str, argv: Sequence[str], handler: Handler, log: LaunchLog, *, first_config: bool
    ) -> int:
        from tlxviz.launch.script import Module, run_on_gpu

        program = Module(target) if isinstance(target, str) else target
        return run_on_gpu(program, list(argv), handler, log, first_config=first_config)

    def device(self) -> Device:
        from tlxviz.launch.real import gpu_name

        return nearest_device(gpu_name())


_DEVICE_FILES = ("nvidia[0-9]*", "dxg", "nvhost-gpu", "nvgpu*")
"""One of which is there where a GPU is: a driver's own, that of WSL, and those of Tegra."""
_NEAREST = "h200"


def nearest_device(gpu: str) -> Device:
    """The device of that name, or else the figures of another under it."""
    from tlxviz.devices import known_devices, load_device

    words = re.split(r"\W+", gpu.lower())  # an H200, and not a GH200
    known = next((name for name in known_devices() if name in words), None)
    if known is not None:
        return load_device(known)
    return replace(load_device(_NEAREST), title=gpu, cuda_name=gpu)
