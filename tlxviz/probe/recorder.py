"""Records launches on a GPU: each with timestamps, beside it the same without, and a replay that explains them."""

from __future__ import annotations

from typing import Any

from tlxviz.devices.model import Device
from tlxviz.probe.options import ProbeOptions
from tlxviz.probe.plan import Choice, equal_shares
from tlxviz.probe.search import Way
from tlxviz.probe.session import Call, GpuHang, Progress, Session
from tlxviz.sim.recording import Recording
from tlxviz.trace.model import Trace


class ProbingRecorder:
    """Records launches of kernels on the GPU.

    Args:
        recording: What to keep; more can be added to `recordings` at any time.
        options: How to record.
        device: What the machine model says of the GPU.
        progress: Called with the kernel's name, the launches of it that have been made, and how many there will be.

    Raises:
        UsageError: the options name probes that there are none of.
    """

    def __init__(
        self, recording: Recording, options: ProbeOptions, device: Device, progress: Progress | None = None
    ) -> None:
        self._first = recording
        self.recordings = [recording]
        """Those that are told of each launch."""
        self.device = device
        self.stuck = False
        """Whether a kernel is still running that may never end, so that the GPU cannot be used any more."""
        self._options = options
        self._choice = Choice.parse(options.probes)
        self._progress = progress
        self._ways: dict[object, Way] = {}
        """By what a session calls `key`, how a kernel is recorded best."""

    @property
    def trace(self) -> Trace:
        """Of the first recording."""
        return self._first.trace

    def expects(self, kernel: str) -> bool:
        """Is the next launch of `kernel` one that somebody wants to see?"""
        return any(each.expects(kernel) for each in self.recordings)

    def pass_over(self, kernel: str) -> None:
        """Count a launch that is not handled."""
        for each in self.recordings:
            each.counts(kernel)

    def handle(self, call: Call) -> Any:
        """Records one launch, and leaves memory as that one launch does.

        Returns:
            What the launch gives; None if it has not been made.

        Raises:
            GpuHang: it did not end in time; the trace holds what it did until then.
            RecordMismatch: it did not do what its replay says.
            SimulationError: it cannot be replayed.
        """
        asking = [each for each in self.recordings if each.counts(call.name)]
        plain = call.compile()
        if plain is None or not asking:
            return None
        ctas = sorted({number for each in asking for number in each.ctas or ()})
        first_sm = any(each.ctas is None for each in asking)
        session = Session(
            call, plain, self.device, self._options, self._choice, ctas, first_sm=first_sm, progress=self._progress
        )
        trace = session.lacking()
        try:
            if trace is not None:
                return None
            asked = self._options.parts
            attempt = session.record(Way(equal_shares(asked)) if asked else self._ways.get(session.key))
            trace = session.trace(attempt)
        except GpuHang as hang:
            self.stuck, trace = True, hang.trace
            raise
        except BaseException:
            self.stuck = session.watchdog.running
            raise
        finally:
            if trace is not None:
                for each in asking:
                    each.trace.launches.append(trace)
        if attempt.rounds and asked is None:
            self._ways[session.key] = Way(attempt.plan.shares, attempt.plan.everywhere)
        return attempt.kernel
