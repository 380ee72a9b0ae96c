"""The event loop, and what lives on it: barriers, agents, CTAs, SMs.

Generated code (see `compiler`) runs each agent as a generator on its own clock. It works on barriers and units
directly and yields only when something earlier is due elsewhere (`yield t`), or when it has to block (`yield None`).
All times are SM cycles.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush, heappushpop
from itertools import count
from typing import TYPE_CHECKING, Any

from tlxviz.sim.errors import BarrierError, Cause, Refused
from tlxviz.sim.reach import Reach

if TYPE_CHECKING:
    from tlxviz.sim.clusters import Cluster
    from tlxviz.sim.launch_control import Unstarted
    from tlxviz.sim.shared import SharedView
    from tlxviz.sim.tensor_memory import TensorMemoryView

Send = Callable[[Any], int | None]
Entry = tuple[float, int, Callable[..., Any] | None, Any]
Row = tuple[int, ...]

ROW = ("code", "begin", "end", "outer", "inner", "slot", "phase", "released_by")
"""What a row holds. `code` is the number of the site, plus the number of sites for an event of the TMA engine, plus
twice that number for one of the tensor cores, three times for an answer of the block scheduler, plus four times that
number for each run of a warp group that the CTA began before the one that executes the operation."""
DETAILS = ("barrier", "home", "round")
"""What the rows of a replay hold besides: see `replay.COLUMNS`."""
WARP_GROUP, TMA, TENSOR_CORE, LAUNCH_CONTROL = 0, 1, 2, 3
ENGINES = 4
"""Of these."""


_POLLS = 64  # reads in vain before all others are looked at


class Spinning(Exception):
    """Agents read memory over and over that nobody writes any more."""


class EventLoop:
    """A heap of (cycle, sequence, target, argument), so that equal runs are equal to the last event.

    An entry without argument resumes an agent's generator; any other is a call `target(cycle, argument)`.
    """

    __slots__ = ("_agents", "ended", "heap", "now", "sequence", "version")

    def __init__(self) -> None:
        self.heap: list[Entry] = [(math.inf, -1, None, None)]  # the sentinel spares an emptiness test per event
        self.sequence = count()
        self.ended: list[Cta] = []
        self.now = 0
        """Cycle of the last event, when the loop stands still."""
        self.version = 0
        """Counts what can change the answer to a repeated question: writes, phases, agents that come and go."""
        self._agents: dict[int, AgentRun] = {}

    def call(self, cycle: int, target: Callable[[int, Any], None], argument: object) -> None:
        """Calls `target(cycle, argument)` when all that is earlier has happened."""
        heappush(self.heap, (cycle, next(self.sequence), target, argument))

    def start(self, agent: AgentRun, cycle: int) -> None:
        """Lets `agent` run from `cycle` on."""
        generator = agent.generator
        next(generator)
        agent.send = generator.send
        agent.begin = cycle
        self._agents[id(generator)] = agent
        self.version += 1
        heappush(self.heap, (cycle, next(self.sequence), agent.send, None))

    def run(self) -> bool:
        """Runs until a CTA ends (`ended` holds it) or nothing is left to do; False in the latter case."""
        heap = self.heap
        sequence = self.sequence
        ended = self.ended
        last: float = self.now
        cycle = last
        try:
            cycle, _, target, argument = heappop(heap)
            while target is not None:
                if argument is None:
                    try:
                        resume = target(cycle)
                    except StopIteration as stop:
                        self._finish(target, stop.value)
                        if ended:
                            return True
                    else:
                        if resume is not None:
                            cycle, _, target, argument = heappushpop(heap, (resume, -next(sequence), target, None))
                            continue
                else:
                    target(cycle, argument)
                last = cycle
                cycle, _, target, argument = heappop(heap)
        finally:
            self.now = int(cycle if cycle < math.inf else last)
        heappush(heap, (math.inf, -1, None, None))
        return False

    def poll(self, agent: AgentRun, cycle: int, place: object) -> None:
        """`agent` reads memory at `place` in a loop.

        Raises:
            Spinning: nothing is left to happen but such reads, and nobody writes what they read.
        """
        if agent.seen != self.version:
            agent.seen = self.version
            agent.polls = 0
        agent.polls += 1
        agent.polled = place
        if agent.polls % _POLLS == 0:
            self._check_spinning(agent, cycle)

    def _check_spinning(self, polling: AgentRun, cycle: int) -> None:
        runnable = [polling]
        for _, _, target, argument in self.heap:
            if argument is not None:
                return
            if target is not None:
                runnable.append(self._agents[id(target.__self__)])  # type: ignore[attr-defined]
        if all(agent.seen == self.version and agent.polls >= _POLLS for agent in runnable):
            for agent in runnable:
                agent.blocked = ("poll", -1, cycle, -1, -1, agent.polled, 0)
            raise Spinning(cycle)

    def _finish(self, send: Any, end: int) -> None:
        self.version += 1
        agent = self._agents.pop(id(send.__self__))
        agent.end = end
        agent.done = True
        agent.cta.agent_ended(end)


class Barrier:
    """One mbarrier: arrivals still missing, bytes still to come, and the parity of the phase under way."""

    __slots__ = (
        "array",
        "cause",
        "completed",
        "count",
        "foreign",
        "home",
        "last_cta",
        "last_site",
        "last_time",
        "loop",
        "pending",
        "phase",
        "slot",
        "tx",
        "waiters",
    )

    def __init__(self, loop: EventLoop, array: int, slot: int) -> None:
        self.loop = loop
        self.array = array
        self.slot = slot
        self.count = 0
        self.pending = 0
        self.tx = 0
        self.phase = 0
        self.completed = 0
        self.cause = -1
        self.last_site = -1
        self.last_time = -1
        self.last_cta = -1
        """The CTA of the last arrival; -1 for one of the barrier's own, where there are no clusters."""
        self.home: Cta | None = None
        """Whose it is; only known in clusters."""
        self.foreign: list[tuple[int, int, int, int]] = []
        """What came by operations that reach other CTAs, of one phase: its number, cycle, site, and number of the CTA
        that it came from. Of an older phase where nothing came in this one."""
        self.waiters: list[Send] = []

    def came(self, cycle: int, site: int, cta: int) -> None:
        """Notes what such an operation of a CTA brings, before it is counted."""
        if self.foreign and self.foreign[-1][0] != self.completed:
            self.foreign.clear()
        self.foreign.append((self.completed, cycle, site, cta))

    def init(self, arrivals: int) -> None:
        """`mbarrier.init`: the count of arrivals that complete a phase."""
        self.count = self.pending = arrivals
        self.tx = self.phase = self.completed = 0
        self.cause = self.last_site = self.last_time = -1
        self.foreign.clear()

    def flip(self, cycle: int, cause: int) -> None:
        """Completes the phase and wakes those who wait for it."""
        self.phase ^= 1
        self.completed += 1
        self.loop.version += 1
        self.pending = self.count
        self.cause = cause
        if self.waiters:
            loop = self.loop
            for send in self.waiters:
                heappush(loop.heap, (cycle, next(loop.sequence), send, None))
            self.waiters = []

    def settle(self, cycle: int, cause: int) -> None:
        """After arrivals: completes the phase if no bytes are missing; complains when there were too many."""
        if self.pending < 0:
            got = self.count - self.pending
            if not self.count:
                facts = Refused(Cause.UNINITIALISED, self.array, self.slot)
                raise BarrierError(f"[{self.slot}] is used before it is initialised", facts)
            raise BarrierError(
                f"[{self.slot}] takes {self.count} arrival{'s' if self.count > 1 else ''} a phase and got {got}",
                Refused(Cause.ARRIVALS, self.array, self.slot, got, self.count),
            )
        if self.tx == 0:
            self.flip(cycle, cause)

    def land(self, cycle: int, size: int, cause: int) -> None:
        """`size` bytes of an asynchronous copy have arrived."""
        self.tx -= size
        if self.tx == 0 and self.pending == 0:
            self.flip(cycle, cause)


