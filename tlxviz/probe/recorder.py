"""Records launches on a GPU: each with timestamps, beside it the same without, and a replay that explains them."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from tlxviz import _triton
from tlxviz._errors import ExitCode, TlxvizError
from tlxviz._version import __version__
from tlxviz.devices.model import Device
from tlxviz.ir import load_program, name_from_source
from tlxviz.ir.program import Program
from tlxviz.probe.assemble import Assembled, Assembler, Part, RecordMismatch, with_open_waits
from tlxviz.probe.buffer import NO_SM
from tlxviz.probe.build import ProbingStages, unmarked
from tlxviz.probe.launches import Restorer, TooLong, Watchdog, median_ms
from tlxviz.probe.memory import Memory
from tlxviz.probe.options import ProbeOptions
from tlxviz.probe.plan import Choice, Plan
from tlxviz.probe.points import Point
from tlxviz.probe.stuck import stuck_report
from tlxviz.sim.dispatch import MOST_OF_AN_SM
from tlxviz.sim.effects import written_arguments
from tlxviz.sim.model import CaughtLaunch
from tlxviz.sim.placement import place
from tlxviz.sim.record import described, tensor_of
from tlxviz.sim.recording import Recording
from tlxviz.sim.replay import Replayed, replay
from tlxviz.trace.build import empty_events
from tlxviz.trace.model import Events, LaunchTrace, Trace, Track

_MOST_BYTES = 1 << 30
"""What the rings of a launch may take, and not more than a quarter of the GPU's free memory."""
_TRIES = 4
"""Launches until CTA 0 comes to the SM that is recorded."""
_ENOUGH = 0.03
"""Slow-down of a kernel below which a plan is good enough."""
_PARTS = (2,)
"""In how many parts a kernel is recorded that probes slow down by more."""
_BUDGET_MS = 4000.0
"""GPU time that the repetitions of one recorded launch may take."""


class Call(Protocol):
    """One launch that a program is about to make."""

    @property
    def name(self) -> str: ...

    def compile(self) -> Any: ...

    def launch(self) -> Any: ...

    def described(self, kernel: Any) -> Any: ...

    def on_host(self, launch: Any) -> Any: ...


class GpuHang(TlxvizError):
    """A kernel has not ended in time. `report` is what a trace says about it."""

    exit_code = ExitCode.FINDINGS

    def __init__(self, message: str, report: dict[str, Any]) -> None:
        super().__init__(message)
        self.report = report


