"""The two ways to record a script: with a simulated device, and on the machine's own GPU."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from tlxviz._errors import UsageError
from tlxviz.commands.backend import Backend, GpuRecorder, OwnGpu, Recorder
from tlxviz.commands.beside import Beside
from tlxviz.commands.choices import (
    OnGpu,
    OnGpuFlag,
    parse_count,
    parse_iterations,
    parse_seconds,
)
from tlxviz.embedded.kernel_filter import KernelFilter

if TYPE_CHECKING:
    from tlxviz.devices.model import Device
    from tlxviz.launch.kernels.watch import Call
    from tlxviz.launch.model import LaunchLog
    from tlxviz.probe.options import ProbeOptions
    from tlxviz.sim.recording import Recording
    from tlxviz.trace.model import LaunchTrace, Trace

Progress = Callable[[str, int, int], None]


End = Callable[[BaseException], object]
"""Ends the process, for when nothing else can be done; is given the reason."""
Run = Callable[["Path | str", "LaunchLog", End], int]


class Session:
    """One recording of a script.

    Args:
        recorder: Keeps what is recorded.
        run: Runs the script.
        beside: Simulates what is recorded; None where nobody asked for it.
        unended: Gives the launch that is being recorded, as far as it is; None where that cannot be had.
    """

    def __init__(
        self,
        recorder: Recorder | GpuRecorder,
        run: Run,
        beside: Beside | None = None,
        unended: Callable[[], LaunchTrace | None] | None = None,
    ) -> None:
        self._recorder = recorder
        self._run = run
        self._unended = unended
        self.beside = beside

    @property
    def recordings(self) -> list[Recording]:
        """What is kept of the launches, and for whom."""
        return self._recorder.recordings

    @property
    def trace(self) -> Trace:
        """What was recorded."""
        return self._recorder.trace

    def so_far(self) -> Trace:
        """What was recorded, and of the launch under way what there is. Another thread may ask."""
        from tlxviz.trace.model import Trace

        before = len(self._recorder.trace.launches)
        unended = self._unended() if self._unended is not None else None
        ended = list(self._recorder.trace.launches)
        # one that has ended meanwhile is among these
        return Trace([*ended, unended] if unended is not None and len(ended) == before else ended)

    def run(self, target: Path | str, log: LaunchLog, end: End) -> int:
        """Run the script, or the module of that name, and return its exit status.

        Args:
            target: What to run.
            log: Where it is written down what it launches.
            end: Ends the process, for when nothing else can be done; is given the reason.
        """
        return self._run(target, log, end)


class Way(Protocol):
    doing: str
    units: str
    """The words for what is done to a kernel, and what of it is counted."""

    def begin(self, progress: Progress) -> Session:
        """Make ready to record; `progress` is told the kernel, what is done and how much there is to do."""
        ...


def add_gpu_arguments(parser: argparse.ArgumentParser) -> None:
    """The options that only recordings on a GPU have."""
    group = parser.add_argument_group("on a GPU (--device cuda)")
    group.add_argument(
        "--probes",
        metavar="LIST",
        action=OnGpu,
        default="all",
        help="what gets timestamps: barriers, tma, mma, all (default), or numbers of sites, with commas between",
    )
    group.add_argument(
        "--warps", choices=("first", "all"), action=OnGpu, default="first", help="of each warp group (default: first)"
    )
    group.add_argument(
        "--parts",
        metavar="N",
        type=parse_count,
        action=OnGpu,
        help="spread the timestamps over N launches (default: as few as slow the kernel down by less than 3 %%)",
    )
    group.add_argument(
        "--repeat",
        metavar="N",
        type=parse_count,
        action=OnGpu,
        default=11,
        help="launches with and without timestamps, whose median times tell the slow-down (default: 11)",
    )
    group.add_argument(
        "--iterations",
        metavar="A:B",
        type=parse_iterations,
        action=OnGpu,
        help="keep iterations A to B-1 of innermost loops only",
    )
    group.add_argument(
        "--timeout",
        metavar="SECONDS",
        type=parse_seconds,
        action=OnGpu,
        default=20.0,
        help="after which a launch counts as hanging (default: 20)",
    )
    group.add_argument(
        "--correction",
        choices=("on", "off"),
        action=OnGpu,
        default="on",
        help="off: times as they were measured, with what timestamps cost",
    )
    group.add_argument(
        "--compare-sim",
        action=OnGpuFlag,
        help="simulate the same launches too: a second trace, NAME.sim.tlxtrace, and how the two differ",
    )
    parser.set_defaults(on_gpu=())


class Simulation:
    """With a simulated device in the place of CUDA."""

    doing, units = "simulating", "CTAs"

    def __init__(self, backend: Backend, name: str, arguments: argparse.Namespace) -> None:
        if arguments.on_gpu:
            given = list(dict.fromkeys(arguments.on_gpu))
            raise UsageError(
                f"{' and '.join(given)} {'is' if len(given) == 1 else 'are'} for recordings on a GPU (--device cuda), "
                f"and this one is simulated (sim:{name})."
            )
        self._backend = backend
        self._device = backend.load_device(name)
        self._arguments = arguments

    def begin(self, progress: Progress) -> Session:
        arguments = self._arguments
        recorder = self._backend.make_recorder(
            self._device,
            kernels=KernelFilter(tuple(arguments.kernel)),
            launches=arguments.launch.numbers,
            ctas=arguments.ctas,
            values=arguments.values == "on",
            progress=progress,
        )
        return Session(
            recorder,
            lambda target, log, end: self._run(recorder, target, log),
            unended=lambda: recorder.so_far(),
        )

    def _run(self, recorder: Recorder, target: Path | str, log: LaunchLog) -> int:
        arguments = self._arguments
        return self._backend.run_script(
            target, arguments.arguments, self._device, recorder.execute, log, first_config=arguments.first_config
        )


class Measurement:
    """On the machine's own GPU."""

    doing, units = "measuring", "launches"

    def __init__(self, gpu: OwnGpu, backend: Backend, arguments: argparse.Namespace) -> None:
        if arguments.values == "off":
            raise UsageError(
                "--values off is for simulated devices, and this is a recording on a GPU, which computes its outputs. "
                "Leave it out, or give --device sim:h200."
            )
        self._gpu = gpu
        self._backend = backend
        self._arguments = arguments

    def begin(self, progress: Progress) -> Session:
        arguments = self._arguments
        recorder = self._gpu.make_recorder(
            _probe_options(arguments),
            kernels=KernelFilter(tuple(arguments.kernel)),
            launches=arguments.launch.numbers,
            ctas=arguments.ctas,
            progress=progress,
        )
        beside = Beside(recorder, self._simulator) if arguments.compare_sim else None
        return Session(recorder, lambda target, log, end: self._run(recorder, beside, target, log, end), beside)

    def _simulator(self, device: Device) -> Recorder:
        return self._backend.make_recorder(
            device,
            kernels=lambda name: True,
            launches=None,
            ctas=self._arguments.ctas,
            values=False,
            progress=None,
        )

    def _run(self, recorder: GpuRecorder, beside: Beside | None, target: Path | str, log: LaunchLog, end: End) -> int:
        arguments = self._arguments

        def name_device() -> None:
            recorder.device = self._gpu.device()

        handler = _UntilStuck(recorder, beside or recorder, name_device, end)
        return self._gpu.run_script(target, arguments.arguments, handler, log, first_config=arguments.first_config)


