"""Which CTAs of a grid form a cluster."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Clusters:
    """How the CTAs of a launch are grouped. A kernel without clusters has clusters of one CTA."""

    grid: tuple[int, int, int]
    cluster: tuple[int, int, int]
    """CTAs of a cluster along each axis of the grid, which they divide."""

    @property
    def size(self) -> int:
        """CTAs of a cluster."""
        return math.prod(self.cluster)

    def cluster_of(self, number: int) -> int:
        """The cluster that the CTA with this number belongs to."""
        if self.size == 1:
            return number
        x, y, z = self.pid(number)
        wide, high, _ = (size // part for size, part in zip(self.grid, self.cluster, strict=True))
        return x // self.cluster[0] + wide * (y // self.cluster[1] + high * (z // self.cluster[2]))

    def rank_of(self, number: int) -> int:
        """Place of a CTA in its cluster, which counts along x, then y, then z."""
        x, y, z = (at % part for at, part in zip(self.pid(number), self.cluster, strict=True))
        return x + self.cluster[0] * (y + self.cluster[1] * z)

    def members(self, cluster: int) -> tuple[int, ...]:
        """Numbers of the CTAs of a cluster, in the order of their ranks."""
        if self.size == 1:
            return (cluster,)
        wide, high, _ = (size // part for size, part in zip(self.grid, self.cluster, strict=True))
        across, down, deep = self.cluster
        left, top, front = cluster % wide * across, cluster // wide % high * down, cluster // (wide * high) * deep
        return tuple(
            left + x + self.grid[0] * (top + y + self.grid[1] * (front + z))
            for z in range(deep)
            for y in range(down)
            for x in range(across)
        )

    def order(self, number: int) -> tuple[int, int]:
        """By which CTAs of one cluster stand together, in the order of their ranks."""
        return self.cluster_of(number), self.rank_of(number) if self.size > 1 else 0

    def where(self, number: int) -> str:
        """`rank 1 of cluster 0`; empty without clusters."""
        return f"rank {self.rank_of(number)} of cluster {self.cluster_of(number)}" if self.size > 1 else ""

    def pid(self, number: int) -> tuple[int, int, int]:
        """Place of a CTA in the grid."""
        x, y, _ = self.grid
        return number % x, number // x % y, number // (x * y)