class NamedBarrier:
    """A hardware barrier (`bar.sync`, `bar.arrive`) of one CTA; counts threads."""

    __slots__ = ("arrived", "cause", "completed", "last_site", "last_time", "number", "threads", "waiters")

    def __init__(self, number: int) -> None:
        self.number = number
        self.arrived = 0
        self.threads = 0
        self.completed = 0
        self.cause = -1
        self.last_site = -1
        self.last_time = -1
        self.waiters: list[Send] = []

    def arrive(self, loop: EventLoop, cycle: int, threads: int, needed: int, cause: int) -> bool:
        """Adds `threads` of the `needed`; True when they are complete, and then everybody goes on."""
        if self.arrived and needed != self.threads:
            raise BarrierError(
                f"is used with {needed} threads here and with {self.threads} at the arrivals before it "
                f"({self.arrived} threads have arrived): the counts have to agree",
                Refused(Cause.THREADS, slot=self.number, have=self.threads, need=needed),
            )
        self.threads = needed
        self.arrived += threads
        if self.arrived < needed:
            return False
        if self.arrived > needed:
            raise BarrierError(
                f"named barrier {self.number} takes {needed} threads and {self.arrived} arrived",
                Refused(Cause.THREADS, slot=self.number, have=self.arrived, need=needed),
            )
        self.arrived = 0
        self.completed += 1
        self.cause = cause
        for send in self.waiters:
            heappush(loop.heap, (cycle, next(loop.sequence), send, None))
        self.waiters = []
        return True


