"""Which CTAs of a grid form a cluster, and the SMs that a cluster runs on."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from tlxviz.devices.model import Device


@dataclass(frozen=True, slots=True)
class Placement:
    """How the CTAs of a launch are grouped and placed. A kernel without clusters has clusters of one CTA."""

    grid: tuple[int, int, int]
    cluster: tuple[int, int, int]
    """CTAs of a cluster along each axis of the grid, which they divide."""
    columns: tuple[tuple[int, ...], ...]
    """Sets of SMs that run one cluster after the other; a CTA of rank r is on the r-th of them."""

    @property
    def size(self) -> int:
        """CTAs of a cluster."""
        return math.prod(self.cluster)

    def cluster_of(self, number: int) -> int:
        """The cluster that the CTA with this number belongs to."""
        if self.cluster == (1, 1, 1):
            return number
        x, y, z = self.pid(number)
        wide, high, _ = (size // part for size, part in zip(self.grid, self.cluster, strict=True))
        return x // self.cluster[0] + wide * (y // self.cluster[1] + high * (z // self.cluster[2]))

    def members(self, cluster: int) -> tuple[int, ...]:
        """Numbers of the CTAs of a cluster, in the order of their ranks."""
        if self.cluster == (1, 1, 1):
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

    def with_mates(self, numbers: Iterable[int]) -> frozenset[int]:
        """These CTAs and all others of their clusters."""
        return frozenset(mate for number in numbers for mate in self.members(self.cluster_of(number)))

    def column(self, number: int) -> int:
        """Position in `columns` where the CTA runs if clusters are given out in turn."""
        return self.cluster_of(number) % len(self.columns)

    def pid(self, number: int) -> tuple[int, int, int]:
        """Place of a CTA in the grid."""
        x, y, _ = self.grid
        return number % x, number // x % y, number // (x * y)


def place(cluster: tuple[int, int, int], grid: tuple[int, int, int], device: Device) -> Placement:
    """The placement of a launch; without columns where the device has no room for one cluster."""
    size = math.prod(cluster)
    if size == 1:
        return Placement(grid, cluster, tuple((sm,) for sm in range(device.limits.sms)))
    columns: list[tuple[int, ...]] = []
    first = 0
    for sms in device.cluster.groups:
        columns += [tuple(range(first + at, first + at + size)) for at in range(0, sms - size + 1, size)]
        first += sms
    return Placement(grid, cluster, tuple(columns))