class _Recording(Protocol):
    def handle(self, call: Call) -> Any: ...


class _UntilStuck:
    """Hands launches to a recorder, and goes no further once the GPU is stuck.

    The script is not even unwound, since most of what it could do then, and every object that it would drop, waits for
    the GPU.

    Args:
        recorder: Chooses launches, and knows whether the GPU is stuck.
        recording: Handles them.
        begin: Called before the first one is handled.
        end: Ends the process; is given what the recorder raised.
    """

    def __init__(
        self,
        recorder: GpuRecorder,
        recording: _Recording,
        begin: Callable[[], None],
        end: Callable[[BaseException], object],
    ) -> None:
        self._recorder = recorder
        self._recording = recording
        self._begin: Callable[[], None] | None = begin
        self._end = end

    def expects(self, kernel: str) -> bool:
        return self._recorder.expects(kernel)

    def pass_over(self, kernel: str) -> None:
        self._recorder.pass_over(kernel)

    def handle(self, call: Call) -> Any:
        if self._begin is not None:
            self._begin()
            self._begin = None
        try:
            return self._recording.handle(call)
        except BaseException as error:
            if self._recorder.stuck:
                self._end(error)
            raise


def _probe_options(arguments: argparse.Namespace) -> ProbeOptions:
    from tlxviz.probe.options import ProbeOptions

    return ProbeOptions(
        probes=arguments.probes,
        all_warps=arguments.warps == "all",
        parts=arguments.parts,
        repeat=arguments.repeat,
        iterations=arguments.iterations,
        timeout=arguments.timeout,
        correction=arguments.correction == "on",
    )
