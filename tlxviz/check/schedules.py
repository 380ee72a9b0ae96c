"""Schedules: orders in which a kernel's warp groups and engines come to act, made by holding some of them up.

A schedule is a text that says it all, so that whoever reads it in a report can run it again:

    usual                nobody is held up
    w2=2000              warp group 2 is held up 2,000 cycles before each operation that others can see
    w2@12+40000          warp group 2 is held up once, for 40,000 cycles before its operation number 12
    loads=5000           ... and engines likewise, with each work that they are handed
    w~300.loads~4000.s7  all warp groups and the TMA engine, each time by a random number of cycles up to that; seed 7
    r1@0+9000            warp groups of the CTAs of rank 1 in their cluster
    c0.c3.w1=2000        only clusters 0 and 3 of the grid run
    n2.w1=2000           the GPU has 2 SMs, as far as the script can tell
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from random import Random

from tlxviz._errors import UsageError
from tlxviz.ir.program import Program
from tlxviz.sim.engine import AgentRun
from tlxviz.sim.observer import ENGINES

USUAL = "usual"
_DELAY = re.compile(rf"(w\d*|r\d+|{'|'.join(ENGINES)})(?:@(\d+))?([+=~])(\d+)")
_ENGINE_WORDS = {
    "loads": "TMA loads",
    "stores": "TMA stores",
    "copies": "asynchronous copies",
    "wgmma": "wgmma",
    "tcgen05": "the tensor cores",
    "remote": "what goes to other CTAs",
    "answers": "answers of the block scheduler",
}


@dataclass(frozen=True, slots=True)
class Delay:
    """Somebody who is held up."""

    who: str
    """`w2`: warp group 2, by its position in `program.agents`; `w`: all; `r1`: those of CTAs of rank 1; or an engine
    (one of `sim.observer.ENGINES`)."""
    cycles: int
    """How long; at most, where it is random."""
    at: int = -1
    """Number of the operation before which it is held up, or of the work that an engine is handed; -1 for each."""
    random: bool = False
    """Whether it is another time each time."""

    def __str__(self) -> str:
        if self.at >= 0:
            return f"{self.who}@{self.at}+{self.cycles}"
        return f"{self.who}{'~' if self.random else '='}{self.cycles}"


@dataclass(frozen=True, slots=True)
class Schedule:
    """Who is held up in a run, and which clusters of the grid take part."""

    delays: tuple[Delay, ...] = ()
    seed: int = 0
    """Of what is random."""
    clusters: tuple[int, ...] = ()
    """Numbers of the clusters that run, where CTAs do not depend on each other; none for the usual choice."""
    sms: int = 0
    """SMs that the script's GPU has; 0 for all. The launches of a script depend on it, and not on the rest."""

    def __str__(self) -> str:
        parts = [f"n{self.sms}"] if self.sms else []
        parts += [f"c{number}" for number in self.clusters] + [str(delay) for delay in self.delays]
        if any(delay.random for delay in self.delays):
            parts.append(f"s{self.seed}")
        return ".".join(parts) or USUAL

    @classmethod
    def parse(cls, text: str) -> Schedule:
        """The schedule that a report names.

        Raises:
            UsageError: the text is none.
        """
        delays: list[Delay] = []
        clusters: list[int] = []
        numbers = {"s": 0, "n": 0}
        for part in text.split(".") if text != USUAL else ():
            found = _DELAY.fullmatch(part)
            if found is not None:
                who, at, kind, cycles = found.groups()
                if at is not None and kind != "+":
                    raise _unreadable(text, part)
                delays.append(Delay(who, int(cycles), -1 if at is None else int(at), kind == "~"))
            elif re.fullmatch(r"c\d+", part):
                clusters.append(int(part[1:]))
            elif re.fullmatch(r"[sn]\d+", part):
                numbers[part[0]] = int(part[1:])
            else:
                raise _unreadable(text, part)
        return cls(tuple(delays), numbers["s"], tuple(clusters), numbers["n"])

    def said(self, program: Program) -> str:
        """The schedule in words, with the names of the kernel's warp groups."""
        return "; ".join(_said(delay, program) for delay in self.delays) or "nobody is held up"


def _unreadable(text: str, part: str) -> UsageError:
    return UsageError(
        f"{text!r} is no schedule, because of {part!r}: copy the one that a finding names, such as w1=2000"
    )


def _said(delay: Delay, program: Program) -> str:
    if delay.who in _ENGINE_WORDS:
        who, verb = _ENGINE_WORDS[delay.who], "late"
    else:
        number = delay.who[1:]
        verb = "held up"
        if delay.who[0] == "r":
            who = f"CTAs of rank {number}"
        elif number and int(number) < len(program.agents):
            who = program.agents[int(number)].name
        else:
            who = "each warp group"
    time = f"{'up to ' if delay.random else ''}{delay.cycles:,} cycles"
    if delay.at < 0:
        return f"{who}: {verb} {time} each time"
    return f"{who}: {verb} {time} at operation {delay.at}"


