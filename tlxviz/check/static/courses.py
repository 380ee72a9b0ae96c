"""What each warp group of the first CTA does at barriers, in order, as far as that is known without a run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tlxviz.check.brings import Bringing, Kind, bringings
from tlxviz.check.static.facts import LaunchFacts
from tlxviz.check.static.scalars import BarrierSlot, Known, Scalars
from tlxviz.ir.operation import Block, Operation, Value
from tlxviz.ir.program import Agent, Program, Site, SiteKind

_ROUNDS = 12
"""Of a loop whose number of rounds nobody knows."""
_MOST = 1500
"""Steps of a warp group: after so many laps a ring shows nothing new."""
_UNKNOWN_END = frozenset({SiteKind.CLC})
_TILES = frozenset({SiteKind.TMA_LOAD, SiteKind.TMA_STORE, SiteKind.TMA_REDUCE})


@dataclass(frozen=True, slots=True)
class Step:
    """An operation at a barrier: a wait, or something that it is brought."""

    site: Site
    array: int
    """Position in `program.barriers`; -1 for a named barrier, and for copies of tiles."""
    slot: int
    """The number of a named barrier."""
    parity: int = -1
    """That a wait asks for."""
    brings: Bringing | None = None
    """None for a wait for an mbarrier."""
    need: int = 0
    """Threads that a named barrier takes."""
    corner: tuple[int, ...] = ()
    """Of the tile that TMA copies."""
    outer: int = -1
    inner: int = -1
    sure: bool = True
    """Whether it is reached at all: not in a loop whose number of rounds nobody knows."""


@dataclass(slots=True)
class Course:
    """A warp group's way."""

    agent: Agent
    steps: list[Step] = field(default_factory=list[Step])
    complete: bool = True
    """Whether these are all; otherwise nobody knows what comes then."""
    cut: bool = False
    """Whether it is not complete since a loop has been gone round often enough, and for no other reason."""


class _Stop(Exception):
    """Nobody knows what comes next."""


class _Enough(_Stop):
    """A loop has been gone round often enough."""


def courses(program: Program, facts: LaunchFacts) -> tuple[Course, ...]:
    """The way of each warp group, in the program's order."""
    table: dict[Operation, list[Bringing]] = {}
    for each in bringings(program):
        table.setdefault(each.site.operation, []).append(each)
    return tuple(_Walk(program, facts, agent, table).course for agent in program.agents)