class AgentRun:
    """One warp group of one CTA while it runs."""

    __slots__ = (
        "begin",
        "blocked",
        "copied",
        "copies",
        "cta",
        "done",
        "end",
        "first_thread",
        "generator",
        "group",
        "index",
        "marks",
        "meeting",
        "mmas",
        "number",
        "polled",
        "polls",
        "products",
        "refused",
        "remote",
        "seen",
        "send",
        "stores",
    )

    def __init__(self, cta: Cta, index: int, first_thread: int = 0) -> None:
        self.cta = cta
        self.index = index
        self.first_thread = first_thread
        self.number = 0
        """How many runs of warp groups the CTA began before."""
        self.marks: list[int] = []
        """Markers passed: the number of each, and how many rows the CTA had then."""
        self.generator: Generator[Any, Any, int] = None  # type: ignore[assignment]
        self.send: Send = None  # type: ignore[assignment]
        self.begin = self.end = 0
        self.done = False
        self.seen = -1
        self.polls = 0
        """How often it has read memory in a loop since the event loop's `version` was `seen`."""
        self.polled: Any = None
        """Where."""
        self.blocked: tuple[Any, ...] | None = None
        """Why it last stopped: (kind, site, since, outer, inner, barrier, parity or number of the named barrier)."""
        self.mmas: deque[tuple[int, int]] = deque()
        """Tensor-core work in flight: (cycle at which it completes, row)."""
        self.products: tuple[int, int] = (0, -1)
        """Of products into tensor memory: the cycle at which all until now are complete, and the row of the last."""
        self.copied = 0
        """Cycle at which its copies into tensor memory until now are complete."""
        self.stores: deque[tuple[int, int]] = deque()
        """TMA stores in flight: (cycle at which the source may be reused, row)."""
        self.copies: deque[tuple[int, int]] = deque()
        """Committed groups of asynchronous copies."""
        self.group: tuple[int, int] = (0, -1)
        """The group of asynchronous copies not yet committed."""
        self.meeting = -1
        """Phase of the cluster's barrier that it has arrived for; -1 if it need not wait for one."""
        self.remote = 0
        """Cycle at which its stores into other CTAs have got there."""
        self.refused = False
        """Whether it has seen an answer that there is no CTA left to take over."""


