"""A simulation beside a recording on a GPU: the same launches, each simulated before it runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tlxviz.commands.backend import GpuRecorder, Recorder

if TYPE_CHECKING:
    from tlxviz.devices.model import Device
    from tlxviz.launch.kernels.watch import Call
    from tlxviz.trace.model import Trace


class Beside:
    """Simulates what a recorder of the GPU records.

    Args:
        recorder: Records on the GPU.
        simulate: Makes the recorder that simulates on a device; asked once CUDA has said which GPU it is.
    """

    def __init__(self, recorder: GpuRecorder, simulate: Callable[[Device], Recorder]) -> None:
        self._recorder = recorder
        self._simulate = simulate
        self._simulator: Recorder | None = None
        self.pairs: list[tuple[int, int]] = []
        """Numbers of a measured launch, and of the same one simulated, in their traces."""

    @property
    def trace(self) -> Trace | None:
        """The simulated launches; None before the first."""
        return None if self._simulator is None else self._simulator.trace

    def handle(self, call: Call) -> Any:
        """Simulate a launch, from copies of its arguments as they are before it, and record it.

        A launch that cannot be simulated is recorded all the same, with a warning.
        """
        from tlxviz.launch.kernels.shadow import Shadow

        if self._simulator is None:
            self._simulator = self._simulate(self._recorder.device)
        simulated = self._simulator.trace.launches
        before = len(simulated), len(self._recorder.trace.launches)
        try:
            Shadow(_Every(self._simulator)).handle(call)
            return self._recorder.handle(call)
        finally:
            added = len(simulated) > before[0], len(self._recorder.trace.launches) > before[1]
            if all(added):
                self.pairs.append((before[1], before[0]))
            else:  # recorded for others than this trace, or not at all
                del simulated[before[0] :]


class _Every:
    """Executes whatever it is given: the recorder of the GPU has chosen already."""

    def __init__(self, recorder: Recorder) -> None:
        self.execute = recorder.execute

    def expects(self, kernel: str) -> bool:
        return True

    def pass_over(self, kernel: str) -> None:
        pass
