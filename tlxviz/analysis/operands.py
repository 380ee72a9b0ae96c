"""What the operation behind an event worked on: names, places, types and slots."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tlxviz.analysis.slots import UNKNOWN, Slots
from tlxviz.ir.accesses import accesses, agent_of
from tlxviz.ir.operands import operands
from tlxviz.ir.program import Program
from tlxviz.ir.sites import kernel_line
from tlxviz.trace.model import LaunchTrace, TrackKind


@dataclass(frozen=True, slots=True)
class OperandFact:
    """One operand of an event's operation."""

    part: str
    """What it is to the operation: `A`, `barrier`, `descriptor`, `destination`, ..."""
    name: str
    """The variable in the kernel's source; empty where it has none."""
    file: str
    line: int
    """Where its memory was allocated, or its value computed; 0 where that is not known."""
    type: str
    """Such as `64x256 f16 in shared memory`."""
    slot: int
    """-1 where it has none, or where nothing tells."""
    slots: int
    """Slots of its memory; 0 for descriptors and values in registers."""


@dataclass(frozen=True, slots=True)
class Writer:
    """A place of the program that writes a buffer."""

    agent: str
    """The warp group that does; empty in a function that several call."""
    file: str
    line: int
    text: str
    """The operation's name."""


class Operands:
    """Answers for one launch."""

    def __init__(self, launch: LaunchTrace, program: Program) -> None:
        self._launch = launch
        self._program = program
        self._slots = Slots(launch, program)
        self._accesses = accesses(program)

    def of(self, event: int) -> tuple[OperandFact, ...]:
        """The operands of an event's operation; of what an engine did, those of the operation that issued it."""
        number = int(self._launch.events["site"][event])
        if not 0 <= number < len(self._program.sites):
            return ()
        site, issue = self._program.sites[number], self._issue(event)
        found: list[OperandFact] = []
        for each in operands(self._program, site):
            slot = UNKNOWN
            if issue >= 0 and each.slots:
                slot = int(self._slots.of(site, each.index, each.slots, np.array([issue], np.int64))[0])
            elif each.slots and each.index is not None and each.index.base is None:
                slot = each.index.offset
            place = each.made
            found.append(OperandFact(each.part, each.name, place.file, place.line, each.type, slot, each.slots))
        return tuple(found)

    def _issue(self, event: int) -> int:
        """The event on a warp group's track; -1 if there is none."""
        events, tracks = self._launch.events, self._launch.tracks
        if tracks[int(events["track"][event])].kind is TrackKind.WARP_GROUP:
            return event
        by = int(events["released_by"][event])
        return by if by >= 0 and events["site"][by] == events["site"][event] else -1

    def writers(self, name: str, slot: int = UNKNOWN) -> tuple[Writer, ...]:
        """The places that write a buffer and that are no events of a trace: stores of warp groups.

        Args:
            slot: Those that always write another one are left out; -1 for none of them.
        """
        found: dict[Writer, None] = {}
        for each in self._accesses:
            other = slot >= 0 and each.index is not None and each.index.base is None and each.index.offset != slot
            if each.writes and each.buffer.name == name and not other and each.operation not in self._program.site_of:
                place = kernel_line(each.operation.location, self._program.kernel.location)
                agent = agent_of(self._program, each.operation)
                found.setdefault(
                    Writer(agent.name if agent is not None else "", place.file, place.line, each.operation.name)
                )
        return tuple(found)
