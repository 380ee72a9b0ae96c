"""Clusters that have not started: the block scheduler starts them, or CTAs that run take them over."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

from tlxviz.sim.placement import Placement


class Unstarted:
    """The clusters of a launch that are to be started, in that order.

    Args:
        clusters: Their numbers.
        placement: Of the launch.
        taken: Told of the CTAs of each cluster that is taken over, and so never starts: the number of each, and that
            of the CTA which does its work.
    """

    def __init__(self, clusters: Iterable[int], placement: Placement, taken: Callable[[dict[int, int]], None]) -> None:
        self._clusters = deque(clusters)
        self._placement = placement
        self._taken = taken

    @property
    def ctas(self) -> int:
        """CTAs that are left."""
        return len(self._clusters) * self._placement.size

    def start(self) -> int | None:
        """The next cluster, for an SM that has room for it; None if none is left."""
        return self._clusters.popleft() if self._clusters else None

    def take_over(self, number: int) -> tuple[int, tuple[int, int, int]] | None:
        """The first CTA of the next cluster, which will not start, and its place in the grid; None if none is left.

        Args:
            number: The CTA that asks.
        """
        cluster = self.start()
        if cluster is None:
            return None
        members = self._placement.members(cluster)
        self._taken(dict(zip(members, self._placement.members(self._placement.cluster_of(number)), strict=True)))
        return members[0], self._placement.pid(members[0])
