"""Runs the CTAs of a launch on the SMs of a device.

An SM runs on an event loop of its own and stops whenever one of its CTAs ends; the SM that stops earliest gets the next
CTA, as the hardware does it. CTAs that talk to each other through global memory share one loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush

from tlxviz.devices.model import Device
from tlxviz.ir.program import Program
from tlxviz.sim.compiler import CompiledKernel, located
from tlxviz.sim.effects import talks
from tlxviz.sim.engine import AgentRun, Cta, EventLoop, Row, Sm, Spinning
from tlxviz.sim.errors import HangError
from tlxviz.sim.hang import hang_report


@dataclass(slots=True)
class Outcome:
    """What a run did."""

    sms: list[Sm]
    traced: list[Cta]
    """Traced CTAs, ended or not, with their rows."""
    cycles: int = 0
    """From the first CTA's start to the last one's end."""
    now: int = 0
    """The last cycle that the run has reached."""
    steps: int = 0
    """Entries that the event loops have had."""
    done: int = 0
    """CTAs that ended."""
    last_end: dict[int, int] = field(default_factory=dict[int, int])
    """Cycle at which each SM ended its last CTA."""


class Dispatcher:
    """The block scheduler of a device, for one launch."""

    def __init__(
        self,
        program: Program,
        device: Device,
        grid: tuple[int, int, int],
        per_sm: int,
        arguments: Sequence[object],
        plain: Callable[[], CompiledKernel],
        traced: Callable[[], CompiledKernel],
    ) -> None:
        self._program = program
        self._device = device
        self._grid = grid
        self._per_sm = per_sm
        self._arguments = arguments
        self._kernels = {False: plain, True: traced}
        self._used: list[CompiledKernel] = []
        self._delay = round(device.launch.cta_cycles)
        self._traced: frozenset[int] = frozenset()
        self._common: EventLoop | None = None
        """The loop of all SMs, for CTAs that talk to each other."""
        self._queued = 0
        """Of such CTAs, those that have not been started."""

    def run(
        self, ctas: Sequence[int], trace: frozenset[int], progress: Callable[[int], None], outcome: Outcome
    ) -> None:
        """Runs the CTAs with the numbers `ctas`, in their order, and records those in `trace`.

        `outcome` is filled while the run goes on, so that it holds what there is after an interruption.

        Raises:
            HangError: a CTA can never end.
        """
        shared = talks(self._program)
        self._traced = trace
        loop = EventLoop()
        columns = sorted({number % self._device.limits.sms for number in ctas})
        sms = [Sm(number, loop if shared else EventLoop()) for number in columns]
        outcome.sms = sms
        waiting = iter(ctas)
        self._common = loop if shared else None
        self._queued = len(ctas) if shared else 0
        first = min(len(ctas), len(sms) * self._per_sm)
        alive: dict[int, Cta] = {}
        started = [(sms[position % len(sms)], next(waiting)) for position in range(first)]
        try:
            if shared:
                for sm, number in started:
                    self._start(sm, number, 0, trace, outcome, alive)
                for _ in self._drain(loop, outcome, alive, progress, waiting, trace):
                    pass
            else:
                self._separately(sms, started, waiting, trace, outcome, alive, progress)
        except Spinning as error:
            raise hang_report(self._program, list(alive.values()), error.args[0], self._queued) from None
        except Exception as error:
            raise self._explained(error) from error
        finally:
            outcome.now = max(sm.loop.now for sm in sms)
            outcome.steps = sum(next(each.sequence) for each in {id(sm.loop): sm.loop for sm in sms}.values())

    def _separately(
        self,
        sms: Sequence[Sm],
        started: Sequence[tuple[Sm, int]],
        waiting: Iterator[int],
        trace: frozenset[int],
        outcome: Outcome,
        alive: dict[int, Cta],
        progress: Callable[[int], None],
    ) -> None:
        """Each SM on its own loop, up to the next end of one of its CTAs; the earliest of them gets the next CTA."""
        ends: list[tuple[int, int]] = []
        by_index = {sm.index: sm for sm in sms}
        for position, sm in enumerate(sms):
            for _, number in started[position :: len(sms)]:
                self._start(sm, number, 0, trace, outcome, alive)
            self._advance(sm, ends, outcome, alive, progress)
        while ends:
            cycle, index = heappop(ends)
            number = next(waiting, None)
            if number is not None:
                self._start(by_index[index], number, cycle + self._delay, trace, outcome, alive)
            self._advance(by_index[index], ends, outcome, alive, progress)

    def _advance(
        self,
        sm: Sm,
        ends: list[tuple[int, int]],
        outcome: Outcome,
        alive: dict[int, Cta],
        progress: Callable[[int], None],
    ) -> None:
        if not sm.loop.run():
            stuck = [cta for cta in alive.values() if cta.sm is sm]
            if stuck:
                self._hang(stuck)
            return
        for cta in sm.loop.ended:
            self._ended(cta, outcome, alive, progress)
            heappush(ends, (cta.end, sm.index))
        sm.loop.ended.clear()

    def _drain(
        self,
        loop: EventLoop,
        outcome: Outcome,
        alive: dict[int, Cta],
        progress: Callable[[int], None],
        waiting: Iterator[int],
        trace: frozenset[int],
    ) -> Iterator[None]:
        while loop.run():
            for cta in loop.ended:
                self._ended(cta, outcome, alive, progress)
                number = next(waiting, None)
                if number is not None:
                    self._start(cta.sm, number, cta.end + self._delay, trace, outcome, alive)
            loop.ended.clear()
            yield
        if alive:
            self._hang(list(alive.values()))

    def _start(
        self, sm: Sm, number: int, cycle: int, trace: frozenset[int], outcome: Outcome, alive: dict[int, Cta]
    ) -> None:
        if sm.loop is self._common:
            self._queued -= 1
        traced = number in trace
        rows: list[Row] = []  # stays empty, or is forgotten, when the CTA is not traced
        x, y, _ = self._grid
        pid = (number % x, number // x % y, number // (x * y))
        cta = alive[number] = Cta(number, pid, self._grid, sm, rows, begin=cycle)
        if traced:
            outcome.traced.append(cta)
        kernel = self._kernels[traced]()
        if kernel not in self._used:
            self._used.append(kernel)
        run = AgentRun(cta, kernel.default.index, kernel.first_thread)
        run.generator = kernel.entry(cta, run, *self._arguments)
        cta.spawn(run, cycle)

    def _ended(self, cta: Cta, outcome: Outcome, alive: dict[int, Cta], progress: Callable[[int], None]) -> None:
        del alive[cta.index]
        if cta.index not in self._traced:
            # a finished CTA, its agents and their generators refer to each other, and nobody collects garbage now
            for run in cta.agents:
                del run.generator, run.send, run.cta
        outcome.done += 1
        outcome.cycles = max(outcome.cycles, cta.end)
        outcome.last_end[cta.sm.index] = max(cta.end, outcome.last_end.get(cta.sm.index, 0))
        progress(outcome.done)

    def _hang(self, stuck: Sequence[Cta]) -> None:
        # an agent that need not wait for anybody is ahead of the loop
        ahead = [run.end if run.done else int(run.blocked[2]) for cta in stuck for run in cta.agents if run.blocked]
        ahead += [run.end for cta in stuck for run in cta.agents if run.done]
        cycle = max([*ahead, *(cta.sm.loop.now for cta in stuck)])
        raise hang_report(self._program, stuck, cycle, self._queued)

    def _explained(self, error: Exception) -> Exception:
        """The error with the kernel's own place, where generated code raised it."""
        if isinstance(error, HangError):
            return error
        for compiled in self._used:
            place = compiled.place_of(error)
            if place is not None:
                return located(error, self._program, *place)
        return error
