"""Happens-before, from what agents tell each other through barriers, whatever the order in which they happened to run.

A wait for a parity goes on when *some* phase of that parity is complete. What it teaches is therefore what the earliest
phase teaches that fits what its warp group knew before, and not what the phase teaches that was complete in this run.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count

from tlxviz.check.clocks import Clock, join
from tlxviz.ir.operation import Operation
from tlxviz.sim.engine import AgentRun, Barrier
from tlxviz.sim.observer import At


@dataclass(slots=True)
class Knowledge:
    """What somebody knows to have happened, and which of it the asynchronous proxy is known to see as well."""

    clock: Clock = field(default_factory=Clock)
    fenced: Clock = field(default_factory=Clock)
    """What was followed by a fence of the warp group that did it."""
    covered: Clock = field(default_factory=Clock)
    """What was followed by a fence of anybody who knew of it."""

    def learn(self, other: Knowledge) -> None:
        join(self.clock, other.clock)
        join(self.fenced, other.fenced)
        join(self.covered, other.covered)

    def copy(self) -> Knowledge:
        return Knowledge(dict(self.clock), dict(self.fenced), dict(self.covered))


@dataclass(frozen=True, slots=True)
class Release:
    """An arrival by which a warp group tells others what it has done until then."""

    epoch: int
    """Its own events until then."""
    barrier: Meeting
    phase: int
    op: Operation
    at: At
    completes: Clock
    """What who knows of it knows: of work that was handed to engines, how much is complete."""


@dataclass(frozen=True, slots=True)
class Acquire:
    """A wait that went on."""

    completed: int
    """Phases that are surely complete then."""
    seen: int
    """Phases that were in this run."""
    op: Operation
    at: At


@dataclass(eq=False, slots=True)
class Meeting:
    """A barrier of any kind: what those knew who arrived in each of its phases."""

    component: int
    array: int
    """Position in `program.barriers`; -1 for other barriers than mbarriers."""
    slot: int
    """Of the array; the number of a named barrier."""
    cta: int
    phases: list[Knowledge] = field(default_factory=list[Knowledge])
    senders: list[dict[int, int]] = field(default_factory=list[dict[int, int]])
    """By phase, who arrived: their components, and how many of their events came before their last arrival."""
    engines: set[int] = field(default_factory=set[int])
    """Phases that engines bring something to, of which nobody knows by the events of a warp group."""
    made: tuple[int, int] = (0, 0)
    """Component and number of the event that initialised it."""
    _complete: list[Knowledge] = field(default_factory=list[Knowledge])
    """What is known by those who know that so many phases and one are complete."""

    def phase(self, number: int) -> Knowledge:
        """What those know who have arrived in a phase until now."""
        while len(self.phases) <= number:
            self.phases.append(Knowledge())
            self.senders.append({})
        return self.phases[number]

    def surely_complete(self, number: int, who: Standing, clock: Clock) -> bool:
        """Whether who knows `clock` knows of all arrivals of a phase that is complete in this run; his own are in the
        order in which he sent them."""
        senders = self.senders[number] if number < len(self.senders) else {}
        if senders.keys() == {who.component}:
            return True
        known = all(who.component == each or clock.get(each, 0) >= epoch for each, epoch in senders.items())
        return bool(senders) and number not in self.engines and known

    def known(self, completed: int) -> Knowledge:
        """What follows from the completion of so many phases, which are all in the past."""
        while len(self._complete) < completed:
            number = len(self._complete)
            found = self._complete[-1].copy() if self._complete else Knowledge()
            found.learn(self.phase(number))
            found.clock[self.component] = number + 1
            self._complete.append(found)
        return self._complete[completed - 1] if completed else Knowledge()


@dataclass(eq=False, slots=True)
class Standing:
    """A warp group of a CTA: what it knows, and how far the work is that it has handed to engines."""

    agent: int
    """Position in `program.agents`."""
    cta: int
    """Linear number."""
    component: int
    queues: dict[str, Queue] = field(default_factory=dict[str, "Queue"])
    knowledge: Knowledge = field(default_factory=Knowledge)
    complete: Knowledge = field(default_factory=Knowledge)
    """Phases that are complete when the next of its tcgen05 work is."""
    meets: dict[int, int] = field(default_factory=dict[int, int])
    """The phase of each other barrier that it has arrived for, by the barrier's component."""
    releases: list[Release] = field(default_factory=list[Release])
    acquires: dict[int, Acquire] = field(default_factory=dict[int, Acquire])
    """Its last wait at each barrier, by the barrier's component."""
    vain: dict[int, Acquire] = field(default_factory=dict[int, Acquire])
    """The last one of these that went on for a phase which the warp group had waited for before."""

    @property
    def epoch(self) -> int:
        """Its own events until now."""
        return self.knowledge.clock[self.component]

    def tick(self) -> None:
        """What it does from now on is not part of what it has told others."""
        self.knowledge.clock[self.component] += 1