class _Walk:
    """Goes the way of one warp group."""

    def __init__(
        self, program: Program, facts: LaunchFacts, agent: Agent, table: dict[Operation, list[Bringing]]
    ) -> None:
        self._program = program
        self._table = table
        self._scalars = Scalars(program, facts)
        self._rounds: list[int] = []
        self._passes = 0
        self._sure = True
        self.course = Course(agent)
        try:
            self._block(agent.region.entry)
            if len(agent.region.blocks) > 1:
                raise _Stop
        except _Stop as reason:
            self.course.complete = False
            self.course.cut = isinstance(reason, _Enough)

    def _block(self, block: Block) -> list[Known]:
        for op in block.body:
            self._operation(op)
        return [self._scalars.of(value) for value in block.yielded]

    def _operation(self, op: Operation) -> None:
        match op.name:
            case "scf.for":
                self._for(op)
            case "scf.while":
                self._while(op)
            case "scf.if":
                self._if(op)
            case "ttg.warp_specialize":
                default = next(region for region in op.regions if region.name == "default")
                self._block(default.entry)
            case "tt.call" if self._matters(op):
                raise _Stop
            case _:
                site = self._program.site_of.get(op)
                if site is not None:
                    self._site(site)

    def _matters(self, op: Operation) -> bool:
        """Whether something inside can be a step; of a call nobody looks."""
        return op.name == "tt.call" or any(each in self._program.site_of for each in op.walk() if each is not op)

    def _set(self, values: Sequence[Value], known: Iterable[Known]) -> None:
        for value, each in zip(values, known, strict=False):
            self._scalars.hold(value, each)
        self._scalars.forget()

    def _for(self, op: Operation) -> None:
        body = op.regions[0].entry
        variable, *carried = body.arguments
        bounds = [self._scalars.number(op.groups[part][0]) for part in ("lower", "upper", "step")]
        values = [self._scalars.of(value) for value in op.groups.get("init", ())]
        lower, upper, step = bounds
        known = lower is not None and upper is not None and step is not None and step > 0
        rounds: Sequence[int | None]
        if known:
            assert lower is not None
            assert upper is not None
            assert step is not None
            rounds = range(lower, upper, step)
        elif lower is not None and step is not None:
            rounds = range(lower, lower + _ROUNDS * step, step)
        else:
            rounds = [None] * _ROUNDS
        if not self._matters(op) and not known:
            self._set(op.results, [None] * len(op.results))
            return
        self._sure &= known
        self._rounds.append(-1)
        for number in rounds:
            self._rounds[-1] += 1
            self._set((variable, *carried), (number, *values))
            values = self._block(body)
            self._spend()
        self._rounds.pop()
        if not known:
            raise _Enough
        self._set(op.results, values)

    def _while(self, op: Operation) -> None:
        before, after = op.regions[0].entry, op.regions[1].entry
        values = [self._scalars.of(value) for value in op.groups.get("init", op.operands)]
        self._rounds.append(-1)
        while True:
            self._rounds[-1] += 1
            self._set(before.arguments, values)
            flag, *passed = self._block(before)
            if not isinstance(flag, int):
                raise _Stop
            if not flag:
                break
            self._set(after.arguments, passed)
            values = self._block(after)
            self._spend()
        self._rounds.pop()
        self._set(op.results, passed)

    def _spend(self) -> None:
        """Keeps loops that nobody waits in from going on for long."""
        self._passes += 1
        if self._passes > 4 * _MOST or len(self.course.steps) > _MOST:
            raise _Enough

    def _if(self, op: Operation) -> None:
        condition = self._scalars.number(op.operands[0])
        if condition is not None:
            regions = [region for region in op.regions if region.blocks]
            chosen = regions[0] if condition else regions[1] if len(regions) > 1 else None
            self._set(op.results, self._block(chosen.entry) if chosen is not None else ())
        elif self._matters(op):
            raise _Stop
        else:
            self._set(op.results, [None] * len(op.results))

    # ------------------------------------------------------------------ steps

    def _site(self, site: Site) -> None:
        op = site.operation
        if site.kind in _UNKNOWN_END:
            raise _Stop
        brings = self._table.get(op, [])
        corner = self._corner(site)
        if not brings and site.kind is not SiteKind.WAIT and not corner:
            return
        predicate = op.operand("pred")
        holds = 1 if predicate is None else self._scalars.number(predicate)
        if holds is None:
            raise _Stop
        if not holds:
            return
        at = (self._rounds[0], self._rounds[-1]) if self._rounds else (-1, -1)
        if site.kind is SiteKind.WAIT:
            place, phase = self._place(op.groups["barrier"][0]), self._scalars.number(op.groups["phase"][0])
            if phase is None:
                raise _Stop
            step = Step(site, place.array, place.slot, phase & 1, outer=at[0], inner=at[1], sure=self._sure)
            self.course.steps.append(step)
        for each in brings:
            self.course.steps.append(self._brought(site, each, corner, at))
        if corner and not brings:
            self.course.steps.append(Step(site, -1, -1, corner=corner, outer=at[0], inner=at[1], sure=self._sure))

    def _brought(self, site: Site, each: Bringing, corner: tuple[int, ...], at: tuple[int, int]) -> Step:
        if each.kind is Kind.THREADS:
            number = self._scalars.number(each.barrier)
            need = self._scalars.number(site.operation.groups["threads"][0])
            if number is None or need is None:
                raise _Stop
            return Step(site, -1, number, brings=each, need=need, outer=at[0], inner=at[1], sure=self._sure)
        place = self._place(each.barrier)
        return Step(
            site, place.array, place.slot, brings=each, corner=corner, outer=at[0], inner=at[1], sure=self._sure
        )

    def _place(self, barrier: Value) -> BarrierSlot:
        found = self._scalars.of(barrier)
        if not isinstance(found, BarrierSlot):
            raise _Stop
        return found

    def _corner(self, site: Site) -> tuple[int, ...]:
        if site.kind not in _TILES:
            return ()
        found = [self._scalars.number(value) for value in site.operation.groups.get("coords", ())]
        return tuple(each for each in found if each is not None) if None not in found else ()
