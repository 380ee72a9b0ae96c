"""What a wait-for graph holds, and why whoever is in it can never go on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from tlxviz.analysis.ways import shortest_way


class WaitNodeKind(StrEnum):
    WAITER = "waiter"
    BARRIER = "barrier"
    ENDED = "ended"
    """A warp group that will never arrive."""
    NOBODY = "nobody"
    """What no place of the kernel brings."""


class WaitEdgeKind(StrEnum):
    WAITS = "waits"
    MISSING = "missing"
    """From a barrier to whoever would arrive there, and has not."""
    ARRIVED = "arrived"
    """To one that has, in the phase that does not complete."""


@dataclass(frozen=True, slots=True)
class WaitNode:
    key: str
    kind: WaitNodeKind
    lines: tuple[str, ...]
    """What is written in it, the name first."""
    cause: bool = False
    """Whether it is part of the circle, or the row, that makes the launch hang."""


@dataclass(frozen=True, slots=True)
class WaitEdge:
    source: str
    target: str
    kind: WaitEdgeKind
    lines: tuple[str, ...] = ()
    """Its label: the places that would arrive."""
    cause: bool = False


@dataclass(frozen=True, slots=True)
class WaitGraph:
    title: str
    sentence: str
    """Why it hangs."""
    nodes: tuple[WaitNode, ...]
    edges: tuple[WaitEdge, ...]


@dataclass(frozen=True, slots=True)
class Cause:
    """A way through the graph along waits and missing arrivals."""

    keys: tuple[str, ...] = ()
    """Of its nodes; none where no way explains anything."""
    circle: bool = False
    """Whether the last leads back to the first: then none of them can go on."""

    @property
    def pairs(self) -> set[tuple[str, str]]:
        """Its edges."""
        back = {(self.keys[-1], self.keys[0])} if self.circle else set[tuple[str, str]]()
        return {*pairwise(self.keys), *back}


def cause(nodes: Sequence[WaitNode], edges: Sequence[WaitEdge]) -> Cause:
    """The shortest way from a warp group to what nobody brings; else the shortest circle; else the shortest way to
    somebody who has ended. Of equals, that of the first warp group.
    """
    following: dict[str, list[str]] = {}
    for edge in edges:
        if edge.kind is not WaitEdgeKind.ARRIVED:
            following.setdefault(edge.source, []).append(edge.target)
    waiters = [node.key for node in nodes if node.kind is WaitNodeKind.WAITER]
    ends = [{node.key for node in nodes if node.kind is kind} for kind in (WaitNodeKind.NOBODY, WaitNodeKind.ENDED)]
    for goals, circle in ((ends[0], False), (None, True), (ends[1], False)):
        ways = [way for key in waiters if (way := shortest_way(key, {key} if goals is None else goals, following))]
        if ways:
            best = min(ways, key=len)
            return Cause(tuple(best[:-1] if circle else best), circle)
    return Cause()
