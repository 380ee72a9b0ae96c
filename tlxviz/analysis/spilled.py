"""Which warp group spills registers, and at which lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tlxviz.analysis.machine_code import Instructions, instructions
from tlxviz.ir.program import Program
from tlxviz.trace.model import LaunchTrace


@dataclass(frozen=True, slots=True)
class LineSpills:
    line: int
    """In the kernel's own source; 0 where the compiler names none."""
    stores: int
    """Bytes a thread, each instruction counted once however often it runs."""
    loads: int
    instructions: int
    in_loops: bool
    """Whether some of it is in a loop."""


@dataclass(frozen=True, slots=True)
class GroupSpills:
    """Of warp groups whose code spills alike. Bytes a thread, each instruction counted once however often it runs."""

    agents: tuple[str, ...]
    """Names; empty: code that several share, or where tasks begin and end."""
    stores: int
    loads: int
    stores_in_loops: int
    loads_in_loops: int
    lines: tuple[LineSpills, ...]
    """Those in loops first, then those with most bytes."""


def spilled(launch: LaunchTrace, program: Program) -> tuple[GroupSpills, ...] | None:
    """What each warp group spills, the one with most first; None where the trace does not have the binary's code."""
    code = instructions(launch.metadata, "sass", program)
    if code is None:
        return None
    by_agent: dict[int | None, list[Instructions]] = {}
    for each in code:
        by_agent.setdefault(each.agent, []).append(each)
    alike: dict[tuple[LineSpills, ...], list[int | None]] = {}
    for agent, mine in by_agent.items():
        alike.setdefault(_by_line(mine), []).append(agent)
    found = [
        _group(tuple(program.agents[agent].name for agent in sorted(_known(agents))), by_agent[agents[0]], lines)
        for lines, agents in alike.items()
    ]
    return tuple(sorted(found, key=lambda each: (not each.agents, -each.stores - each.loads)))


def _known(agents: Sequence[int | None]) -> list[int]:
    return [agent for agent in agents if agent is not None]


def _group(names: tuple[str, ...], mine: Sequence[Instructions], lines: tuple[LineSpills, ...]) -> GroupSpills:
    repeated = [each for each in mine if each.loops]
    return GroupSpills(
        agents=names,
        stores=_bytes(mine, "STL"),
        loads=_bytes(mine, "LDL"),
        stores_in_loops=_bytes(repeated, "STL"),
        loads_in_loops=_bytes(repeated, "LDL"),
        lines=lines,
    )


def _by_line(mine: Sequence[Instructions]) -> tuple[LineSpills, ...]:
    found: list[LineSpills] = []
    for line in {each.line for each in mine}:
        there = [each for each in mine if each.line == line]
        count = sum(each.count for each in there)
        repeated = any(each.loops for each in there)
        found.append(LineSpills(line, _bytes(there, "STL"), _bytes(there, "LDL"), count, repeated))
    return tuple(sorted(found, key=lambda each: (not each.in_loops, -each.stores - each.loads, each.line)))


def _bytes(code: Sequence[Instructions], name: str) -> int:
    return sum(each.bytes for each in code if each.name == name)
