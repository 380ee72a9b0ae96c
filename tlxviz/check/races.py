"""The observer of a run that finds accesses which nothing orders."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from tlxviz.check.evidence import Conflict, Early, Leaving, Life, Lost, Outside, Unmade
from tlxviz.check.memory import Access, Memory
from tlxviz.check.order import Knowledge, Meeting, Order, Standing, counted_in, earliest
from tlxviz.check.refills import Refills
from tlxviz.check.schedules import Pace
from tlxviz.check.tally import Tally
from tlxviz.ir.operation import Operation
from tlxviz.sim.clusters import Cluster
from tlxviz.sim.descriptors import TileDescriptor
from tlxviz.sim.engine import AgentRun, Barrier, Cta, NamedBarrier
from tlxviz.sim.observer import At, View
from tlxviz.sim.runtime.remote import remote_barrier, remote_view
from tlxviz.sim.shared import SharedView

_COPIES, _WGMMA, _STORES, _TENSOR = "copies", "wgmma", "TMA stores", "tcgen05"
_IN_ORDER = frozenset({_TENSOR})
_BY_TENSOR_CORES = frozenset({"ttng.tc_gen5_mma", "ttng.tc_gen5_mma_scaled", "ttng.tc_gen5_commit", "ttng.tmem_copy"})
"""Whose arrivals come when what was handed to the tensor cores before is complete."""


class Races:
    """Watches a run.

    Args:
        pace: Who is held up; nobody by default.
    """

    def __init__(self, pace: Pace | None = None) -> None:
        self.order = Order()
        self._conflicts = Tally[Conflict]()
        self._early = Tally[Early]()
        self._leaving = Tally[Leaving]()
        self._outside = Tally[Outside]()
        self._lives = Tally[Life]()
        self._unmade = Tally[Unmade]()
        self._lost = Tally[Lost]()
        self._alive: dict[tuple[int, int, int], Barrier] = {}
        """mbarriers that are initialised: by CTA, array and slot."""
        self._pace = pace
        self._unwritten = Tally[Access]()
        self._stale = Tally[Access]()
        refills = Refills(lambda access: self._stale.count(access.op, lambda: access))
        self._memory = Memory(self._race, self._unfenced, self._overwritten, self._read_unwritten, refills.read)
        self._described: list[object] = []
        self._sent: dict[int, list[tuple[Standing, Operation, At, int]]] = {}
        """What others have sent to a CTA: who, and by which of his own events."""
        self._left: dict[Cta, set[AgentRun]] = {}

    def hold(self, me: AgentRun) -> int:
        return self._pace.hold(me) if self._pace is not None else 0

    def lag(self, me: AgentRun, engine: str) -> int:
        return self._pace.lag(me, engine) if self._pace is not None else 0

    # ------------------------------------------------------------------ agents

    def spawned(self, me: AgentRun, child: AgentRun) -> None:
        self.order.spawn(me, child)

    def joined(self, me: AgentRun) -> None:
        self.order.join(me)

    def ended(self, me: AgentRun) -> None:
        left = self._left.setdefault(me.cta, set())
        left.add(me)
        if len(left) == len(me.cta.agents) and me.index == me.cta.agents[0].index:
            self._cta_ended(me.cta)

    def _cta_ended(self, cta: Cta) -> None:
        last = Knowledge()
        for run in cta.agents:
            last.learn(self.order.standing(run).knowledge)
        for who, op, at, epoch in self._sent.pop(cta.index, ()):
            if last.clock.get(who.component, 0) < epoch:
                self._leaving.count(op, partial(Leaving, who, op, at, cta.index))

    # ------------------------------------------------------------------ mbarriers

    def initialised(self, me: AgentRun, op: Operation, at: At, barrier: Barrier) -> None:
        who, home = self.order.standing(me), self._home(me, barrier)
        place = home.index, barrier.array, barrier.slot
        before = self._alive.get(place)
        self._alive[place] = barrier
        if before is not None and before.count:
            left = Life(who, op, at, before.array, before.slot, before.tx, before.count - before.pending)
            self._lives.count((op, bool(left.bytes or left.arrivals)), lambda: left)
        self.order.renew(barrier)
        meeting = self._meeting(me, barrier)
        meeting.made = who.component, who.epoch
        # nobody else knows of it until this warp group tells
        who.tick()

    def invalidated(self, me: AgentRun, op: Operation, at: At, barrier: Barrier) -> None:
        self._alive.pop((self._home(me, barrier).index, barrier.array, barrier.slot), None)

    def _used(self, who: Standing, op: Operation, at: At, meeting: Meeting) -> None:
        component, index = meeting.made
        if who.knowledge.clock.get(component, 0) < index:
            self._unmade.count(op, lambda: Unmade(who, op, at, meeting))

    def arrived(self, me: AgentRun, op: Operation, at: At, barrier: Barrier) -> None:
        who, meeting, phase = self.order.standing(me), self._meeting(me, barrier), counted_in(barrier)
        self._used(who, op, at, meeting)
        self._check_early(who, op, at, meeting, phase)
        clock = who.knowledge.clock
        # a phase that has begun: those before are complete; this one as well if it takes no other arrival and no bytes
        begun = phase + 1 if barrier.count == 1 and barrier.completed > phase else phase
        if clock.get(meeting.component, 0) < begun:
            clock[meeting.component] = begun
        self.order.release(who, meeting, phase, op, at)

    def sent(self, me: AgentRun, op: Operation, at: At, barriers: Sequence[Barrier]) -> Any:
        who = self.order.standing(me)
        told = who.knowledge.copy()
        for kind in (_TENSOR, _COPIES):
            queue = who.queues.get(kind)
            if queue is not None:
                # copies of the group that is still open count as well
                told.clock[queue.component] = queue.issued + (kind == _COPIES)
        epoch = who.epoch
        meetings = [self._meeting(me, barrier) for barrier in barriers]
        for barrier, meeting in zip(barriers, meetings, strict=True):
            self._used(who, op, at, meeting)
            home = self._home(me, barrier)
            if home is not me.cta:
                self._sent.setdefault(home.index, []).append((who, op, at, epoch))
        who.tick()
        return who, told, epoch, op, at, list(zip(barriers, meetings, strict=True))

    def landed(self, cycle: int, sent: Any) -> None:
        who, told, epoch, op, at, reached = sent  # whose CTA may have ended since
        if op.name in _BY_TENSOR_CORES:
            told.learn(who.complete)  # they complete in order, and so do their arrivals
        for barrier, meeting in reached:
            phase = counted_in(barrier)
            self._check_early(who, op, at, meeting, phase, told)
            if op.name in _BY_TENSOR_CORES and barrier.count == 1:
                who.complete.clock[meeting.component] = phase + 1
            meeting.phase(phase).learn(told)
            meeting.senders[phase][who.component] = epoch
            if op.name in _BY_TENSOR_CORES:
                meeting.engines.add(phase)
            self.order.note_release(who, epoch, meeting, phase, op, at, told.clock)

    def waited(self, me: AgentRun, op: Operation, at: At, barrier: Barrier, parity: int) -> None:
        who, meeting = self.order.standing(me), self._meeting(me, barrier)
        self._used(who, op, at, meeting)
        known = who.knowledge.clock.get(meeting.component, 0)
        completed = min(earliest(known, parity), barrier.completed)
        self.order.acquire(who, meeting, completed, barrier.completed, op, at)

    def _check_early(
        self, who: Standing, op: Operation, at: At, meeting: Meeting, phase: int, told: Knowledge | None = None
    ) -> None:
        clock = (told or who.knowledge).clock
        known = clock.get(meeting.component, 0)
        if not all(meeting.surely_complete(number, who, clock) for number in range(known, phase)):
            self._early.count(op, lambda: Early(who, op, at, meeting, phase, known))

    def _meeting(self, me: AgentRun, barrier: Barrier) -> Meeting:
        return self.order.meeting(barrier, barrier.array, barrier.slot, self._home(me, barrier).index)

    @staticmethod
    def _home(me: AgentRun, place: Barrier | View) -> Cta:
        return me.cta if place.home is None else place.home

    # ------------------------------------------------------------------ other barriers

    def meets(self, me: AgentRun, op: Operation, at: At, barrier: NamedBarrier) -> None:
        who, phase = self.order.standing(me), barrier.completed
        meeting = self.order.meeting(barrier, -1, barrier.number, me.cta.index)
        meeting.phase(phase)
        if who.component in meeting.senders[phase]:
            self._early.count(op, lambda: Early(who, op, at, meeting, phase + 1, phase))
        else:
            self._check_early(who, op, at, meeting, phase)
        who.meets[meeting.component] = phase
        self.order.release(who, meeting, phase, op, at)

    def met(self, me: AgentRun, op: Operation, at: At, barrier: NamedBarrier) -> None:
        who, meeting = self.order.standing(me), self.order.meeting(barrier)
        completed = who.meets[meeting.component] + 1
        self.order.acquire(who, meeting, completed, completed, op, at)

    def cluster_arrived(self, me: AgentRun) -> None:
        who, meeting = self.order.standing(me), self._cluster(me)
        who.meets[meeting.component] = me.meeting
        told = meeting.phase(me.meeting)
        told.learn(who.knowledge)
        who.tick()

    def cluster_waited(self, me: AgentRun) -> None:
        who, meeting = self.order.standing(me), self._cluster(me)
        who.knowledge.learn(meeting.known(who.meets[meeting.component] + 1))

    def _cluster(self, me: AgentRun) -> Meeting:
        cluster = me.cta.cluster
        assert isinstance(cluster, Cluster)
        return self.order.meeting(cluster.barrier)

    # ------------------------------------------------------------------ memory

    def read(self, me: AgentRun, op: Operation, at: At, view: View) -> None:
        self._own(me, op, at, view, writes=False)

    def wrote(self, me: AgentRun, op: Operation, at: At, view: View) -> None:
        self._own(me, op, at, view, writes=True)

    def _own(self, me: AgentRun, op: Operation, at: At, view: View, *, writes: bool) -> None:
        if view.buffer < 0:
            return
        who, home = self.order.standing(me), self._home(me, view)
        generic = isinstance(view, SharedView)
        access = Access(op, at, who, view, home.index, writes, who.component, who.epoch, generic=generic)
        if home is not me.cta:
            self._sent.setdefault(home.index, []).append((who, op, at, who.epoch))
        self._memory.touch(access)

    def loads(self, me: AgentRun, op: Operation, at: At, view: View, barrier: Barrier, mask: int = -1) -> None:
        if mask < 0:
            self._landing(me, op, at, view, barrier)
            return
        cluster = me.cta.cluster
        assert cluster is not None
        for rank in range(len(cluster.ctas)):
            if mask >> rank & 1:
                self._landing(me, op, at, remote_view(me.cta, view, rank), remote_barrier(me.cta, barrier, rank))

    def answers(self, me: AgentRun, op: Operation, at: At, view: View, barrier: Barrier) -> None:
        cluster = me.cta.cluster
        if cluster is None:
            self._landing(me, op, at, view, barrier)
            return
        for cta in cluster.ctas:
            there = remote_view(me.cta, view, cta.rank)
            self._landing(me, op, at, there, remote_barrier(me.cta, barrier, cta.rank))

    def sends(
        self, me: AgentRun, op: Operation, at: At, source: View | None, there: View, barrier: Barrier | None
    ) -> None:
        who, home = self.order.standing(me), self._home(me, there)
        if home is not me.cta:
            self._sent.setdefault(home.index, []).append((who, op, at, who.epoch))
        if barrier is None:
            self._memory.touch(Access(op, at, who, there, home.index, True, who.component, who.epoch))
        else:
            self._landing(me, op, at, there, barrier, proxy=source is not None)
            if source is not None:
                meeting = self._meeting(me, barrier)
                index = barrier.completed + 1
                self._memory.touch(
                    Access(
                        op, at, who, source, me.cta.index, False, meeting.component, index, "copies", asynchronous=True
                    )
                )

    def _landing(
        self, me: AgentRun, op: Operation, at: At, view: View, barrier: Barrier, *, proxy: bool = True
    ) -> None:
        """Something is to be written by an engine, which then tells a barrier."""
        who, meeting = self.order.standing(me), self._meeting(me, barrier)
        phase = barrier.completed
        self._used(who, op, at, meeting)
        self._check_early(who, op, at, meeting, phase)
        told = meeting.phase(phase)
        if view.buffer >= 0:
            home = self._home(me, view).index
            self._memory.touch(
                Access(op, at, who, view, home, True, meeting.component, phase + 1, "TMA loads", asynchronous=proxy)
            )
        told.learn(who.knowledge)
        who.tick()

    def stores(self, me: AgentRun, op: Operation, at: At, view: View) -> None:
        self._queued(me, op, at, _STORES, (view,), ())

    def stored(self, me: AgentRun, pending: int) -> None:
        self._done(me, _STORES, pending)

    def copies(self, me: AgentRun, op: Operation, at: At, view: View) -> None:
        if view.buffer < 0:
            return
        who = self.order.standing(me)
        queue = self.order.queue(who, _COPIES)
        self._memory.touch(Access(op, at, who, view, me.cta.index, True, queue.component, queue.issued + 1, _COPIES))

    def committed(self, me: AgentRun) -> None:
        self.order.queue(self.order.standing(me), _COPIES).issued += 1

    def copied(self, me: AgentRun, pending: int) -> None:
        self._done(me, _COPIES, pending)

    def multiplies(self, me: AgentRun, op: Operation, at: At, operands: Sequence[View]) -> None:
        self._queued(me, op, at, _WGMMA, operands, ())

    def multiplied(self, me: AgentRun, pending: int) -> None:
        self._done(me, _WGMMA, pending)

    def tensor_work(
        self, me: AgentRun, op: Operation, at: At, reads: Sequence[View], writes: View, paired: bool
    ) -> None:
        views, results = [*reads], [writes]
        if paired:
            rank = me.cta.rank ^ 1
            views += [remote_view(me.cta, view, rank) for view in reads]
            results.append(remote_view(me.cta, writes, rank))
        self._queued(me, op, at, _TENSOR, views, results)

    def tensor_work_done(self, me: AgentRun) -> None:
        self._done(me, _TENSOR, 0)

    def _queued(
        self, me: AgentRun, op: Operation, at: At, kind: str, reads: Sequence[View], writes: Sequence[View]
    ) -> None:
        who = self.order.standing(me)
        queue = self.order.queue(who, kind)
        queue.issued += 1
        for view, writing in [*((view, False) for view in reads), *((view, True) for view in writes)]:
            if view.buffer < 0:
                continue
            shared = isinstance(view, SharedView)
            self._memory.touch(
                Access(
                    op,
                    at,
                    who,
                    view,
                    self._home(me, view).index,
                    writing,
                    queue.component,
                    queue.issued,
                    kind,
                    in_order=kind in _IN_ORDER,
                    asynchronous=shared,
                )
            )

    def _done(self, me: AgentRun, kind: str, pending: int) -> None:
        who = self.order.standing(me)
        queue = self.order.queue(who, kind)
        done = queue.issued - pending
        if who.knowledge.clock.get(queue.component, 0) < done:
            who.knowledge.clock[queue.component] = done

    # ------------------------------------------------------------------ order of memory

    def fenced(self, me: AgentRun) -> None:
        self.order.fence(me)

    def describes(self, me: AgentRun, op: Operation, at: At, place: tuple[int, int], memory: object) -> None:
        self._described.append(memory)  # so that nobody else's comes to lie there
        who = self.order.standing(me)
        access = Access(op, at, who, None, me.cta.index, True, who.component, who.epoch)
        self._memory.touch_descriptor(access, place)

    def uses(
        self,
        me: AgentRun,
        op: Operation,
        at: At,
        descriptor: TileDescriptor,
        corner: Sequence[int],
        told: Barrier | None,
    ) -> None:
        who = self.order.standing(me)
        pairs = list(zip(corner, descriptor.shape, descriptor.block, strict=False))
        if any(start >= size or start + block <= 0 for start, size, block in pairs):
            self._outside.count(op, lambda: Outside(who, op, at, tuple(corner), descriptor.shape))
        if descriptor.made_at is None:
            return
        if told is None:
            queue = self.order.queue(who, _STORES)
            component, index = queue.component, queue.issued
        else:
            meeting = self._meeting(me, told)
            component, index = meeting.component, told.completed + 1
        access = Access(op, at, who, None, me.cta.index, False, component, index, "TMA copies")
        self._memory.touch_descriptor(access, descriptor.made_at)

    # ------------------------------------------------------------------ what was found

    def seen(self) -> Iterable[tuple[Conflict, int]]:
        """Pairs of operations whose accesses nothing orders: the first accesses of each, and how many there were."""
        return self._conflicts.items()

    def too_early(self) -> Iterable[tuple[Early, int]]:
        """Arrivals that may count for another phase, likewise."""
        return self._early.items()

    def leaving_too_soon(self) -> Iterable[tuple[Leaving, int]]:
        """What reaches CTAs that may have ended, likewise."""
        return self._leaving.items()

    def outside(self) -> Iterable[tuple[Outside, int]]:
        """Copies of tiles that lie outside of their tensors, likewise."""
        return self._outside.items()

    def lives(self) -> Iterable[tuple[Life, int]]:
        """Barriers that are initialised while they are in use, likewise."""
        return self._lives.items()

    def unmade(self) -> Iterable[tuple[Unmade, int]]:
        """Uses of barriers that may not be initialised, likewise."""
        return self._unmade.items()

    def lost(self) -> Iterable[tuple[Lost, int]]:
        """What is read after something else was written over part of it, likewise."""
        return self._lost.items()

    def _overwritten(self, written: Access, over: Access, read: Access) -> None:
        self._lost.count((written.op, over.op, read.op), lambda: Lost(written, over, read))

    def unwritten(self) -> Iterable[tuple[Access, int]]:
        """Reads of memory that nobody has written, likewise."""
        return self._unwritten.items()

    def stale(self) -> Iterable[tuple[Access, int]]:
        """Reads that find no new fill where the same operation does in other iterations, likewise."""
        return self._stale.items()

    def _read_unwritten(self, access: Access) -> None:
        self._unwritten.count(access.op, lambda: access)

    def _race(self, before: Access, after: Access, knowledge: Knowledge) -> None:
        self._note("race", before, after)

    def _unfenced(self, before: Access, after: Access, knowledge: Knowledge) -> None:
        covered = knowledge.covered.get(before.component, 0) >= before.index
        self._note("covered" if covered else "unfenced", before, after)

    def _note(self, kind: str, before: Access, after: Access) -> None:
        key = kind, before.op, after.op, before.writes, after.writes
        self._conflicts.count(key, lambda: self._conflict(kind, before, after))

    def _conflict(self, kind: str, before: Access, after: Access) -> Conflict:
        known = after.who.knowledge.clock.get(before.who.component, 0)
        return Conflict(
            kind, before, after, dict(after.who.acquires), known, self.order.meeting_of.get(before.component)
        )
