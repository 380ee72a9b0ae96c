"""Executes launches by simulation and records them as a Trace."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch

from tlxviz._version import __version__
from tlxviz.devices.model import Device
from tlxviz.ir.program import Program
from tlxviz.sim.compiler import CompiledKernel
from tlxviz.sim.dispatch import Dispatcher, Outcome, Tracing
from tlxviz.sim.effects import computes_addresses, multiplies, shares, talks
from tlxviz.sim.errors import HangError
from tlxviz.sim.footprint import footprint
from tlxviz.sim.kernels import CYCLE_LIMIT, Kernels, quiet_process, written_tensors
from tlxviz.sim.limits import check_launch
from tlxviz.sim.model import CaughtLaunch
from tlxviz.sim.placement import Placement, place
from tlxviz.sim.pointers import reached_from
from tlxviz.sim.reach import reach
from tlxviz.sim.record import launch_cycles, launch_trace, tensor_of
from tlxviz.sim.recording import Recording
from tlxviz.sim.unit import Options
from tlxviz.trace.model import LaunchTrace, Trace

_SAMPLES = 8
_FEW = 32
_BUDGET = 500_000  # steps of the event loop: less than a second
_GOLDEN = 0.6180339887498949  # multiples of it, modulo 1, spread evenly however many there are


@dataclass(frozen=True, slots=True)
class Simulated:
    """What became of a launch."""

    cycles: int
    """From its start to the end of its last CTA, in SM cycles."""
    sms: int
    """SMs that its CTAs fill: two CTAs that fit on one SM count as one."""
    written: tuple[torch.Tensor, ...] | None
    """The tensors that it may write; None if that cannot be told."""


class SimulatedRecorder:
    """Simulates every launch that it is given, and keeps the events of those that are asked for.

    Args:
        device: The GPU to simulate.
        recording: What to keep; more can be added to `recordings` at any time.
        values: Whether tensors are computed. Without, outputs stay as they are, and only as many CTAs run as it takes
            to predict the time.
        progress: Called with the kernel's name, the CTAs that ended and their total.
        cycle_limit: Cycles after which an agent counts as running away.
    """

    def __init__(
        self,
        device: Device,
        recording: Recording | None = None,
        *,
        values: bool = True,
        progress: Callable[[str, int, int], None] | None = None,
        cycle_limit: int = CYCLE_LIMIT,
    ) -> None:
        self._first = recording or Recording()
        self.recordings = [self._first]
        """Those that are told of each launch."""
        self._device = device
        self._values = values
        self._progress = progress
        self._cycle_limit = cycle_limit
        self._kernels = Kernels(device)
        self._unended: Callable[[], LaunchTrace | None] | None = None

    def so_far(self) -> LaunchTrace | None:
        """What the launch that is being simulated has done until now, if it is one to record; not `complete`.

        Another thread may ask. A run that nobody asks about is none the slower.
        """
        unended = self._unended
        return None if unended is None else unended()

    @property
    def trace(self) -> Trace:
        """Of the first recording."""
        return self._first.trace

    def expects(self, kernel: str) -> bool:
        """Is the next launch of `kernel` one that somebody wants to see?"""
        return any(each.expects(kernel) for each in self.recordings)

    def pass_over(self, kernel: str) -> None:
        """Count a launch that is not to be executed."""
        for each in self.recordings:
            each.counts(kernel)

    def execute(self, launch: CaughtLaunch) -> Simulated:
        """Simulates one launch: writes its outputs, and keeps its trace if it is one to record.

        Raises:
            HangError: the kernel never ends; the trace holds what it did until then, and the report.
            SimulationError: the kernel does what the simulator, or a GPU, refuses.
        """
        program = self._kernels.program(launch)
        if 0 in launch.grid:
            return Simulated(0, 0, ())
        asking = [each for each in self.recordings if each.counts(launch.kernel)] if launch.counted else []
        values = self._values and launch.values
        per_sm = check_launch(program, launch.metadata, launch.grid, self._device)
        total = launch.grid[0] * launch.grid[1] * launch.grid[2]
        placement = place(program.cluster, launch.grid, self._device)
        asked = sorted({number for each in asking for number in each.ctas or ()})
        traced = placement.with_mates(number for number in asked if number < total)
        tracing = Tracing(traced, first_sm=any(each.ctas is None for each in asking))
        outcome = Outcome([], [], footprint(launch, program))
        arguments = self._kernels.arguments(launch)
        numbers: list[int] = []

        def kernel(traced: bool) -> CompiledKernel:
            return self._kernels.kernel(launch, Options(values, traced, self._cycle_limit))

        dispatcher = Dispatcher(
            program,
            self._device,
            placement,
            per_sm,
            reach(self._device, outcome.footprint, total, shared=shares(program), multiplies=multiplies(program)),
            arguments,
            # a handful of CTAs is recorded and forgotten in less time than a second version is compiled in
            lambda: kernel(bool(tracing) and len(numbers) <= _FEW),
            lambda: kernel(True),
        )
        options = {"values": "on" if values else "off", "ctas": asked}

        def trace_of(outcome: Outcome, stopped: HangError | KeyboardInterrupt | None, *, complete: bool) -> LaunchTrace:
            return launch_trace(
                launch,
                program,
                self._device,
                outcome,
                per_sm=per_sm,
                options=options,
                version=__version__,
                hang=stopped.report if isinstance(stopped, HangError) else None,
                complete=complete,
            )

        def unended() -> LaunchTrace | None:
            return trace_of(outcome.so_far(), None, complete=False) if outcome.traced else None

        stopped: HangError | KeyboardInterrupt | None = None
        self._unended = unended if asking else None
        try:
            numbers += self._numbers(program, placement, traced, dispatcher, values=values)
            self._report(launch.kernel, 0, len(numbers))
            with torch.inference_mode(), quiet_process():
                dispatcher.run(numbers, tracing, lambda done: self._report(launch.kernel, done, len(numbers)), outcome)
        except HangError as error:
            stopped = error
        except KeyboardInterrupt as error:
            outcome.cycles = outcome.now
            stopped = error
        finally:
            self._unended = None
            self._kernels.bind(())  # the script's memory is the script's again
        if isinstance(stopped, HangError) and not asking:  # nobody asked for it, and yet it is what they look for
            asking = [each for each in self.recordings if each.misses_hang(launch.kernel)]
        if asking and outcome.sms:  # without, it was interrupted before it had begun
            trace = trace_of(outcome, stopped, complete=not isinstance(stopped, KeyboardInterrupt))
            for each in asking:
                each.trace.launches.append(trace)
        if stopped is not None:
            raise stopped
        cycles = launch_cycles(launch, program, self._device, outcome)
        sms = min(len(placement.columns) * placement.size, -(-total // per_sm))
        return Simulated(cycles, sms, self._owed(launch, program))

    def _report(self, kernel: str, done: int, total: int) -> None:
        if self._progress is not None:
            self._progress(kernel, done, total)

    def _numbers(
        self, program: Program, placement: Placement, traced: frozenset[int], dispatcher: Dispatcher, *, values: bool
    ) -> list[int]:
        """CTAs to run: all, or without values as many as are cheap.

        Some CTAs of one SM show what a CTA costs. If all together cost more than `_BUDGET` steps, whole SMs are left
        out, and the totals of the launch are scaled from those that ran: the SMs of the traced CTAs, and others spread
        over the device. SMs that run a cluster together count as one.
        """
        total = math.prod(placement.grid)
        columns = sorted({placement.column(number) for number in traced} or {0})
        first = [number for number in range(total) if placement.column(number) == columns[0]]
        if values or talks(program) or total <= len(first) + _SAMPLES:
            return list(range(total))
        probe = Outcome([], [])
        with torch.inference_mode(), quiet_process():
            try:
                dispatcher.run(first[: -(-_SAMPLES // 2)], Tracing(), lambda done: None, probe)
            except HangError:  # which the recorded run comes to as well
                return sorted({*first, *traced})
        each = probe.steps / probe.done
        if each * total <= _BUDGET:
            return list(range(total))
        width = min(total // placement.size, len(placement.columns))
        wanted = max(-(-_SAMPLES // placement.size), int(_BUDGET / (each * len(first))))
        chosen = dict.fromkeys(columns)
        for step in range(width):
            if len(chosen) >= wanted:
                break
            chosen[(columns[0] + round(step * width * _GOLDEN)) % width] = None
        return [number for number in range(total) if placement.column(number) in chosen]

    def _owed(self, launch: CaughtLaunch, program: Program) -> tuple[torch.Tensor, ...] | None:
        """The tensors that the launch may write; if it was only timed, those that its addresses lead to among them."""
        written = written_tensors(launch, program)
        if launch.values or not launch.counted or not computes_addresses(program):
            return written
        values = [value for _, value in launch.parameters]
        own = [tensor for tensor in map(tensor_of, values) if tensor is not None]
        reached, tables = reached_from(own, [value for value in values if isinstance(value, int)])
        if written is None:
            written = tuple(tensor for tensor in own if tensor.untyped_storage().data_ptr() not in tables)
        return (*written, *reached)