class Pace:
    """Holds up whom a schedule names, while a run goes on."""

    def __init__(self, schedule: Schedule) -> None:
        self._delays = schedule.delays
        self._seed = schedule.seed
        self._turns: dict[tuple[AgentRun, str], _Turns] = {}

    def hold(self, me: AgentRun) -> int:
        """See `sim.observer.Observer`."""
        turns = self._turns.get((me, ""))
        if turns is None:
            turns = self._begin(me, "", ("w", f"w{me.index}", f"r{me.cta.rank}"))
        return turns.next() if turns.delays else 0

    def lag(self, me: AgentRun, engine: str) -> int:
        """See `sim.observer.Observer`."""
        turns = self._turns.get((me, engine))
        if turns is None:
            turns = self._begin(me, engine, (engine,))
        return turns.next() if turns.delays else 0

    def _begin(self, me: AgentRun, engine: str, names: Sequence[str]) -> _Turns:
        found = tuple(delay for delay in self._delays if delay.who in names)
        turns = _Turns(found, Random(f"{self._seed} {me.cta.index} {me.number} {engine}"))
        self._turns[me, engine] = turns
        return turns


@dataclass(slots=True)
class _Turns:
    """How often somebody has acted."""

    delays: tuple[Delay, ...]
    random: Random
    count: int = 0

    def next(self) -> int:
        """Cycles before the next time."""
        cycles = 0
        for delay in self.delays:
            if delay.random:
                cycles += self.random.randrange(delay.cycles + 1)
            elif delay.at < 0 or delay.at == self.count:
                cycles += delay.cycles
        self.count += 1
        return cycles


# ---------------------------------------------------------------------- which ones to try

_EACH = 2_000
"""Cycles before each operation: others go through several iterations meanwhile, until they have to wait."""
_ONCE = 40_000
"""Cycles of one pause: all others have come to wait for whom it is, or have ended."""
_LATE = 6_000
"""Cycles by which an engine is late."""
_JITTER = 1_500
_FIRST_OPERATIONS = 48
"""Among which pauses are placed: rings are small, and what goes wrong does within a few rounds."""

_HANDED: dict[str, frozenset[str]] = {
    "loads": frozenset({"ttng.async_tma_copy_global_to_local", "ttng.async_tma_gather"}),
    "stores": frozenset(
        {"ttng.async_tma_copy_local_to_global", "ttng.async_tma_reduce", "ttng.async_tma_scatter", "ttng.async_store"}
    ),
    "copies": frozenset({"ttg.async_copy_global_to_local"}),
    "wgmma": frozenset({"ttng.warp_group_dot"}),
    "tcgen05": frozenset({"ttng.tc_gen5_mma", "ttng.tc_gen5_mma_scaled", "ttng.tmem_copy"}),
    "remote": frozenset({"ttng.map_to_remote_buffer", "ttg.remote_shmem_store", "ttg.async_remote_shmem_store"}),
    "answers": frozenset({"ttng.async_clc_try_cancel"}),
}


def engines_of(program: Program) -> list[str]:
    """The engines that a kernel hands work to."""
    names = {op.name for op in program.module.walk()}
    return [engine for engine, operations in _HANDED.items() if names & operations]


def adversarial(program: Program, seed: int = 0) -> Iterator[Schedule]:
    """Schedules for a kernel, the usual one first, without end; the same for the same kernel and seed.

    In some of them one warp group, engine or CTA of a cluster is much slower than all others; in others some pause at
    random places, while engines are late at random. One of these follows two of those, until only they are left.
    """
    yield Schedule()
    random = Random(seed)
    slow = iter([Schedule(delays) for delays in _slow(program)])
    while True:
        yield from islice(slow, 2)
        yield _random(program, random.randrange(1_000_000))


def _slow(program: Program) -> Iterable[tuple[Delay, ...]]:
    alone = len(program.agents) == 1
    if not alone:
        for agent in program.agents:
            yield (Delay(f"w{agent.index}", _EACH),)
    for engine in engines_of(program):
        yield (Delay(engine, _LATE),)
    size = program.cluster[0] * program.cluster[1] * program.cluster[2]
    if size > 1:
        for rank in range(size):
            yield (Delay(f"r{rank}", _EACH),)
    if not alone:
        for agent in program.agents:
            yield (Delay(f"w{agent.index}", _ONCE, at=0),)


def _random(program: Program, seed: int) -> Schedule:
    random = Random(seed)
    delays = [Delay("w", _JITTER, random=True)] if random.random() < 0.5 else []
    for _ in range(random.randint(1, 3)):
        agent = random.choice(program.agents)
        delays.append(Delay(f"w{agent.index}", _ONCE, at=random.randrange(_FIRST_OPERATIONS)))
    late = [engine for engine in engines_of(program) if random.random() < 0.6]
    delays += [Delay(engine, random.choice((_LATE // 4, _LATE)), random=True) for engine in late]
    return Schedule(tuple(delays), seed)
