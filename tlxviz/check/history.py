"""What an observer saw before a hang."""

from __future__ import annotations

from tlxviz.check.order import Meeting, Standing
from tlxviz.check.races import Races
from tlxviz.check.standstill import Who
from tlxviz.ir.program import Program


class Seen:
    """Answers about the past of a run, as `standstill.History` asks for them.

    Args:
        races: Who watched the run.
        program: The kernel.
    """

    def __init__(self, races: Races, program: Program) -> None:
        self._order = races.order
        self._roles = [agent.name for agent in program.agents]
        self._overtaken = {first.meeting.slot for first, _ in races.too_early() if first.meeting.array < 0}
        self._renewed = {life.array for life, _ in races.lives() if life.bytes or life.arrivals}

    def known(self, who: Who, array: int, slot: int) -> int | None:
        found = self._both(who, array, slot)
        return None if found is None else found[0].knowledge.clock.get(found[1].component, 0)

    def waits_again(self, who: Who, array: int, slot: int) -> bool:
        found = self._both(who, array, slot)
        return found is not None and found[1].component in found[0].vain

    def arrived(self, array: int, slot: int, cta: int, phase: int) -> frozenset[Who]:
        meeting = self._order.find(array, slot, cta)
        if meeting is None or phase >= len(meeting.senders):
            return frozenset()
        standings = map(self._order.standing_with, meeting.senders[phase])
        return frozenset((self._roles[each.agent], each.cta) for each in standings if each is not None)

    def overtaken(self, number: int) -> bool:
        return number in self._overtaken

    def renewed(self, array: int) -> bool:
        return array in self._renewed

    def _both(self, who: Who, array: int, slot: int) -> tuple[Standing, Meeting] | None:
        role, cta = who
        standing = self._order.standing_of(self._roles.index(role), cta)
        meeting = self._order.find(array, slot, cta)
        return None if standing is None or meeting is None else (standing, meeting)
