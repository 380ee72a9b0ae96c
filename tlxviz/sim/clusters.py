"""Clusters of CTAs: who belongs together, and the barrier that they share."""

from __future__ import annotations

from dataclasses import dataclass, field
from heapq import heappush

from tlxviz.sim.engine import AgentRun, Cta, EventLoop, Send
from tlxviz.sim.errors import BarrierError, Cause, ClusterError, Refused

ORIGIN = 40
"""Bits of a row number in a cause. Above them stands the rank of the row's CTA plus one, or 0 for the CTA itself."""


class ClusterBarrier:
    """`barrier.cluster`: a phase is complete when all warps of all CTAs that have not ended have arrived.

    That is what the hardware counts: warps that no warp group uses, and warp groups that wait for the default task,
    arrive only if somebody makes them.
    """

    __slots__ = ("arrived", "cause", "completed", "last_cta", "last_site", "last_time", "loop", "needed", "waiters")

    def __init__(self, loop: EventLoop, ctas: int, warps: int) -> None:
        self.loop = loop
        self.needed = [warps] * ctas
        """Warps by rank of the CTA; 0 for one that has ended."""
        self.arrived = [0] * ctas
        self.completed = 0
        self.cause = self.last_site = self.last_time = self.last_cta = -1
        self.waiters: list[Send] = []

    def arrive(self, agent: AgentRun, cycle: int, warps: int, site: int, cause: int) -> None:
        """`warps` warps of the agent's CTA arrive; `cause` is the row of the arrival."""
        cta = agent.cta
        if agent.meeting == self.completed:
            raise BarrierError(
                "arrives at the cluster's barrier for a second time without a wait between", Refused(Cause.MEETING)
            )
        agent.meeting = self.completed
        self.last_site, self.last_time, self.last_cta = site, cycle, cta.index
        self.arrived[cta.rank] += warps
        self.cause = cause
        self._complete(cycle)

    def leave(self, cycle: int, rank: int) -> None:
        """A CTA has ended: nobody waits for its warps."""
        self.needed[rank] = self.arrived[rank] = 0
        self._complete(cycle)

    def holds(self, agent: AgentRun) -> bool:
        """Whether the phase that the agent arrived for is not complete."""
        if agent.meeting < 0:
            raise BarrierError("waits at the cluster's barrier without having arrived", Refused(Cause.MEETING))
        held = agent.meeting == self.completed
        agent.meeting = -1
        return held

    def _complete(self, cycle: int) -> None:
        if self.arrived != self.needed or not any(self.needed):
            return
        self.arrived = [0] * len(self.needed)
        self.completed += 1
        self.loop.version += 1
        for send in self.waiters:
            heappush(self.loop.heap, (cycle, next(self.loop.sequence), send, None))
        self.waiters = []


@dataclass(eq=False, slots=True)
class Cluster:
    """CTAs that run together and reach each other's shared memory."""

    barrier: ClusterBarrier
    ctas: list[Cta] = field(default_factory=list[Cta])
    """In the order of their ranks."""

    def add(self, cta: Cta) -> None:
        """Takes in the CTA of the next rank."""
        cta.cluster = self
        cta.rank = len(self.ctas)
        cta.origin = (cta.rank + 1) << ORIGIN
        self.ctas.append(cta)

    def peer(self, rank: int) -> Cta:
        """The CTA of that rank.

        Raises:
            ClusterError: there is none.
        """
        if not 0 <= rank < len(self.ctas):
            raise ClusterError(f"there is no CTA of rank {rank} in a cluster of {len(self.ctas)}", Refused(Cause.RANK))
        return self.ctas[rank]

    @property
    def ended(self) -> bool:
        """Whether all CTAs have ended."""
        return not any(cta.running for cta in self.ctas)

    def dissolve(self) -> None:
        """Parts with its CTAs, so that none is kept by another."""
        for cta in self.ctas:
            cta.cluster = None
            cta.arrays.clear()
            cta.buffers.clear()
        self.ctas = []
