"""Diagrams as DOT text. A warp group is a table with a row per line, so that their order is that of the source."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from itertools import pairwise
from typing import cast

from graphviz import Digraph

from tlxviz.diagrams.canvas import Graph, graph
from tlxviz.diagrams.levels import levels
from tlxviz.diagrams.looks import EDGES, HEADING, LINES, NODES
from tlxviz.diagrams.model import Cluster, Diagram, Edge, EdgeKind, Node, NodeKind, Table, nodes_of
from tlxviz.diagrams.weights import LEAST, LEGEND, bar, beside, figure, stroke
from tlxviz.diagrams.wording import bytes_text

_MOST_OF_A_CELL = 12
"""Lines of a cell of a table; more are counted."""


def dot_text(drawn: Diagram | Table) -> str:
    """The DOT of a diagram or table: the same text for the same input."""
    return _table(drawn) if isinstance(drawn, Table) else _diagram(drawn)


def titled(title: str, legend: Iterable[tuple[str, str]] = (), notes: Iterable[str] = ()) -> Graph:
    """An empty graph from left to right with a heading; `legend` is colours with words."""
    made = graph(title, notes, legend)
    made.attr(rankdir="LR", nodesep="0.3", ranksep="1.6")
    made.attr("edge", fontsize="9")
    return made


def _diagram(diagram: Diagram) -> str:
    kinds = {edge.kind for edge in diagram.edges}
    legend = [(look.color, look.legend) for kind, look in EDGES.items() if kind in kinds]
    note = f"Clusters of {diagram.cluster} CTAs: one CTA, and what it reaches of another" if diagram.cluster else ""
    graph = titled(diagram.title, LEGEND if diagram.weighed else legend, filter(None, (diagram.note, note)))
    own = _cta("cluster_own", "CTA") if diagram.cluster else graph
    for cluster in diagram.clusters:
        own.node(cluster.key, f"<{_warp_group(cluster, diagram.weighed)}>", shape="plain")
    for node in diagram.memory:
        _memory(graph if node.kind is NodeKind.CLUSTER_BARRIER else own, node)
    if not diagram.clusters:
        graph.node("nothing", "It uses no barrier, no shared memory and no tensor core.", shape="plain")
    column = levels(diagram)
    _columns(own, diagram, column)
    if diagram.cluster:
        graph.subgraph(own)
    if diagram.others:
        other = _cta("cluster_other", "another CTA of the cluster")
        for node in diagram.others:
            _memory(other, node, "filled,dashed")
        graph.subgraph(other)
    owner = {node.key: cluster.key for cluster in diagram.clusters for node in nodes_of(cluster)}
    memory = {node.key: node for node in (*diagram.memory, *diagram.others)}
    for edge in diagram.edges:
        _edge(graph, edge, owner, column, memory, diagram.weighed)
    return graph.source


def _cta(name: str, label: str) -> Graph:
    """A box for what belongs to one CTA."""
    look = {"label": label, "style": "rounded", "color": LINES, "fontsize": "11", "labeljust": "r", "margin": "14"}
    return cast("Graph", Digraph(name, graph_attr=look))


def _memory(graph: Graph, node: Node, style: str = "filled") -> None:
    look = NODES[node.kind]
    lines = [f"<b>{escape(node.lines[0])}</b>", *map(escape, node.lines[1:])]
    label = f"<{'<br/>'.join(lines)}>"
    graph.node(node.key, label, shape=look.shape, style=style, fillcolor=look.fill, margin="0.15,0.08")


def _columns(graph: Graph, diagram: Diagram, column: dict[str, int]) -> None:
    """What has one level stands in one column, warp groups in the order of the program."""
    clusters = [cluster.key for cluster in diagram.clusters]
    for level in sorted(set(column.values())):
        shared = NodeKind.CLUSTER_BARRIER  # which stands outside of the CTA
        memory = [node.key for node in diagram.memory if node.kind is not shared]
        keys = [key for key in (*clusters, *memory) if column[key] == level]
        if len(keys) < 2:
            continue
        same = cast("Graph", Digraph(graph_attr={"rank": "same"}))
        for key in keys:
            same.node(key)
        for above, below in pairwise(keys):
            if above in clusters:
                same.edge(above, below, style="invis")
        graph.subgraph(same)


def _edge(
    graph: Graph,
    edge: Edge,
    owner: dict[str, str],
    column: dict[str, int],
    memory: dict[str, Node],
    weighed: bool,
) -> None:
    look = EDGES[edge.kind]
    stroke_ = {"color": look.color, "fontcolor": look.color, "penwidth": f"{look.width:g}", "head": look.head}
    if weighed:
        stroke_ = stroke(edge.kind, edge.weight, look.color, look.head)
    head_ = stroke_.pop("head")
    gives = edge.source in owner  # else it takes
    site, key = (edge.source, edge.target) if gives else (edge.target, edge.source)
    agent, other = owner[site], key
    left = column[agent] < column[key]
    place = f"{agent}:{_port(site)}{'f' if weighed and left else ''}:{'e' if left else 'w'}"
    if edge.kind is EdgeKind.COMPLETE:  # beside the arrival that expects the bytes
        other = f"{other}:{'sw' if left else 'se'}"
    # always drawn from left to right, whichever way it points: ranks are columns
    tail, head = (place, other) if left else (other, place)
    forward = left is gives
    ends = {"arrowhead": head_} if forward else {"dir": "back", "arrowtail": head_}
    label = _share(edge) if weighed else _label(edge, memory[key])
    # a dotted line that is thick is hard to follow
    style = "solid" if weighed and edge.kind is EdgeKind.WAIT and label else look.style
    graph.edge(tail, head, label or None, style=style, **stroke_, **ends)


def _share(edge: Edge) -> str:
    """Of a wait's edge: the share of the warp group's time."""
    there = edge.kind is EdgeKind.WAIT and edge.weight is not None and edge.weight.share >= LEAST
    return beside(edge.weight.share) if there and edge.weight is not None else ""


def _label(edge: Edge, memory: Node) -> str:
    """What the nodes at its ends do not say: bytes other than a slot's."""
    if edge.kind in (EdgeKind.FILL, EdgeKind.READ) and edge.bytes not in (0, memory.slot_bytes):
        return bytes_text(edge.bytes)
    return ""