class Sm:
    """The units of one SM that its CTAs share: the cycle from which each is free, and what it has done so far."""

    __slots__ = (
        "compute_free",
        "flop",
        "global_load_bytes",
        "global_store_bytes",
        "index",
        "issue_busy",
        "load_free",
        "load_store_busy",
        "logic_busy",
        "logic_free",
        "loop",
        "maps",
        "mufu_busy",
        "mufu_free",
        "multicast_bytes",
        "products_done",
        "reach",
        "shared_busy",
        "shared_free",
        "tensor_busy",
        "tensor_copy_free",
        "tensor_each",
        "tensor_free",
        "tensor_load_free",
        "tensor_store_free",
        "tma_busy",
        "tma_free",
        "tma_load_bytes",
        "tma_store_busy",
        "tma_store_bytes",
        "tma_store_free",
        "unstarted",
    )

    def __init__(self, index: int, loop: EventLoop, reach: Reach, unstarted: Unstarted) -> None:
        self.index = index
        self.loop = loop
        self.unstarted = unstarted
        """What its CTAs can take over."""
        self.tensor_free = self.tma_free = self.tma_store_free = 0
        self.load_free = 0
        self.tensor_load_free = self.tensor_store_free = self.tensor_copy_free = 0
        self.products_done = 0
        """Cycle at which all products into tensor memory until now are complete."""
        self.compute_free = self.logic_free = self.mufu_free = self.shared_free = 0.0
        self.tensor_each = 0.0
        """What the instructions that were issued last take each."""
        self.tensor_busy = self.tma_busy = self.tma_store_busy = self.load_store_busy = self.flop = 0
        self.issue_busy = self.logic_busy = self.mufu_busy = self.shared_busy = 0.0
        self.tma_load_bytes = self.tma_store_bytes = self.multicast_bytes = 0
        self.global_load_bytes = self.global_store_bytes = 0
        self.reach = reach
        self.maps: set[str] = set()
        """Descriptors that the TMA engine has read."""

    def compute(self, cycle: int, work: tuple[float, ...]) -> int:
        """Arithmetic of a warp group; returns when it is done.

        `work`: what it takes from products that go on meanwhile; the share of the schedulers that the group has; its
        cycles while the tensor cores are busy; what it takes longer than its longest part, and how much more of that
        while they are busy; its cycles of the schedulers, of the pipe for logic, of the MUFU and of shared memory if it
        runs alone, and how many more they are while the tensor cores are busy.
        """
        (
            taken,
            share,
            longest,
            drag,
            drag_more,
            slots,
            logic,
            mufu,
            shared,
            slots_more,
            logic_more,
            mufu_more,
            shared_more,
        ) = work
        busy = self.tensor_free - cycle
        if busy > 0:
            part = 1.0 if busy >= longest else busy / longest
            self.tensor_free += round(part * taken)
            drag += part * drag_more
            slots += part * slots_more
            logic += part * logic_more
            mufu += part * mufu_more
            shared += part * shared_more
        start = self.compute_free
        if start < cycle:
            start = cycle
        self.compute_free = start + slots * share
        self.issue_busy += slots * share
        end = start + slots
        if logic:
            start = self.logic_free
            if start < cycle:
                start = cycle
            self.logic_free = start + logic * share
            self.logic_busy += logic * share
            if start + logic > end:
                end = start + logic
        if mufu:
            start = self.mufu_free
            if start < cycle:
                start = cycle
            self.mufu_free = start + mufu * share
            self.mufu_busy += mufu * share
            if start + mufu > end:
                end = start + mufu
        if shared:
            start = self.shared_free
            if start < cycle:
                start = cycle
            self.shared_free = start + shared
            self.shared_busy += shared
            if start + shared > end:
                end = start + shared
        return round(end + drag)

    def issue(self, cycle: int, took: int, ahead: int, duration: int, each: float) -> int:
        """Queues products for the tensor cores, which take `duration` in all, `each` an instruction; returns when they
        are issued.

        Issuing takes `took` cycles, and waits where more would be queued than the tensor cores hold: they have to have
        done all but `-ahead` of the instructions before, or the first `ahead` of these.
        """
        free = self.tensor_free
        begin = cycle if free < cycle else free
        self.tensor_free = begin + duration
        room = round(begin + ahead * each if ahead > 0 else free + ahead * self.tensor_each)
        self.tensor_each = each
        end = cycle + took
        return end if room < end else room

    def multiply(self, cycle: int, duration: int, complete: int, flop: int) -> tuple[int, int]:
        """Queues a product into tensor memory; returns when it begins, and when it is complete: after those before.

        It keeps the tensor cores busy for `duration` cycles, and is complete `complete` cycles after it has begun.
        """
        begin = self.tensor_free
        if begin < cycle:
            begin = cycle
        self.tensor_free = begin + duration
        done = begin + complete
        if done < self.products_done:
            done = self.products_done
        self.products_done = done
        self.tensor_busy += duration
        self.flop += flop
        return begin, done

    def read_map(self, cycle: int, name: str) -> None:
        """The TMA engine needs a descriptor: it reads it the first time."""
        self.maps.add(name)
        if self.tma_free < cycle:
            self.tma_free = cycle
        self.tma_free += self.reach.load_latency

    def load(self, cycle: int, transfer: int, latency: int, size: int) -> int:
        """Global reads that take the load-store path `transfer` cycles; returns when the data is there."""
        start = self.load_free
        if start < cycle:
            start = cycle
        self.load_free = start = start + transfer
        self.load_store_busy += transfer
        self.global_load_bytes += size
        return start + latency

    def store(self, cycle: int, transfer: int, size: int) -> None:
        """Global writes: they take the path `transfer` cycles, and nobody waits for them."""
        start = self.load_free
        if start < cycle:
            start = cycle
        self.load_free = start + transfer
        self.load_store_busy += transfer
        self.global_store_bytes += size


