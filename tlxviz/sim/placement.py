"""Which CTAs of a grid form a cluster, and the SMs that a cluster runs on."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from tlxviz.devices.model import Device
from tlxviz.trace.clusters import Clusters


@dataclass(frozen=True, slots=True)
class Placement(Clusters):
    """How the CTAs of a launch are grouped and placed."""

    columns: tuple[tuple[int, ...], ...]
    """Sets of SMs that run one cluster after the other; a CTA of rank r is on the r-th of them."""

    def with_mates(self, numbers: Iterable[int]) -> frozenset[int]:
        """These CTAs and all others of their clusters."""
        return frozenset(mate for number in numbers for mate in self.members(self.cluster_of(number)))

    def column(self, number: int) -> int:
        """Position in `columns` where the CTA runs if clusters are given out in turn."""
        return self.cluster_of(number) % len(self.columns)


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
