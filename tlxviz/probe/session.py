"""The recording of one launch: which builds are launched, how often, and with what in memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from tlxviz import _triton
from tlxviz._errors import ExitCode, TlxvizError
from tlxviz.devices.model import Device
from tlxviz.ir import load_program, name_from_source
from tlxviz.ir.program import Program
from tlxviz.probe.assemble import Part
from tlxviz.probe.attempt import Attempt
from tlxviz.probe.buffer import LATE_CYCLES, NO_SM, without_starts
from tlxviz.probe.build import ProbingStages, unmarked
from tlxviz.probe.launches import Restorer, TooLong, Watchdog, median_ms
from tlxviz.probe.memory import Memory
from tlxviz.probe.options import ProbeOptions
from tlxviz.probe.plan import WHOLE, Choice, Plan
from tlxviz.probe.results import Results
from tlxviz.probe.search import Way, gentlest
from tlxviz.probe.stuck import stuck_report
from tlxviz.sim.dispatch import MOST_OF_AN_SM
from tlxviz.sim.effects import computes_addresses, written_arguments
from tlxviz.sim.model import CaughtLaunch
from tlxviz.sim.placement import place
from tlxviz.sim.record import tensor_of
from tlxviz.sim.replay import Replayed, replay
from tlxviz.trace.model import LaunchTrace

_MOST_BYTES = 1 << 30
"""What the rings of a launch may take, and not more than a quarter of the GPU's free memory."""
_FEWEST = 64
"""Records that a ring has room for at least."""
_TRIES = 4
"""Launches until CTA 0 comes to the SM that is recorded."""
_REFERENCES = 3
"""Launches in which nothing is recorded, for the lengths of CTAs."""
_BUDGET_MS = 4000.0
"""GPU time that the timed launches of one recorded launch may take."""


Progress = Callable[[str, int, int], None]


class Call(Protocol):
    """One launch that a program is about to make. Everything happens under the stage hook that is in force."""

    @property
    def name(self) -> str:
        """Of the kernel."""
        ...

    def compile(self) -> Any:
        """The compiled kernel; None if a hook of the program's own wants none."""
        ...

    def launch(self) -> Any:
        """Make the launch; gives what the program is to get."""
        ...

    def described(self, kernel: Any) -> Any:
        """The launch of a compiled kernel."""
        ...

    def on_host(self, launch: Any) -> Any:
        """The same with parameters in the host's memory."""
        ...


class GpuHang(TlxvizError):
    """A kernel has not ended in time. `report` is what a trace says about it, `trace` what it did until then."""

    exit_code = ExitCode.FINDINGS

    def __init__(self, message: str, report: dict[str, Any], trace: LaunchTrace) -> None:
        super().__init__(message)
        self.report = report
        self.trace = trace