@dataclass(eq=False, slots=True)
class Cta:
    """One CTA in flight."""

    index: int
    """Linear number in the grid."""
    pid: tuple[int, int, int]
    grid: tuple[int, int, int]
    sm: Sm
    rows: list[Row]
    """Where events are recorded."""
    begin: int = 0
    end: int = 0
    agents: list[AgentRun] = field(default_factory=list)
    named: dict[int, NamedBarrier] = field(default_factory=dict)
    cluster: Cluster | None = None
    rank: int = 0
    """In its cluster."""
    origin: int = 0
    """What makes a row of this CTA the cause of another CTA's: see `clusters.ORIGIN`."""
    arrays: dict[int, list[Barrier]] = field(default_factory=dict)
    """In clusters: mbarriers that others can reach, by the number of their allocation."""
    buffers: dict[int, SharedView | TensorMemoryView] = field(default_factory=dict)
    """In clusters: shared and tensor memory that others can reach, likewise."""
    tensormaps: dict[Any, Any] = field(default_factory=dict)
    running: int = 0
    joiner: tuple[Send, int] | None = None
    """The default task where it waits for its partitions, and how many agents are then left."""

    def spawn(self, agent: AgentRun, cycle: int) -> None:
        """Starts one more warp group."""
        agent.number = len(self.agents)
        self.agents.append(agent)
        self.running += 1
        self.sm.loop.start(agent, cycle)

    def agent_ended(self, cycle: int) -> None:
        """Wakes the default task when its partitions have ended; reports the CTA when all have."""
        self.running -= 1
        if self.running == 0:
            self.end = max(run.end for run in self.agents)
            self.sm.loop.ended.append(self)
            if self.cluster is not None:
                self.cluster.barrier.leave(cycle, self.rank)
        elif self.joiner is not None and self.running == self.joiner[1]:
            send, _ = self.joiner
            self.joiner = None
            loop = self.sm.loop
            heappush(loop.heap, (cycle, next(loop.sequence), send, None))

    def named_barrier(self, number: int) -> NamedBarrier:
        """The named barrier of that number."""
        found = self.named.get(number)
        if found is None:
            found = self.named[number] = NamedBarrier(number)
        return found

    def unfinished(self) -> Sequence[AgentRun]:
        """The agents that have not ended."""
        return [agent for agent in self.agents if not agent.done]