@dataclass(eq=False, slots=True)
class Queue:
    """Work of one kind that a warp group has handed to an engine, which does it in order."""

    component: int
    issued: int = 0


class Order:
    """Who knows what."""

    def __init__(self) -> None:
        self._numbers = count(1)
        self._standings: dict[AgentRun, Standing] = {}
        self._meetings: dict[object, Meeting] = {}
        self.meeting_of: dict[int, Meeting] = {}
        """Barriers by their components."""

    def standing(self, me: AgentRun) -> Standing:
        """What a warp group knows."""
        found = self._standings.get(me)
        if found is None:
            number = next(self._numbers)
            found = self._standings[me] = Standing(me.index, me.cta.index, number)
            found.knowledge.clock[number] = 1
        return found

    def queue(self, who: Standing, kind: str) -> Queue:
        """A queue of work of a warp group."""
        found = who.queues.get(kind)
        if found is None:
            found = who.queues[kind] = Queue(next(self._numbers))
        return found

    def meeting(self, barrier: object, array: int = -1, slot: int = -1, cta: int = -1) -> Meeting:
        """What those knew who arrived at a barrier."""
        found = self._meetings.get(barrier)
        if found is None:
            found = self._meetings[barrier] = Meeting(next(self._numbers), array, slot, cta)
            self.meeting_of[found.component] = found
        return found

    def find(self, array: int, slot: int, cta: int) -> Meeting | None:
        """The barrier at a place; None where nobody has used one."""
        return next((m for m in self._meetings.values() if (m.array, m.slot, m.cta) == (array, slot, cta)), None)

    def standing_of(self, agent: int, cta: int) -> Standing | None:
        """What a warp group of a CTA knows; None where there is none."""
        return next((each for each in self._standings.values() if (each.agent, each.cta) == (agent, cta)), None)

    def standing_with(self, component: int) -> Standing | None:
        """The warp group whose events a component has; None if it is none's."""
        return next((each for each in self._standings.values() if each.component == component), None)

    def renew(self, barrier: object) -> None:
        """The barrier begins a new life."""
        self._meetings.pop(barrier, None)

    # ------------------------------------------------------------------ what agents do

    def spawn(self, me: AgentRun, child: AgentRun) -> None:
        """`child` knows what `me` does when it begins."""
        who = self.standing(me)
        self.standing(child).knowledge.learn(who.knowledge)
        who.tick()

    def join(self, me: AgentRun) -> None:
        """`me` knows what the others of its CTA have done, who have ended."""
        who = self.standing(me)
        for run in me.cta.agents:
            if run is not me:
                who.knowledge.learn(self.standing(run).knowledge)

    def fence(self, me: AgentRun) -> None:
        """The asynchronous proxy sees what `me` knows to be written."""
        who = self.standing(me)
        who.knowledge.fenced[who.component] = who.epoch
        join(who.knowledge.covered, who.knowledge.clock)
        who.tick()

    def release(self, who: Standing, meeting: Meeting, phase: int, op: Operation, at: At) -> None:
        """`who` arrives in a phase of a barrier, which is complete no earlier."""
        told = meeting.phase(phase)
        told.learn(who.knowledge)
        meeting.senders[phase][who.component] = who.epoch
        self.note_release(who, who.epoch, meeting, phase, op, at, who.knowledge.clock)
        who.tick()

    def note_release(
        self, who: Standing, epoch: int, meeting: Meeting, phase: int, op: Operation, at: At, clock: Clock
    ) -> None:
        """Keeps which arrival told others of the events of `who` until `epoch`."""
        queues = {each.component: clock[each.component] for each in who.queues.values() if each.component in clock}
        who.releases.append(Release(epoch, meeting, phase, op, at, queues))

    def acquire(self, who: Standing, meeting: Meeting, completed: int, seen: int, op: Operation, at: At) -> None:
        """`who` has seen that so many phases of a barrier are complete."""
        before = who.acquires.get(meeting.component)
        found = who.acquires[meeting.component] = Acquire(completed, seen, op, at)
        if before is not None and before.completed == completed:
            who.vain[meeting.component] = found
        who.knowledge.learn(meeting.known(completed))


def earliest(known: int, parity: int) -> int:
    """The least number of completed phases that lets a wait for a parity go on, for who knows of `known` of them."""
    return known if (known - 1) & 1 == parity else known + 1


def counted_in(barrier: Barrier) -> int:
    """The phase of a barrier that an arrival belongs to which has just been counted."""
    flipped = barrier.pending == barrier.count and barrier.tx == 0
    return barrier.completed - 1 if flipped else barrier.completed