def _port(key: str) -> str:
    return "p" + key.partition(".")[2].replace(".", "_")


def _warp_group(cluster: Cluster, weighed: bool) -> str:
    heading = f"<b>{escape(cluster.title)}</b>" + (f"  {escape(cluster.detail)}" if cluster.detail else "")
    return (
        f'<table border="1" cellborder="0" cellspacing="0" cellpadding="3" color="{LINES}" bgcolor="white">'
        f'<tr><td{_wide(weighed)} bgcolor="{HEADING}" align="left">{heading}</td></tr>'
        f"{bar(cluster) if weighed else ''}{_rows(cluster, weighed)}</table>"
    )


def _wide(weighed: bool) -> str:
    """Of a cell that is as wide as a row and its figure."""
    return ' colspan="2"' if weighed else ""


def _rows(cluster: Cluster, weighed: bool) -> str:
    return "".join(
        _row(member, weighed) if isinstance(member, Node) else _loop(member, weighed) for member in cluster.members
    )


def _row(node: Node, weighed: bool) -> str:
    number = f"{node.line}  " if node.line else ""
    condition = "if: " if node.conditional else ""
    # further lines stand below the first: a digit is as wide as two spaces
    indent = " " * (2 * len(number) - 2) if number else ""
    text = f'<br align="left"/>{indent}'.join(map(escape, node.lines))
    share = figure(node, f"{_port(node.key)}f") if weighed else ""
    return f'<tr><td port="{_port(node.key)}" align="left" balign="left">{number}{condition}{text}</td>{share}</tr>'


def _loop(cluster: Cluster, weighed: bool) -> str:
    heading = f'<tr><td{_wide(weighed)} align="left"><i>{escape(cluster.title)}</i></td></tr>'
    return (
        f'<tr><td{_wide(weighed)} cellpadding="4"><table border="1" style="rounded" cellborder="0" cellspacing="0" '
        f'cellpadding="3" color="{LINES}">{heading}{_rows(cluster, weighed)}</table></td></tr>'
    )


def _table(table: Table) -> str:
    graph = titled(table.title)
    heading = "".join(f'<td bgcolor="{HEADING}" align="left"><b>{escape(each)}</b></td>' for each in table.columns)
    rows = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in table.rows)
    if not table.rows:
        rows = f'<tr><td colspan="{len(table.columns)}">none</td></tr>'
    label = (
        f'<<table border="0" cellborder="1" cellspacing="0" cellpadding="5" color="{LINES}">'
        f"<tr>{heading}</tr>{rows}</table>>"
    )
    graph.node("table", label, shape="plain")
    return graph.source


def _cell(lines: Sequence[str]) -> str:
    shown = list(lines[:_MOST_OF_A_CELL])
    if len(lines) > len(shown):
        shown.append(f"and {len(lines) - len(shown)} more")
    text = '<br align="left"/>'.join(map(escape, shown))
    return f'<td align="left" balign="left">{text or " "}</td>'
