"""What an observer of a run has seen that should not be, before anybody says what it means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tlxviz.check.memory import Access
from tlxviz.check.order import Acquire, Meeting, Release, Standing
from tlxviz.ir.operation import Operation
from tlxviz.sim.observer import At


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two accesses that something should order, and what was known of the first one at the second."""

    kind: str
    """`race`; for what is ordered but for the proxies `unfenced`, or `covered` if only the later one's side fences."""
    before: Access
    after: Access
    acquires: Mapping[int, Acquire]
    """The last wait at each barrier of the warp group of the second one, by the barrier's component."""
    known: int
    """Events of the warp group of the first one that the other one knows of."""
    told: Meeting | None
    """The mbarrier that is told when the first one is over, if it is a copy that tells one."""

    @property
    def release(self) -> Release | None:
        """The first arrival by which others can know that the first one is over; None if there is none."""
        return next((each for each in self.before.who.releases if self._tells(each)), None)

    @property
    def earlier(self) -> Release | None:
        """The arrival, just before the first one, for which the second one did wait."""
        if self.before.queue:
            return None
        index = min(self.known, self.before.index - 1)
        return next((each for each in reversed(self.before.who.releases) if each.epoch <= index), None)

    @property
    def released_early(self) -> bool:
        """Whether that is why the second one did not wait."""
        earlier = self.earlier
        acquire = None if earlier is None else self.acquires.get(earlier.barrier.component)
        return earlier is not None and acquire is not None and acquire.completed > earlier.phase

    def _tells(self, release: Release) -> bool:
        if self.before.queue:
            return release.completes.get(self.before.component, 0) >= self.before.index
        return release.epoch >= self.before.index


@dataclass(frozen=True, slots=True)
class Early:
    """An arrival that may count for the phase before the one it is meant for."""

    who: Standing
    op: Operation
    at: At
    meeting: Meeting
    phase: int
    known: int
    """Phases that the warp group knows to be complete."""


@dataclass(frozen=True, slots=True)
class Leaving:
    """A CTA that may have ended when another one still reaches it."""

    who: Standing
    op: Operation
    at: At
    target: int
    """Number of the CTA."""


@dataclass(frozen=True, slots=True)
class Outside:
    """A copy of a tile that lies outside of its tensor altogether."""

    who: Standing
    op: Operation
    at: At
    corner: tuple[int, ...]
    shape: tuple[int, ...]
    """Of the tensor."""


@dataclass(frozen=True, slots=True)
class Life:
    """An mbarrier that is initialised once more without an end of its life before."""

    who: Standing
    op: Operation
    at: At
    array: int
    slot: int
    bytes: int
    """That its phase waits for."""
    arrivals: int
    """That its phase has had."""


@dataclass(frozen=True, slots=True)
class Lost:
    """What is read where something was written before, of which later writes have left nothing, or not all."""

    written: Access
    over: Access
    read: Access


@dataclass(frozen=True, slots=True)
class Unmade:
    """A use of an mbarrier that may come before it is initialised."""

    who: Standing
    op: Operation
    at: At
    meeting: Meeting
