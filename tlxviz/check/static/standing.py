"""Whether the warp groups' ways, taken without any regard for time, come to an end: order of slots, depth of rings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from tlxviz.check.brings import Kind
from tlxviz.check.clocks import join
from tlxviz.check.hangs import finding_of_hang
from tlxviz.check.model import Finding
from tlxviz.check.order import earliest
from tlxviz.check.standstill import Who
from tlxviz.check.static.courses import Course, Step
from tlxviz.check.static.registry import Kernel
from tlxviz.ir.program import SiteKind

Known = dict[tuple[int, int], int]
"""Phases that are known to be complete, by array and slot of the barrier."""


@dataclass(slots=True)
class _Barrier:
    """An mbarrier, or a named barrier."""

    count: int
    pending: int = 0
    bytes: int = 0
    completed: int = 0
    arrived: set[Who] = field(default_factory=set[Who])
    """In the phase that is not complete."""
    overtaken: bool = False
    """Whether somebody has arrived twice in a phase."""
    told: Known = field(default_factory=Known)
    """What those knew who have arrived until now."""
    history: list[Known] = field(default_factory=list[Known])
    """The same when each phase was complete."""

    def __post_init__(self) -> None:
        self.pending = self.count

    def settle(self) -> None:
        if self.pending == 0 and self.bytes == 0:
            self.completed += 1
            self.pending = self.count
            self.arrived.clear()
            self.history.append(dict(self.told))


class _Unclear(Exception):
    """More came to a barrier than it takes, or what came is not known: the ways are not what a GPU would do."""


def ways_end(kernel: Kernel) -> Iterator[Finding]:
    """Circular waits, and waits for what is never brought; to be asked where nothing simpler is wrong."""
    if kernel.clustered or any(each.kind is Kind.ARRIVALS and not each.amount for each in kernel.bringings):
        return
    if kernel.renewed:
        return
    run = _Run(kernel)
    try:
        run.go()
    except _Unclear:
        return
    report = run.report()
    if report is not None:
        yield finding_of_hang(report, kernel.program, run)


class _Run:
    """Goes all ways at once: each warp group as far as it comes, over and over."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._courses = kernel.courses
        self._at = [0] * len(self._courses)
        self._met: dict[int, int] = {}
        """The phase of a named barrier that a course waits for, by its position."""
        self._barriers: dict[tuple[int, int], _Barrier] = {}
        self._known: dict[Who, Known] = {(course.agent.name, 0): {} for course in kernel.courses}

    def _barrier(self, array: int, slot: int, need: int) -> _Barrier:
        found = self._barriers.get((array, slot))
        if found is None:
            counts = self._kernel.program.barriers[array].counts if array >= 0 else ()
            if array >= 0 and not 0 <= slot < len(counts):
                raise _Unclear
            found = self._barriers[array, slot] = _Barrier(counts[slot] if array >= 0 else need)
        return found

    def go(self) -> None:
        """As far as all come."""
        moved = True
        while moved:
            moved = False
            for number, course in enumerate(self._courses):
                while self._at[number] < len(course.steps) and self._step(number, course):
                    self._at[number] += 1
                    moved = True

    def _step(self, number: int, course: Course) -> bool:
        """Takes one step; False where it has to wait."""
        step, who = course.steps[self._at[number]], (course.agent.name, 0)
        if step.brings is None and step.parity < 0:
            return True
        barrier = self._barrier(step.array, step.slot, step.need)
        if step.parity >= 0:
            return self._wait(step, barrier, self._known[who])
        assert step.brings is not None
        match step.brings.kind:
            case Kind.THREADS:
                return self._meet(number, step, barrier, who)
            case Kind.BYTES:
                if not step.brings.amount:
                    raise _Unclear
                barrier.bytes -= step.brings.amount
            case Kind.ARRIVALS:
                if step.site.kind is SiteKind.EXPECT:
                    barrier.bytes += step.site.bytes
                barrier.pending -= step.brings.amount
                barrier.arrived.add(who)
        join(barrier.told, self._known[who])
        if barrier.pending < 0:
            raise _Unclear
        barrier.settle()
        return True

    def _wait(self, step: Step, barrier: _Barrier, known: Known) -> bool:
        if barrier.completed & 1 == step.parity:
            return False
        place = step.array, step.slot
        completed = earliest(known.get(place, 0), step.parity)
        if 0 < completed <= len(barrier.history):
            join(known, barrier.history[completed - 1])
        known[place] = max(known.get(place, 0), completed)
        return True

    def _meet(self, number: int, step: Step, barrier: _Barrier, who: Who) -> bool:
        if number not in self._met:
            if barrier.count != step.need:
                raise _Unclear
            assert step.brings is not None
            phase = barrier.completed
            barrier.overtaken |= who in barrier.arrived
            barrier.pending -= step.brings.amount
            barrier.arrived.add(who)
            join(barrier.told, self._known[who])
            if barrier.pending < 0:
                raise _Unclear
            barrier.settle()
            if step.site.kind is SiteKind.NAMED_ARRIVE:
                return True
            self._met[number] = phase
        if barrier.completed == self._met[number]:
            return False
        join(self._known[who], barrier.history[self._met.pop(number)])
        return True

    # ------------------------------------------------------------------ what is left

    def report(self) -> dict[str, Any] | None:
        """The facts of a hang, as docs/trace.md describes them; None where somebody can still act."""
        stuck = [n for n, course in enumerate(self._courses) if self._at[n] < len(course.steps)]
        open_ = [n for n, course in enumerate(self._courses) if n not in stuck and not course.complete]
        guessed = any(not self._courses[n].steps[self._at[n]].sure for n in stuck)
        # who goes round a loop that often, maybe, is held up for sure only by those who do so as well
        if not stuck or open_ or (guessed and len(stuck) < len(self._courses)):
            return None
        waiters = [self._waiter(number) for number in stuck]
        left = [each.agent.name for n, each in enumerate(self._courses) if n not in stuck]
        return {
            "cta": 0,
            "cluster": [],
            "queued": 0,
            "waiters": waiters,
            "left": [{"agent": name, "cta": 0} for name in left],
        }

    def _waiter(self, number: int) -> dict[str, Any]:
        step, program = self._courses[number].steps[self._at[number]], self._kernel.program
        barrier = self._barriers[step.array, step.slot]
        named = step.array < 0
        return {
            "agent": self._courses[number].agent.name,
            "cta": 0,
            "site": step.site.index,
            "operation": "named_wait" if named else "wait",
            "variable": "" if named else program.barriers[step.array].name,
            "slot": step.slot,
            "completed_phases": barrier.completed,
            "count": barrier.count,
            "pending": barrier.pending,
            "missing_bytes": barrier.bytes,
            "file": step.site.location.file,
            "line": step.site.location.line,
            "outer": step.outer,
            "inner": step.inner,
        }

    # ------------------------------------------------------------------ the past, as `standstill.History` has it

    def known(self, who: Who, array: int, slot: int) -> int | None:
        return self._known[who].get((array, slot), 0)

    def waits_again(self, who: Who, array: int, slot: int) -> bool:
        role, _ = who
        for number, course in enumerate(self._courses):
            if course.agent.name == role:
                waits = [step.parity for step in course.steps[: self._at[number] + 1] if _is_at(step, array, slot)]
                return any(a == b for a, b in pairwise(waits))
        return False

    def arrived(self, array: int, slot: int, cta: int, phase: int) -> frozenset[Who]:
        found = self._barriers.get((array, slot))
        return frozenset(found.arrived) if found is not None else frozenset()

    def overtaken(self, number: int) -> bool:
        found = self._barriers.get((-1, number))
        return found is not None and found.overtaken

    def renewed(self, array: int) -> bool:
        return False


def _is_at(step: Step, array: int, slot: int) -> bool:
    return step.parity >= 0 and (step.array, step.slot) == (array, slot)