class Session:
    """The recording of one launch.

    Args:
        call: The launch.
        plain: Its kernel, compiled as the program wants it.
        device: The GPU.
        options: How to record.
        choice: Which sites the options choose.
        ctas: Linear numbers of the CTAs to record.
        first_sm: Whether CTA 0 is recorded as well, and the others of its SM.
        progress: Is told the kernel's name, the launches that have been made, and how many there will be.
    """

    def __init__(
        self,
        call: Call,
        plain: Any,
        device: Device,
        options: ProbeOptions,
        choice: Choice,
        ctas: Sequence[int],
        *,
        first_sm: bool,
        progress: Progress | None = None,
    ) -> None:
        self._progress = progress
        self._made = self._planned = 0
        self._call = call
        self._plain = plain
        self._options = options
        self._choice = choice
        self._device = device
        self._launch: CaughtLaunch = call.described(plain)
        self._program = _program(self._launch)
        self._placement = place(self._program.cluster, self._launch.grid, device)
        self._total = math.prod(self._launch.grid)
        wanted = {number for number in ctas if number < self._total} | ({0} if first_sm else set[int]())
        self._named = self._placement.with_mates(wanted)
        self._first_sm = first_sm and self._placement.size == 1
        self._restorer = Restorer(self._written() if self._named else (), possible=self._can_be_repeated())
        self._results = Results(self._launch, device, self._placement, options, choice, torch.cuda.get_device_name())
        self.watchdog = Watchdog(options.timeout, self._launch.kernel)

    @property
    def key(self) -> object:
        """What decides which way to record a launch is best: the kernel, and how many CTAs of it there are."""
        return self._launch.ttgir, self._launch.grid

    def lacking(self) -> LaunchTrace | None:
        """The trace of the launch if it has none of the CTAs."""
        return None if self._named else self._results.nothing(self._program, self._total)

    def _can_be_repeated(self) -> bool:
        """Whether all that the launch may write is known: not where it makes addresses of numbers."""
        return written_arguments(self._program) is not None or not computes_addresses(self._program)

    def _written(self) -> list[torch.Tensor]:
        """The tensors that the launch may write."""
        positions = written_arguments(self._program)
        tensors = [tensor_of(value) for _, value in self._launch.parameters]
        chosen = tensors if positions is None else [tensors[position] for position in sorted(positions)]
        return [tensor for tensor in chosen if tensor is not None]

    def record(self, way: Way | None) -> Attempt:
        """Records the launch in that way; None for one that keeps its slow-down small.

        Raises:
            GpuHang: it has not ended in time.
        """
        if not self._restorer.possible:
            return self._attempt(Way())
        return gentlest(self._attempt, self._room_for_all) if way is None else self._attempt(way)

    def _room_for_all(self, attempt: Attempt) -> bool:
        """Whether all CTAs can have rings."""
        memory, total = attempt.memory, self._total
        return memory.kept == total or Memory.size(total, total, memory.rings, memory.records) <= _limit()

    def trace(self, attempt: Attempt) -> LaunchTrace:
        """The trace of a recorded launch.

        Raises:
            RecordMismatch: it did not do what its replay says.
        """
        headers = attempt.parts[0].headers
        ctas = {cta for cta, _ in attempt.parts[0].rings}
        if self._first_sm:  # CTA 0 may have gone to another SM than the recorded one
            ctas = {cta for cta in ctas if headers["sm"][cta] == headers["sm"][0]} | self._named
        return self._results.finished(attempt, ctas)

    # ---- one plan

    def _attempt(self, way: Way) -> Attempt:
        plan = Plan(self._choice, tuple(sorted(self._named)), self._options.all_warps, way.shares, way.everywhere)
        builds = [ProbingStages(plan, number, _hook()) for number in range(way.parts)]
        # Where all CTAs record, the code that does not is in an unusual place: lengths are those of the usual build.
        usual = (
            ProbingStages(replace(plan, shares=WHOLE, everywhere=False), 0, _hook()) if way.everywhere else builds[0]
        )
        # All are compiled here: what compiles as it is launched can get into Triton's cache in C, which knows no hooks.
        kernels = [self._compiled(build) for build in builds]
        if way.everywhere:
            self._compiled(usual)
        host = self._call.on_host(self._call.described(kernels[0]))
        program = _program(host)
        points = plan.points(_program(host, unmarked(host.ttgir)))
        replayed = replay(host, self._device, sorted(self._named | self._samples()))
        memory = self._memory(plan, program, replayed)
        attempt = Attempt(plan, builds, usual, host, program, points, replayed, memory)
        self._run(attempt)
        return attempt

    def _compiled(self, build: ProbingStages) -> Any:
        with _stages(build):
            return self._call.compile()

    def _samples(self) -> set[int]:
        """CTAs that tell how many records others may make."""
        return {self._total // 2, self._total - 1} if self._first_sm else set()

    def _memory(self, plan: Plan, program: Program, replayed: Replayed) -> Memory:
        rings = len(plan.warps(program))
        records = max(_passed(replayed), default=1)
        limit = _limit()
        kept = self._total if self._first_sm or plan.everywhere else max(self._named) + 1
        if self._first_sm and not plan.everywhere and Memory.size(self._total, kept, rings, records) > limit:
            self._first_sm = False
            kept = max(self._named) + 1
        while records > _FEWEST and Memory.size(self._total, kept, rings, records) > limit:
            records //= 2
        size = Memory.size(self._total, kept, rings, records)
        if size > limit:
            raise TlxvizError(
                f"kernel {self._launch.kernel}: recording CTA {kept - 1} takes {size:,} bytes of the GPU's memory, and "
                f"{limit:,} are there for it. Record CTAs with smaller numbers, or none by number (leave out --ctas)"
            )
        return Memory(self._total, kept, rings, records)

    def _run(self, attempt: Attempt) -> None:
        self._plan_launches(len(attempt.builds))
        for part in range(len(attempt.builds)):
            self._recorded(attempt, part, NO_SM)
        if not self._restorer.possible:
            attempt.kernel = self._plain
            return
        # The launches above have shown that it ends, and how long that takes, and brought its code into the caches.
        attempt.late = all(part.longest < LATE_CYCLES for part in attempt.parts)
        attempt.parts.clear()
        for part in range(len(attempt.builds)):
            self._recorded(attempt, part, NO_SM)
        self._measure_lengths(attempt)
        alone = self._first_sm and attempt.plan.parts == 1 and not attempt.plan.everywhere
        sm = self._on_first_sm(attempt) if alone else NO_SM
        self._measure_times(attempt, sm)
        # The last launch is the program's own.
        self._restore()
        attempt.kernel = self._finished(attempt, self._call.launch)

    def _on_first_sm(self, attempt: Attempt) -> int:
        """Records again, with all CTAs of the SM that CTA 0 was on; until it comes there once more."""
        sm = NO_SM
        for _ in range(_TRIES):
            sm = int(attempt.parts[0].headers["sm"][0])
            attempt.parts.clear()
            self._recorded(attempt, 0, sm)
            if int(attempt.parts[0].headers["sm"][0]) == sm:
                break
        return sm

    def _measure_lengths(self, attempt: Attempt) -> None:
        """How long each CTA takes where nothing is recorded, from launches of the same build."""
        found = []
        for _ in range(_REFERENCES):
            self._restore()
            attempt.memory.clear_headers()  # should it hang, those of the launch before say nothing of it
            self._finished(
                attempt, self._probed(attempt.usual, attempt.memory.address(listed=False, late=attempt.late))
            )
            found.append(attempt.memory.headers())
        attempt.references = found
        lengths = np.median([headers["end_clock"] - headers["start_clock"] for headers in found], axis=0)
        attempt.lengths = lengths.astype(np.int64)

    def _measure_times(self, attempt: Attempt, sm: int) -> None:
        address = attempt.memory.address(sm=sm, listed=True, late=attempt.late)
        launches = [self._call.launch, *(self._probed(build, address) for build in attempt.builds)]

        def restore() -> None:
            self._restore()
            attempt.memory.clear_headers()

        restore()
        self._finished(attempt, self._call.launch)  # so that no compilation and no loading is timed
        try:
            [single] = median_ms([self._call.launch], restore, 1, self.watchdog)
            rounds = max(1, min(self._options.repeat, int(_BUDGET_MS / max(single * len(launches), 1e-3))))
            attempt.plain_ms, *attempt.part_ms = median_ms(launches, restore, rounds, self.watchdog)
        except TooLong:
            raise self._later_hang(attempt) from None
        attempt.rounds = rounds

    # ---- launches

    def _plan_launches(self, parts: int) -> None:
        """Says how many launches an attempt takes."""
        again = 2 * parts + _REFERENCES + int(self._first_sm) + 2 + self._options.repeat * (1 + parts)
        self._planned = self._made + (again if self._restorer.possible else parts)

    def _restore(self) -> None:
        """Before each launch: memory is as it was."""
        self._restorer.restore()
        if self._progress is not None:
            self._progress(self._launch.kernel, self._made, max(self._planned, self._made + 1))
        self._made += 1

    def _probed(self, build: ProbingStages, address: int) -> Callable[[], Any]:
        def launch() -> Any:
            with _stages(build), _triton.profile_scratch(address):
                return self._call.launch()

        return launch

    def _finished(self, attempt: Attempt, launch: Callable[[], Any]) -> Any:
        """A launch that is not recorded, of a kernel that ended before."""
        try:
            return self.watchdog.finish(launch)
        except TooLong:
            raise self._later_hang(attempt) from None

    def _later_hang(self, attempt: Attempt) -> GpuHang:
        message = (
            f"kernel {self._program.name} has not ended within {self._options.timeout:g} s (--timeout) on the GPU, in "
            "a launch that no warp group recorded: those before it, with the same memory, have ended, so it depends on "
            "the order in which things happen. Record it again until a recorded launch hangs"
        )
        left = Part(0, self._headers_until_then(attempt), {})
        _, report = self._report(attempt, left, frozenset())
        return GpuHang(message, report, self._results.stuck(attempt, left, report, ()))

    def _recorded(self, attempt: Attempt, part: int, sm: int) -> None:
        """One launch of a part, with what it leaves in memory."""
        memory = attempt.memory
        self._restore()
        memory.clear()
        try:
            probed = self._probed(attempt.builds[part], memory.address(sm=sm, listed=True, late=attempt.late))
            attempt.kernel = self.watchdog.finish(probed)
        except TooLong:
            raise self._hang(attempt, part) from None
        headers = memory.headers()
        if attempt.plan.everywhere and attempt.plan.parts == 1 and self._first_sm:
            sm = int(headers["sm"][0])
        others = np.flatnonzero(headers["sm"] == sm)[:MOST_OF_AN_SM].tolist()
        attempt.parts.append(self._left(attempt, part, headers, self._named.union(others)))

    def _left(self, attempt: Attempt, part: int, headers: Any, ctas: frozenset[int]) -> Part:
        """What a launch left in the rings of some CTAs."""
        memory = attempt.memory
        warps = sorted(attempt.plan.warps(attempt.program))
        rings = {
            (cta, warp): memory.ring(cta, place)
            for cta in sorted(ctas)
            if cta < memory.kept
            for place, warp in enumerate(warps)
        }
        return Part(part, headers, rings)

    def _headers_until_then(self, attempt: Attempt) -> NDArray[np.void]:
        """Those of a launch that has not ended."""
        headers = attempt.memory.headers()
        return without_starts(headers) if attempt.late else headers

    def _hang(self, attempt: Attempt, part: int) -> GpuHang:
        left = self._left(attempt, part, self._headers_until_then(attempt), self._named)
        message, report = self._report(attempt, left, self._named)
        return GpuHang(message, report, self._results.stuck(attempt, left, report, self._named))

    def _report(self, attempt: Attempt, left: Part, ctas: frozenset[int]) -> tuple[str, dict[str, Any]]:
        return stuck_report(
            attempt.program,
            attempt.points,
            attempt.plan,
            left.number,
            attempt.replayed,
            ctas,
            left.headers,
            left.rings,
            self._options.timeout,
        )


def _limit() -> int:
    """Bytes that the rings of a launch may take."""
    return min(_MOST_BYTES, torch.cuda.mem_get_info()[0] // 4)


@contextmanager
def _stages(hook: ProbingStages) -> Generator[None]:
    """A block in which kernels are compiled with a hook."""
    owner, name = _triton.stage_hook_slot()
    before = getattr(owner, name)
    setattr(owner, name, hook)
    try:
        yield
    finally:
        setattr(owner, name, before)


def _hook() -> Any:
    owner, name = _triton.stage_hook_slot()
    return getattr(owner, name)


def _program(launch: CaughtLaunch, text: str | None = None) -> Program:
    program = load_program(launch.ttgir if text is None else text, f"<TTGIR of {launch.kernel}>")
    name_from_source(program, launch.source, launch.source_file, launch.source_line)
    return program


def _passed(replayed: Replayed) -> list[int]:
    """Points that each warp passes."""
    by_warp: dict[tuple[int, int], int] = {}
    for cta in replayed.ctas:
        for agent in cta.agents:
            for warp in agent.warps_of_cta:
                by_warp[cta.cta, warp] = by_warp.get((cta.cta, warp), 0) + len(agent.marks)
    return list(by_warp.values())
