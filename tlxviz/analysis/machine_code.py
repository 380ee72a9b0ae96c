"""A kernel's instructions that synchronize or use local memory, by warp group and source line.

All warp groups are one function in PTX and in the binary. A trace has it in pieces, none of which has code of two tasks
(`code` in docs/trace.md). The barrier where the warps of a piece meet by themselves says whose it is: Triton gives the
default task number 0, the others 2, 3, ... in their order. A warp group of one warp has none; then the lines say it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tlxviz.ir.operation import Operation, Region
from tlxviz.ir.program import Agent, Program
from tlxviz.ir.sites import kernel_line

_LOOPS = frozenset({"scf.for", "scf.while"})
_BETWEEN_TASKS = frozenset({"ttg.warp_specialize", "ttg.warp_yield", "ttg.warp_return"})
_FIRST_OF_TASKS = 2
"""Number of the barrier of the first task that is not the default one."""


@dataclass(frozen=True, slots=True)
class Instructions:
    """Equal instructions of one warp group at one line."""

    agent: int | None
    """Index of the warp group; None where it is not known."""
    name: str
    line: int
    """In the kernel's own source; 0 where the compiler names none."""
    count: int
    number: int
    """Of a named barrier; -1 for others, and where the code does not fix it."""
    threads: int
    """That meet there; 0 for all of the CTA."""
    own: bool
    """Whether it is the barrier at which the warp group meets by itself."""
    loops: int
    """Around it."""
    innermost: bool
    """Whether it is in a loop that has no other in it."""
    bytes: int
    """Of local memory that a thread stores or loads."""


class Spot(NamedTuple):
    agent: int
    line: int


@dataclass(slots=True)
class Places:
    """What a program has at each line of each warp group."""

    operations: dict[Spot, set[str]] = field(default_factory=dict[Spot, set[str]])
    loops: dict[Spot, int] = field(default_factory=dict[Spot, int])
    """Lines of the innermost loops around them."""

    def lines(self, agent: int) -> set[int]:
        return {spot.line for spot in self.operations if spot.agent == agent}


def places(program: Program) -> Places:
    found = Places()
    for operation, agent, loop in operations_of(program):
        place = kernel_line(operation.location, program.kernel.location)
        if not place.file or operation.name in _BETWEEN_TASKS or place.line == program.kernel.location.line:
            continue  # constants have the place of the kernel's heading
        spot = Spot(agent.index, place.line)
        found.operations.setdefault(spot, set()).add(operation.name)
        if loop is not None:
            found.loops[spot] = kernel_line(loop.location, program.kernel.location).line
    return found


def operations_of(program: Program) -> Iterator[tuple[Operation, Agent, Operation | None]]:
    """Every operation of the kernel itself with its warp group, and the innermost loop around it in that."""
    agents = {id(agent.region): agent for agent in program.agents}

    def inside(
        region: Region, agent: Agent, loop: Operation | None
    ) -> Iterator[tuple[Operation, Agent, Operation | None]]:
        if id(region) in agents and agents[id(region)] is not agent:
            agent, loop = agents[id(region)], None
        for block in region.blocks:
            for operation in block.operations:
                yield operation, agent, loop
                for inner in operation.regions:
                    yield from inside(inner, agent, operation if operation.name in _LOOPS else loop)

    yield from inside(program.kernel.regions[0], program.agents[0], None)


def instructions(metadata: Mapping[str, Any], stage: str, program: Program) -> list[Instructions] | None:
    """The instructions of a stage, `ptx` or `sass`; None where the trace does not have it.

    Code that may be of several warp groups is of none: that of the tasks' beginnings and ends, above all.
    """
    code: Mapping[str, Any] = metadata.get("code") or {}
    if stage not in code:
        return None
    there = places(program)
    lines = [there.lines(agent.index) for agent in program.agents]
    found: list[Instructions] = []
    for piece in code[stage]:
        owner = _owner(piece, program.agents, lines)
        meeting = _meeting(owner, program.agents)
        for each in piece["operations"]:
            agent = owner
            own = each["number"] == meeting and each["threads"] in (0, _threads(owner, program.agents))
            # The loop in which the others' warps wait for work hangs together with the kernel's beginning.
            if owner == 0 and len(program.agents) > 1 and not own and each["line"] not in lines[0]:
                agent = None
            found.append(
                Instructions(
                    agent=agent,
                    name=each["name"],
                    line=each["line"],
                    count=each["count"],
                    number=each["number"],
                    threads=each["threads"],
                    own=own,
                    loops=each["loops"],
                    innermost=each["innermost"],
                    bytes=each["bytes"],
                )
            )
    return found


def _owner(piece: Mapping[str, Any], agents: Sequence[Agent], lines: Sequence[set[int]]) -> int | None:
    if len(agents) == 1 or piece["entry"]:
        return 0
    known = {(_meeting(agent.index, agents), _threads(agent.index, agents)) for agent in agents}
    meetings = known.intersection((number, threads) for number, threads in piece["meetings"])
    if len(meetings) > 1:
        return None
    candidates = [
        agent.index
        for agent in agents
        if not meetings or (_meeting(agent.index, agents), _threads(agent.index, agents)) in meetings
    ]
    if len(candidates) == 1:
        return candidates[0]
    shared = [len(lines[index].intersection(piece["lines"])) for index in candidates]
    best = max(shared)
    # elsewhere there are single constants of a task, which the compiler has moved
    return candidates[shared.index(best)] if 2 * best > len(piece["lines"]) and shared.count(best) == 1 else None


def _meeting(agent: int | None, agents: Sequence[Agent]) -> int | None:
    if agent is None:
        return None
    return 0 if agent == 0 else _FIRST_OF_TASKS + agents[agent].task - 1


def _threads(agent: int | None, agents: Sequence[Agent]) -> int:
    return 0 if agent is None else 32 * agents[agent].warps
