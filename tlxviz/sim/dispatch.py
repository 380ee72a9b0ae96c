"""Runs the CTAs of a launch on the SMs of a device.

An SM runs on an event loop of its own and stops whenever one of its CTAs ends; the SM that stops earliest gets the next
CTA, as the hardware does it. The SMs of a cluster share a loop, and get the next cluster when all CTAs of one have
ended. CTAs that talk to each other through global memory, or take over others, share one loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush

from tlxviz.devices.model import Device
from tlxviz.ir.program import Program
from tlxviz.sim.clusters import Cluster, ClusterBarrier
from tlxviz.sim.compiler import CompiledKernel, located
from tlxviz.sim.effects import takes_over, talks
from tlxviz.sim.engine import AgentRun, Cta, EventLoop, Row, Sm, Spinning
from tlxviz.sim.errors import HangError, RemoteFault
from tlxviz.sim.hang import hang_report
from tlxviz.sim.launch_control import Unstarted
from tlxviz.sim.placement import Placement
from tlxviz.sim.reach import Reach


@dataclass(slots=True)
class Outcome:
    """What a run did."""

    sms: list[Sm]
    traced: list[Cta]
    """Traced CTAs, ended or not, with their rows."""
    footprint: int = 0
    """Bytes of the launch's tensors."""
    cycles: int = 0
    """From the first CTA's start to the last one's end."""
    now: int = 0
    """The last cycle that the run has reached."""
    steps: int = 0
    """Entries that the event loops have had."""
    done: int = 0
    """CTAs that ended, or were taken over and so need not start."""
    taken: dict[int, int] = field(default_factory=dict[int, int])
    """CTAs that were taken over, and those that did their work."""
    last_end: dict[int, int] = field(default_factory=dict[int, int])
    """Cycle at which each SM ended its last CTA."""

    goes_on: bool = False
    """Whether it is a copy of a run that goes on: an agent that is `blocked` then waits, at `now`."""

    def so_far(self) -> Outcome:
        """A copy that stays as it is while the run goes on, also for another thread than the run's."""
        traced = list(self.traced)
        # The lists of rows refer to each other. Copied by one call that runs no bytecode, they are of one moment.
        rows = list(map(list, [cta.rows for cta in traced]))
        copies = [
            replace(cta, rows=own, agents=[copy(run) for run in list(cta.agents)])
            for cta, own in zip(traced, rows, strict=True)
        ]
        latest = [row[1] for cta, own in zip(traced, rows, strict=True) if cta.running for row in own[-_LATEST:]]
        for run in (run for cta in copies for run in cta.agents):
            if not _waits(run):
                run.blocked = None  # it has gone on since
            elif run.blocked is not None:
                latest.append(int(run.blocked[2]))
        now = max(latest, default=self.cycles)
        ends = dict(self.last_end)
        return Outcome(
            list(self.sms),
            copies,
            self.footprint,
            self.cycles,
            now,
            done=self.done,
            last_end=ends,
            goes_on=True,
        )


def _waits(run: AgentRun) -> bool:
    """Whether what an agent last stopped for has not come yet."""
    if run.done or run.blocked is None:
        return False
    kind, target = run.blocked[0], run.blocked[5]
    if kind == "join":
        return run.cta.joiner is not None
    return run.send in getattr(target, "waiters", ())


_LATEST = 256
"""Rows at the end of a CTA's among which the one is that began last."""


MOST_OF_AN_SM = 32
"""CTAs that are recorded of an SM; a kernel of many short CTAs repeats itself."""


@dataclass(frozen=True, slots=True)
class Tracing:
    """Which CTAs are recorded."""

    ctas: frozenset[int] = frozenset()
    first_sm: bool = False
    """Also those of the SM, or of the cluster's SMs, that the first CTA runs on."""

    def __bool__(self) -> bool:
        return bool(self.ctas) or self.first_sm


@dataclass(eq=False, slots=True)
class Gang:
    """SMs that run the CTAs of one cluster; one SM, where there are no clusters."""

    loop: EventLoop
    sms: list[Sm]


