"""How nodes and edges are drawn: always by a shape or a stroke as well as by a colour, so that greys tell them apart.

Colours are those of the timeline on a light ground.
"""

from __future__ import annotations

from dataclasses import dataclass

from tlxviz.diagrams.model import EdgeKind, NodeKind


@dataclass(frozen=True, slots=True)
class EdgeLook:
    color: str
    style: str
    head: str
    """Graphviz's arrow shape at the end that the edge points to."""
    width: float
    """In points."""
    legend: str


EDGES: dict[EdgeKind, EdgeLook] = {
    EdgeKind.FILL: EdgeLook("#1f62b8", "solid", "normal", 2.0, "fill: thick, full arrow"),
    EdgeKind.READ: EdgeLook("#7544b5", "solid", "vee", 1.2, "read: thin, open arrow"),
    EdgeKind.ARRIVE: EdgeLook("#9a6b00", "dashed", "onormal", 1.2, "arrive: dashed, hollow arrow"),
    EdgeKind.COMPLETE: EdgeLook("#9a6b00", "dashed", "dot", 1.2, "bytes of a copy: dashed, dot"),
    EdgeKind.WAIT: EdgeLook("#c0322b", "dotted", "odiamond", 1.6, "wait: dotted, diamond"),
}
"""In the order of the legend."""


@dataclass(frozen=True, slots=True)
class NodeLook:
    shape: str
    fill: str


NODES: dict[NodeKind, NodeLook] = {
    NodeKind.BARRIER: NodeLook("octagon", "#f7e6c4"),
    NodeKind.NAMED_BARRIER: NodeLook("doubleoctagon", "#f7e6c4"),
    NodeKind.BUFFER: NodeLook("box3d", "#dbe8f8"),
    NodeKind.CLUSTER_BARRIER: NodeLook("doubleoctagon", "#e6dcf5"),
}
HEADING = "#e5e7eb"
LINES = "#6b7280"
FONT = "Helvetica"
