"""The class of fault by which two accesses meet."""

from __future__ import annotations

from tlxviz.check.evidence import Conflict, Lost
from tlxviz.check.order import Acquire, Meeting
from tlxviz.check.races import Races
from tlxviz.check.subjects import Subjects


def ordering(conflict: Conflict) -> tuple[Meeting | None, int, Acquire | None]:
    """The barrier that would order two accesses, its phase that does, and the last wait there of the second's role."""
    meeting, release, phase = conflict.told, conflict.release, conflict.before.index - 1
    if meeting is None and release is not None:
        meeting, phase = release.barrier, release.phase
    return meeting, phase, None if meeting is None else conflict.acquires.get(meeting.component)


def named_barriers(conflict: Conflict) -> tuple[int, ...]:
    """Numbers of the named barriers at which both warp groups meet others."""
    shared = conflict.before.who.meets.keys() & conflict.after.who.meets.keys()
    found = [each.barrier for each in conflict.before.who.releases if each.barrier.component in shared]
    return tuple(dict.fromkeys(each.slot for each in found if each.array < 0 <= each.slot))


class Classes:
    """Tells the classes of what a run shows.

    Args:
        races: What was seen.
        subjects: The kernel's names.
    """

    def __init__(self, races: Races, subjects: Subjects) -> None:
        self._subjects = subjects
        early = [first.meeting for first, _ in races.too_early()]
        self._miscounted = {meeting.array for meeting in early if meeting.array >= 0}
        self._overtaken = {meeting.slot for meeting in early if meeting.array < 0}

    def of(self, conflict: Conflict) -> str:
        """The id of the rule that two accesses break which nothing orders."""
        before, after = conflict.before, conflict.after
        if after.view is None:
            return "descriptor"
        own = before.who is after.who
        if own and before.queue and before.home == after.home == after.who.cta:
            return "async-not-waited"
        if before.who.cta != after.who.cta or before.home != before.who.cta:
            return "cluster"
        return self._in_a_cta(conflict)

    def _in_a_cta(self, conflict: Conflict) -> str:
        before, after, release = conflict.before, conflict.after, conflict.release
        meeting, phase, acquire = ordering(conflict)
        if conflict.released_early:
            return "slot-reuse"
        if before.queue == "TMA stores" and self._subjects.waits_in_vain(after.who):
            return "lane"
        if any(number in self._overtaken for number in named_barriers(conflict)):
            return "named-barrier"
        if self._subjects.through(before) != self._subjects.through(after):
            return "tmem-alias"
        if before.blank and after.queue:
            return "async-not-waited"
        if meeting is not None and meeting.array in self._miscounted:
            return "arrive-count"
        if meeting is not None and meeting.component in before.who.vain:
            return "parity"
        if acquire is not None and acquire.completed <= phase:
            return "parity"
        if before.queue and before.writes and not after.writes and acquire is None:
            return "async-not-waited"
        return "named-barrier" if release is not None and release.barrier.array < 0 else "slot-reuse"

    def is_alias(self, lost: Lost) -> bool:
        """Whether what was written over was written through another variable, and what is read through the same."""
        through = self._subjects.through
        return through(lost.written) == through(lost.read) != through(lost.over)