class Dispatcher:
    """The block scheduler of a device, for one launch."""

    def __init__(
        self,
        program: Program,
        device: Device,
        placement: Placement,
        per_sm: int,
        reach: Reach,
        arguments: Sequence[object],
        plain: Callable[[], CompiledKernel],
        traced: Callable[[], CompiledKernel],
    ) -> None:
        self._program = program
        self._placement = placement
        self._per_sm = per_sm
        self._reach = reach
        self._arguments = arguments
        self._kernels = {False: plain, True: traced}
        self._used: list[CompiledKernel] = []
        self._delay = round(device.launch.cta_cycles)
        self._next = device.launch.next_cta_cycles
        self._kept: set[int] = set()
        """Numbers of the CTAs that are recorded."""
        self._tracing = Tracing()
        self._shown: Gang | None = None
        self._one_loop = False
        """Whether all SMs share a loop."""
        self._unstarted = Unstarted((), placement, lambda ctas: None)

    def run(self, ctas: Sequence[int], tracing: Tracing, progress: Callable[[int], None], outcome: Outcome) -> None:
        """Runs the clusters of the CTAs with the numbers `ctas`, in their order; records what `tracing` picks.

        `outcome` is filled while the run goes on, so that it holds what there is after an interruption.

        Raises:
            HangError: a CTA can never end.
        """
        placement = self._placement
        shared = self._one_loop = talks(self._program) or takes_over(self._program)
        self._kept = set()
        loop = EventLoop()
        clusters = list(dict.fromkeys(map(placement.cluster_of, ctas)))

        def taken(ctas: dict[int, int]) -> None:
            outcome.taken |= ctas
            outcome.done += len(ctas)
            progress(outcome.done)

        self._unstarted = Unstarted(clusters, placement, taken)
        gangs: list[Gang] = []
        for column in sorted({number % len(placement.columns) for number in clusters}):
            own = loop if shared else EventLoop()
            sms = [Sm(number, own, self._reach, self._unstarted) for number in placement.columns[column]]
            gangs.append(Gang(own, sms))
        outcome.sms = [sm for gang in gangs for sm in gang.sms]
        self._tracing = tracing
        self._shown = gangs[0] if tracing.first_sm else None  # where the first cluster goes
        first = min(len(clusters), len(gangs) * self._per_sm)
        alive: dict[int, Cta] = {}
        started = [(gangs[position % len(gangs)], clusters[position]) for position in range(first)]
        for _ in started:
            self._unstarted.start()
        try:
            if shared:
                for gang, number in started:
                    self._start(gang, number, self._first(number), outcome, alive)
                self._together(loop, gangs, outcome, alive, progress)
            else:
                self._separately(gangs, started, outcome, alive, progress)
        except Spinning as error:
            raise hang_report(self._program, list(alive.values()), error.args[0], self._queued) from None
        except Exception as error:
            raise self._explained(error) from error
        finally:
            outcome.now = max(gang.loop.now for gang in gangs)
            # a launch has not ended before what its CTAs wrote is there
            outcome.cycles = max([outcome.cycles, *(sm.load_free for sm in outcome.sms)]) if outcome.done else 0
            outcome.steps = sum(next(each.sequence) for each in {id(gang.loop): gang.loop for gang in gangs}.values())

    def _separately(
        self,
        gangs: Sequence[Gang],
        started: Sequence[tuple[Gang, int]],
        outcome: Outcome,
        alive: dict[int, Cta],
        progress: Callable[[int], None],
    ) -> None:
        """Each gang on its loop, up to the next end of one of its clusters; the earliest of them gets the next."""
        ends: list[tuple[int, int]] = []
        for position, gang in enumerate(gangs):
            for _, number in started[position :: len(gangs)]:
                self._start(gang, number, self._first(number), outcome, alive)
            self._advance(gang, position, ends, outcome, alive, progress)
        while ends:
            cycle, position = heappop(ends)
            number = self._unstarted.start()
            if number is not None:
                self._start(gangs[position], number, cycle + self._delay, outcome, alive)
            self._advance(gangs[position], position, ends, outcome, alive, progress)

    def _advance(
        self,
        gang: Gang,
        position: int,
        ends: list[tuple[int, int]],
        outcome: Outcome,
        alive: dict[int, Cta],
        progress: Callable[[int], None],
    ) -> None:
        loop = gang.loop
        while loop.run():
            free = self._take_ended(loop, outcome, alive, progress)
            if free:
                for cta in free:
                    heappush(ends, (cta.end, position))
                return
        stuck = [cta for cta in alive.values() if cta.sm.loop is loop]
        if stuck:
            self._hang(stuck)

    def _together(
        self,
        loop: EventLoop,
        gangs: Sequence[Gang],
        outcome: Outcome,
        alive: dict[int, Cta],
        progress: Callable[[int], None],
    ) -> None:
        """All gangs on one loop."""
        gang_of = {sm.index: gang for gang in gangs for sm in gang.sms}
        while loop.run():
            for cta in self._take_ended(loop, outcome, alive, progress):
                number = self._unstarted.start()
                if number is not None:
                    self._start(gang_of[cta.sm.index], number, cta.end + self._delay, outcome, alive)
        if alive:
            self._hang(list(alive.values()))

    def _first(self, number: int) -> int:
        """Cycle at which a cluster starts that need not wait for room: they are given out one after the other."""
        return round(number * self._placement.size * self._next)

    def _start(self, gang: Gang, number: int, cycle: int, outcome: Outcome, alive: dict[int, Cta]) -> None:
        """Starts all CTAs of a cluster."""
        members = self._placement.members(number)
        cluster = None
        if len(members) > 1:
            cluster = Cluster(ClusterBarrier(gang.loop, len(members), self._program.total_warps))
        for sm, member in zip(gang.sms, members, strict=True):
            traced = member in self._tracing.ctas or (gang is self._shown and len(self._kept) < MOST_OF_AN_SM)
            rows: list[Row] = []  # stays empty, or is forgotten, when the CTA is not traced
            placement = self._placement
            cta = alive[member] = Cta(member, placement.pid(member), placement.grid, sm, rows, begin=cycle)
            if cluster is not None:
                cluster.add(cta)
            if traced:
                self._kept.add(member)
                outcome.traced.append(cta)
            kernel = self._kernels[traced]()
            if kernel not in self._used:
                self._used.append(kernel)
            run = AgentRun(cta, kernel.default.index, kernel.first_thread)
            run.generator = kernel.entry(cta, run, *self._arguments)
            cta.spawn(run, cycle)

    def _take_ended(
        self, loop: EventLoop, outcome: Outcome, alive: dict[int, Cta], progress: Callable[[int], None]
    ) -> list[Cta]:
        """Books the CTAs that have ended; gives those whose end makes room: the last ones of their clusters."""
        free: list[Cta] = []
        for cta in loop.ended:
            del alive[cta.index]
            cluster = cta.cluster
            if cluster is None or cluster.ended:
                free.append(cta)
                if cta.index not in self._kept:
                    _forget(cta)
            outcome.done += 1
            outcome.cycles = max(outcome.cycles, cta.end)
            outcome.last_end[cta.sm.index] = max(cta.end, outcome.last_end.get(cta.sm.index, 0))
            progress(outcome.done)
        loop.ended.clear()
        return free

    @property
    def _queued(self) -> int:
        """CTAs that no SM has had room for; where each SM has a loop of its own, others may have."""
        return self._unstarted.ctas if self._one_loop else 0

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
        if isinstance(error, RemoteFault):
            return located(error.error, self._program, self._program.sites[error.site].operation, error.cta)
        for compiled in self._used:
            place = compiled.place_of(error)
            if place is not None:
                return located(error, self._program, *place)
        return error


def _forget(cta: Cta) -> None:
    """A finished CTA, its agents and their generators refer to each other, and nobody collects garbage now."""
    ctas = [cta]
    if cta.cluster is not None:
        ctas = cta.cluster.ctas
        cta.cluster.dissolve()
    for each in ctas:
        for run in each.agents:
            del run.generator, run.send, run.cta
            run.blocked = None  # a barrier of a cluster knows its CTA