class ProbingRecorder:
    """Records launches of kernels on the GPU.

    Args:
        recording: What to keep; more can be added to `recordings` at any time.
        options: How to record.
        device: What the machine model says of the GPU.
        progress: Called with the kernel's name, the launches made for it and their total.
    """

    def __init__(
        self,
        recording: Recording,
        options: ProbeOptions,
        device: Device,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> None:
        self._first = recording
        self.recordings = [recording]
        self.device = device
        self.stuck = False
        """Whether a kernel is still running that will never end, so that the GPU cannot be used any more."""
        self.options = options
        self.choice = Choice.parse(options.probes)
        self._progress = progress
        self._parts: dict[str, int] = {}
        """By the TTGIR of a kernel, in how many parts it is recorded best."""

    @property
    def trace(self) -> Trace:
        """Of the first recording."""
        return self._first.trace

    def parts_of(self, ttgir: str) -> int | None:
        """In how many parts a kernel was recorded best; None if that is not known yet."""
        return self._parts.get(ttgir)

    def remember_parts(self, ttgir: str, parts: int) -> None:
        self._parts[ttgir] = parts

    def expects(self, kernel: str) -> bool:
        return any(each.expects(kernel) for each in self.recordings)

    def pass_over(self, kernel: str) -> None:
        for each in self.recordings:
            each.counts(kernel)

    def handle(self, call: Call) -> Any:
        """Records one launch, and leaves memory as that one launch does.

        Raises:
            GpuHang: it did not end in time; the trace holds what it did until then.
            RecordMismatch: it did not do what its replay says.
            SimulationError: it cannot be replayed.
        """
        asking = [each for each in self.recordings if each.counts(call.name)]
        plain = call.compile()
        if plain is None or not asking:
            return None
        asked = sorted({number for each in asking for number in each.ctas or ()})
        session = _Session(self, call, plain, asked, first_sm=any(each.ctas is None for each in asking))
        try:
            trace, made = session.record()
        except BaseException:
            self.stuck = session.watchdog.running
            if session.trace is not None:
                for each in asking:
                    each.trace.launches.append(session.trace)
            raise
        for each in asking:
            each.trace.launches.append(trace)
        return made


@contextmanager
def _stages(hook: ProbingStages | None) -> Generator[None]:
    """A block in which kernels are compiled with a hook."""
    if hook is None:
        yield
        return
    owner, name = _triton.stage_hook_slot()
    before = getattr(owner, name)
    setattr(owner, name, hook)
    try:
        yield
    finally:
        setattr(owner, name, before)


@dataclass(frozen=True, slots=True)
class _Build:
    """One part of a plan, compiled."""

    number: int
    stages: ProbingStages


class _Session:
    """The recording of one launch."""

    def __init__(self, owner: ProbingRecorder, call: Call, plain: Any, asked: Sequence[int], *, first_sm: bool) -> None:
        self._owner = owner
        self._options = owner.options
        self._device = owner.device
        self._call = call
        self._launch: CaughtLaunch = call.described(plain)
        self._program = _program(self._launch)
        self._placement = place(self._program.cluster, self._launch.grid, self._device)
        self._total = math.prod(self._launch.grid)
        wanted = [number for number in asked if number < self._total]
        self._named = self._placement.with_mates(wanted or ([0] if first_sm else []))
        self._first_sm = first_sm and self._placement.size == 1
        self._restorer = Restorer(self._written())
        self.watchdog = Watchdog(self._options.timeout)
        self.trace: LaunchTrace | None = None

    def _written(self) -> list[torch.Tensor]:
        """The tensors that the launch may write."""
        positions = written_arguments(self._program)
        tensors = [tensor_of(value) for _, value in self._launch.parameters]
        chosen = tensors if positions is None else [tensors[position] for position in sorted(positions)]
        return [tensor for tensor in chosen if tensor is not None]

    # ---- the whole

    def record(self) -> tuple[LaunchTrace, Any]:
        known = self._owner.parts_of(self._launch.ttgir)
        parts = self._options.parts or known or 1
        if not self._restorer.possible:
            parts = 1
        attempt = self._attempt(parts)
        if self._options.parts is None and known is None and self._restorer.possible:
            for more in _PARTS:
                if attempt.slow_down <= _ENOUGH:
                    break
                another = self._attempt(more)
                if another.slow_down < attempt.slow_down:
                    attempt = another
            self._owner.remember_parts(self._launch.ttgir, attempt.plan.parts)
        return self._finished(attempt), attempt.kernel

    def _attempt(self, parts: int) -> _Attempt:
        plan = Plan(self._owner.choice, tuple(sorted(self._named)), self._options.all_warps, parts)
        builds = [_Build(number, ProbingStages(plan, number, _hook())) for number in range(parts)]
        with _stages(builds[0].stages):
            kernel = self._call.compile()
        host = self._call.on_host(self._call.described(kernel))
        program = _program(host)
        points = plan.points(_program(host, unmarked(host.ttgir)))
        replayed = replay(host, self._device, sorted(self._named | self._samples()))
        attempt = _Attempt(plan, builds, host, program, points, replayed)
        attempt.memory = self._memory(attempt)
        self._run(attempt)
        return attempt

    def _samples(self) -> set[int]:
        """CTAs that tell how many records others may make."""
        return {self._total // 2, self._total - 1} if self._first_sm else set()

    def _memory(self, attempt: _Attempt) -> Memory:
        rings = len(attempt.plan.warps(attempt.program))
        records = max((_passed(attempt.replayed)), default=1)
        limit = min(_MOST_BYTES, torch.cuda.mem_get_info()[0] // 4)
        kept = self._total if self._first_sm else max(self._named) + 1
        if Memory.size(self._total, kept, rings, records) > limit and self._first_sm:
            self._first_sm = False
            kept = max(self._named) + 1
        while records > 1 and Memory.size(self._total, kept, rings, records) > limit:
            records //= 2
        return Memory(self._total, kept, rings, records)

    # ---- launches

    def _run(self, attempt: _Attempt) -> None:
        options, memory = self._options, attempt.memory
        assert memory is not None
        first = attempt.builds[0]
        sm = NO_SM
        repeated = self._restorer.possible
        for build in attempt.builds:
            self._recorded(attempt, build, NO_SM)
        if not repeated:
            return
        attempt.parts.clear()  # those were to see that it ends, and to bring its code into the caches
        for build in attempt.builds:
            self._recorded(attempt, build, NO_SM)
        lengths, clocks = self._reference(attempt)
        if self._first_sm and attempt.plan.parts == 1:
            for _ in range(_TRIES):
                sm = int(attempt.parts[0].headers["sm"][0])
                attempt.parts.clear()
                self._recorded(attempt, first, sm)
                if int(attempt.parts[0].headers["sm"][0]) == sm:
                    break
        attempt.lengths = lengths
        attempt.clocks = clocks
        single = median_ms([self._plain], self._restorer.restore, 1)[0]
        launches = [self._plain, *(self._probed(build, memory.address(sm=sm, listed=True)) for build in attempt.builds)]
        rounds = max(1, min(options.repeat, int(_BUDGET_MS / max(single * len(launches), 1e-3))))
        plain, *probed = median_ms(launches, self._restorer.restore, rounds)
        attempt.rounds = rounds
        attempt.plain_ms, attempt.probed_ms = plain, max(probed)
        # the last of these launches is the program's own
        self._restorer.restore()
        attempt.kernel = self._plain()
        torch.cuda.current_stream().synchronize()

    def _plain(self) -> Any:
        return self._call.launch()

    def _probed(self, build: _Build, address: int) -> Callable[[], Any]:
        def launch() -> Any:
            with _stages(build.stages), _triton.profile_scratch(address):
                return self._call.launch()

        return launch

    def _recorded(self, attempt: _Attempt, build: _Build, sm: int) -> None:
        """One launch of a part, with what it leaves in memory."""
        memory = attempt.memory
        assert memory is not None
        self._restorer.restore()
        memory.clear()
        try:
            attempt.kernel = self.watchdog.finish(self._probed(build, memory.address(sm=sm, listed=True)))
        except TooLong:
            self._explain_hang(attempt, build)
        headers = memory.headers()
        recorded = self._named | set(np.flatnonzero(headers["sm"] == sm)[:MOST_OF_AN_SM].tolist())
        warps = sorted(attempt.plan.warps(attempt.program))
        rings = {
            (cta, warp): memory.ring(cta, place)
            for cta in sorted(recorded)
            if cta < memory.kept
            for place, warp in enumerate(warps)
        }
        attempt.parts.append(Part(build.number, headers, rings))

    def _reference(self, attempt: _Attempt) -> tuple[NDArray[np.int64], list[NDArray[np.void]]]:
        """How long each CTA takes where nothing is recorded, from launches of the same build."""
        memory = attempt.memory
        assert memory is not None
        found: list[NDArray[np.void]] = []
        for _ in range(3):
            self._restorer.restore()
            try:
                self.watchdog.finish(self._probed(attempt.builds[0], memory.address(listed=False)))
            except TooLong:
                self._explain_hang(attempt, attempt.builds[0], listed=False)
            found.append(memory.headers())
        lengths = np.median([headers["end_clock"] - headers["start_clock"] for headers in found], axis=0)
        return lengths.astype(np.int64), found

    # ---- results

    def _finished(self, attempt: _Attempt) -> LaunchTrace:
        headers = attempt.parts[0].headers
        recorded = sorted({cta for cta, _ in attempt.parts[0].rings})
        if self._first_sm:
            with_zero = [cta for cta in recorded if headers["sm"][cta] == headers["sm"][0]]
            recorded = sorted(set(with_zero) | self._named)
        if set(recorded) - {cta.cta for cta in attempt.replayed.ctas}:
            attempt.replayed = replay(attempt.host, self._device, recorded)
        attempt.replayed = replace(
            attempt.replayed, ctas=tuple(cta for cta in attempt.replayed.ctas if cta.cta in set(recorded))
        )
        correct = attempt.lengths if self._options.correction else None
        assembler = Assembler(
            attempt.program,
            attempt.points,
            attempt.plan,
            self._device,
            attempt.replayed,
            self._placement,
            correct,
        )
        made = assembler.assemble(attempt.parts)
        cycles, mhz = made.clock.cycles, made.clock.mhz
        if attempt.clocks:
            from tlxviz.probe.clocks import common_clock

            own = [common_clock(each) for each in attempt.clocks]
            cycles = sorted(each.cycles for each in own)[len(own) // 2]
            mhz = sorted(each.mhz for each in own)[len(own) // 2]
        return self._trace(attempt, made, cycles, mhz)

    def _trace(self, attempt: _Attempt, made: Assembled, cycles: int, mhz: float) -> LaunchTrace:
        events = self._chosen(attempt.program, made.events)
        statistics = dict(attempt.replayed.statistics) | {
            "sm_cycles": cycles,
            "ctas": self._total,
            "ctas_traced": len(attempt.replayed.ctas),
        }
        statistics.pop("ctas_simulated", None)
        return described(
            self._launch,
            attempt.program,
            self._device,
            cycles=cycles,
            flop=attempt.replayed.flop,
            tracks=made.tracks,
            events=events,
            provenance=self._provenance(self._probe(attempt, made)),
            statistics=statistics,
            clock_mhz=mhz,
            complete=not made.missing,
        )

    def _provenance(self, probe: dict[str, Any]) -> dict[str, Any]:
        return {
            "recorder": "measured",
            "versions": {"tlxviz": __version__, **self._launch.versions},
            "options": {
                "probes": self._options.probes,
                "warps": "all" if self._options.all_warps else "first",
                "correction": "on" if self._options.correction else "off",
            },
            "probe": probe,
        }

    def _until_then(self, attempt: _Attempt, part: Part) -> tuple[list[Track], Events, float | None]:
        """What CTAs did that have not ended, and the clock if some have."""
        started = [
            cta
            for cta in attempt.replayed.ctas
            if cta.cta in self._named and int(part.headers["start_clock"][cta.cta]) != 0
        ]
        replayed = replace(attempt.replayed, ctas=tuple(with_open_waits(cta) for cta in started))
        assembler = Assembler(
            attempt.program, attempt.points, attempt.plan, self._device, replayed, self._placement, None
        )
        try:
            made = assembler.assemble([part], ended=False)
        except RecordMismatch:  # the hang is what has to be said
            return [], empty_events(), None
        return made.tracks, self._chosen(attempt.program, made.events), made.clock.mhz if made.clock.cycles else None

    def _probe(self, attempt: _Attempt, made: Assembled) -> dict[str, Any]:
        """What the trace says about its own making."""
        found: dict[str, Any] = {
            "gpu": torch.cuda.get_device_name(),
            "parts": attempt.plan.parts,
            "points": len(attempt.points),
            "records": made.records,
            "missing": made.missing,
            "shifted_cycles": made.shifted,
        }
        if attempt.plain_ms:
            found |= {
                "kernel_ms": round(attempt.plain_ms, 5),
                "probed_ms": round(attempt.probed_ms, 5),
                "slow_down_percent": round(100 * attempt.slow_down, 2),
                "rounds": attempt.rounds,
                "recorded_cta_slow_down_percent": round(100 * made.slow_down, 2),
                "correction_percent": round(100 * (1 / (1 + made.slow_down) - 1), 2)
                if self._options.correction
                else 0.0,
            }
        return found

    def _chosen(self, program: Program, events: Events) -> Events:
        """Events of the sites that were probed, in the iterations that are wanted."""
        sites = np.zeros(len(program.sites) + 1, bool)
        sites[list(self._owner.choice.sites(program))] = True
        keep = sites[events["site"]]
        if self._options.iterations is not None:
            first, last = self._options.iterations
            keep &= (events["inner"] >= first) & (events["inner"] < last)
        return events if bool(keep.all()) else events.select(keep)

    def _explain_hang(self, attempt: _Attempt, build: _Build, *, listed: bool = True) -> None:
        memory = attempt.memory
        assert memory is not None
        warps = sorted(attempt.plan.warps(attempt.program))
        headers = memory.headers()
        rings = {
            (cta, warp): memory.ring(cta, place) for cta in sorted(self._named) for place, warp in enumerate(warps)
        }
        message, report = stuck_report(
            attempt.program,
            attempt.points,
            attempt.plan,
            build.number,
            attempt.replayed,
            self._named if listed else (),
            headers,
            rings,
            self._options.timeout,
        )
        if not listed:
            message = (
                f"kernel {attempt.program.name} has not ended within {self._options.timeout:g} s on the GPU, in a "
                "launch that no warp group recorded: those before it, with the same memory, have ended"
            )
        tracks, events, mhz = self._until_then(attempt, Part(build.number, headers, rings))
        self.trace = described(
            self._launch,
            attempt.program,
            self._device,
            cycles=int(report["cycle"]),
            flop=0,
            tracks=tracks,
            events=events,
            provenance=self._provenance({"gpu": torch.cuda.get_device_name()}),
            statistics={"ctas": self._total, "ctas_traced": len({track.cta for track in tracks})},
            clock_mhz=mhz,
            hang=report,
        )
        raise GpuHang(message, report)


class _Attempt:
    """A plan carried out."""

    def __init__(
        self,
        plan: Plan,
        builds: Sequence[_Build],
        host: CaughtLaunch,
        program: Program,
        points: Sequence[Point],
        replayed: Replayed,
    ) -> None:
        self.plan, self.builds, self.host = plan, builds, host
        self.program, self.points, self.replayed = program, points, replayed
        self.memory: Memory | None = None
        self.parts: list[Part] = []
        self.kernel: Any = None
        self.lengths: NDArray[np.int64] | None = None
        self.clocks: list[NDArray[np.void]] = []
        self.plain_ms = self.probed_ms = 0.0
        self.rounds = 0

    @property
    def slow_down(self) -> float:
        """Of the kernel; 0.01 is a hundredth."""
        return self.probed_ms / self.plain_ms - 1 if self.plain_ms else 0.0


def _program(launch: CaughtLaunch, text: str | None = None) -> Program:
    program = load_program(launch.ttgir if text is None else text, f"<TTGIR of {launch.kernel}>")
    name_from_source(program, launch.source, launch.source_file, launch.source_line)
    return program


def _hook() -> Any:
    owner, name = _triton.stage_hook_slot()
    return getattr(owner, name)


def _passed(replayed: Replayed) -> list[int]:
    """Points that each warp group passes."""
    by_warp: dict[tuple[int, int], int] = {}
    for cta in replayed.ctas:
        for agent in cta.agents:
            for warp in range(agent.first_thread // 32, agent.first_thread // 32 + agent.warps):
                by_warp[cta.cta, warp] = by_warp.get((cta.cta, warp), 0) + len(agent.marks)
    return list(by_warp.values())
