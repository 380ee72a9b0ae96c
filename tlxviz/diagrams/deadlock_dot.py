"""Wait-for graphs as DOT text."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from tlxviz.diagrams.canvas import Graph, graph
from tlxviz.diagrams.wait_for import WaitEdge, WaitEdgeKind, WaitGraph, WaitNode, WaitNodeKind

_CAUSE = "#c0322b"


@dataclass(frozen=True, slots=True)
class _NodeLook:
    shape: str
    style: str
    fill: str


_NODES: dict[WaitNodeKind, _NodeLook] = {
    WaitNodeKind.WAITER: _NodeLook("box", "filled", "#ffffff"),
    WaitNodeKind.BARRIER: _NodeLook("octagon", "filled", "#f7e6c4"),
    WaitNodeKind.ENDED: _NodeLook("box", "filled,rounded,dashed", "#e5e7eb"),
    WaitNodeKind.NOBODY: _NodeLook("note", "filled", "#fbe4e2"),
}


@dataclass(frozen=True, slots=True)
class _EdgeLook:
    color: str
    style: str
    ends: dict[str, str]
    legend: str


_EDGES: dict[WaitEdgeKind, _EdgeLook] = {
    WaitEdgeKind.WAITS: _EdgeLook("#3f4650", "solid", {"arrowhead": "normal"}, "waits at: solid"),
    WaitEdgeKind.MISSING: _EdgeLook(
        _CAUSE,
        "dashed",
        {"dir": "both", "arrowhead": "onormal", "arrowtail": "tee"},
        "arrival that is missing, and who would make it: dashed, bar and hollow arrow",
    ),
    WaitEdgeKind.ARRIVED: _EdgeLook("#6b7280", "dotted", {"arrowhead": "dot"}, "has arrived: dotted, dot"),
}


def deadlock_dot(drawn: WaitGraph) -> str:
    """The same text for the same graph."""
    kinds = {edge.kind for edge in drawn.edges}
    legend = [(look.color, look.legend) for kind, look in _EDGES.items() if kind in kinds]
    if any(edge.cause for edge in drawn.edges):
        legend.append((_CAUSE, "why it hangs: thick"))
    made = graph(drawn.title, (drawn.sentence,), legend)
    made.attr(rankdir="TB", nodesep="0.5", ranksep="0.6")
    for node in drawn.nodes:
        _node(made, node)
    for edge in drawn.edges:
        _edge(made, edge)
    return made.source


def _node(made: Graph, node: WaitNode) -> None:
    look = _NODES[node.kind]
    first, *others = node.lines
    made.node(
        node.key,
        f"<{'<br/>'.join([f'<b>{escape(first)}</b>', *map(escape, others)])}>",
        shape=look.shape,
        style=look.style,
        fillcolor=look.fill,
        margin="0.15,0.08",
        **({"color": _CAUSE, "penwidth": "3"} if node.cause else {}),
    )


def _edge(made: Graph, edge: WaitEdge) -> None:
    look = _EDGES[edge.kind]
    # an empty cell keeps it off the stroke
    label = "".join(f'<tr><td width="6"></td><td align="left">{escape(line)}</td></tr>' for line in edge.lines)
    made.edge(
        edge.source,
        edge.target,
        f'<<table border="0" cellspacing="0" cellpadding="1">{label}</table>>' if label else None,
        color=_CAUSE if edge.cause else look.color,
        fontcolor="#16181d",
        style=look.style,
        penwidth="3" if edge.cause else "1.3",
        **look.ends,
    )
