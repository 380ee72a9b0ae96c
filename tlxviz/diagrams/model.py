"""What a diagram holds: clusters of places in the source, memory between them, and edges; or the rows of a table."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class NodeKind(StrEnum):
    """What stands for what in a picture."""

    SITE = "site"
    BARRIER = "barrier"
    NAMED_BARRIER = "named barrier"
    BUFFER = "buffer"
    CLUSTER_BARRIER = "cluster barrier"


class EdgeKind(StrEnum):
    ARRIVE = "arrive"
    COMPLETE = "complete"
    """The bytes of a copy that a barrier counts off."""
    WAIT = "wait"
    FILL = "fill"
    READ = "read"


@dataclass(frozen=True, slots=True)
class Weight:
    """How much of a warp group's time goes by somewhere."""

    share: float
    """Of the warp group's time."""
    lost: bool
    """Whether it could be used otherwise: nothing that holds the kernel goes on meanwhile."""
    text: str = ""
    """What it goes to."""


@dataclass(frozen=True, slots=True)
class Node:
    """A line of the source in a warp group, a barrier or a buffer."""

    key: str
    """Unique in the diagram."""
    kind: NodeKind
    lines: tuple[str, ...]
    """What is written in it, from top to bottom. Of a site: what it does, in the order of the TTGIR."""
    line: int = 0
    """In the kernel's own source; 0 where none is known."""
    conditional: bool = False
    """Whether it is under a condition of the innermost loop, or of the warp group where no loop is around it."""
    slot_bytes: int = 0
    """Of a buffer: the size of one slot."""
    weight: Weight | None = None


@dataclass(frozen=True, slots=True)
class Cluster:
    """A warp group, or a loop in one: what it holds, in the order of the source."""

    key: str
    title: str
    detail: str
    """Warps and registers of a warp group; empty for a loop."""
    members: tuple[Node | Cluster, ...]
    shares: tuple[float, float, float] | None = None
    """Of a warp group's time: what it works, issues and waits; None where none is known."""


@dataclass(frozen=True, slots=True)
class Edge:
    """What one place of the source does to a barrier or buffer: from the one that gives to the one that takes."""

    source: str
    """Key of a node."""
    target: str
    kind: EdgeKind
    operations: int
    """Operations of the TTGIR that the edge stands for: more than one where a line is unrolled, or calls a function."""
    count: int = 0
    """Arrivals of one operation; 0 where it does not arrive."""
    bytes: int = 0
    """Bytes that one operation moves or expects; 0 where the IR does not fix it."""
    weight: Weight | None = None


@dataclass(frozen=True, slots=True)
class Diagram:
    title: str
    clusters: tuple[Cluster, ...]
    """Warp groups."""
    memory: tuple[Node, ...]
    """Barriers and buffers, in the order in which the kernel allocates them."""
    edges: tuple[Edge, ...]
    weighed: bool = False
    """Whether weights are what it is about."""
    note: str = ""
    """A second line of the heading."""
    cluster: str = ""
    """CTAs of a cluster along the axes of the grid: `2 x 1 x 1`. Empty without clusters."""
    others: tuple[Node, ...] = ()
    """Barriers and buffers of another CTA of the cluster that this one reaches."""


@dataclass(frozen=True, slots=True)
class Table:
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[tuple[str, ...], ...], ...]
    """Rows of cells; a cell is what is written in it from top to bottom."""


def nodes_of(cluster: Cluster) -> tuple[Node, ...]:
    """All nodes of a cluster, those of its loops among them, in the order of the source."""
    found: list[Node] = []
    for member in cluster.members:
        found += [member] if isinstance(member, Node) else nodes_of(member)
    return tuple(found)
