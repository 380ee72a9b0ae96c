"""The pipeline: warp groups, the barriers and buffers between them, and who fills, reads, arrives and waits."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from tlxviz.diagrams.calls import Place
from tlxviz.diagrams.model import Diagram, Edge, EdgeKind, Node, NodeKind
from tlxviz.diagrams.sites import placed
from tlxviz.diagrams.uses import ClusterBarrier, NamedBarrier, Reach, Thing, Use, named_barriers, uses
from tlxviz.diagrams.wording import bytes_text, counts_text, name_of, number_of, shape_text, space_text
from tlxviz.ir.program import BarrierArray, Buffer, Program

_TAKES = frozenset({EdgeKind.WAIT, EdgeKind.READ})
_OTHER = "other_"
"""How keys of another CTA's memory begin."""


def pipeline(program: Program) -> Diagram:
    """What an author draws on a whiteboard, from the TTGIR alone."""
    return pipeline_and_places(program)[0]


def pipeline_and_places(program: Program) -> tuple[Diagram, dict[Place, str]]:
    """The same, and the key of the node of each operation, as it is reached in each way."""
    used = uses(program)
    where = placed(program, used)
    memory: dict[str, Node] = {}
    for thing in (*program.barriers, *named_barriers(used), *program.buffers, ClusterBarrier()):
        node = _memory(program, thing, used)
        memory[node.key] = node
    edges: dict[tuple[str, str, EdgeKind], Edge] = {}
    for use in used:
        for edge in _edges(use, where.node_of[use.place]):
            key = edge.source, edge.target, edge.kind
            before = edges.get(key)
            edges[key] = edge if before is None else _both(before, edge)
    joined = {key for edge in edges.values() for key in (edge.source, edge.target)}
    clustered = math.prod(program.cluster) > 1
    diagram = Diagram(
        f"Pipeline of {program.name}",
        where.clusters,
        tuple(node for node in memory.values() if node.key in joined),
        tuple(edges.values()),
        cluster=" x ".join(map(str, program.cluster)) if clustered else "",
        others=tuple(
            replace(node, key=f"{_OTHER}{node.key}") for node in memory.values() if f"{_OTHER}{node.key}" in joined
        ),
    )
    return diagram, where.node_of


def key_of(thing: Thing) -> str:
    """Of its node."""
    match thing:
        case ClusterBarrier():
            return "cluster"
        case BarrierArray():
            return f"barrier{thing.index}"
        case Buffer():
            return f"buffer{thing.index}"
        case NamedBarrier():
            return f"named{'' if thing.number is None else thing.number}of{thing.threads or ''}"


def _memory(program: Program, thing: Thing, used: Sequence[Use]) -> Node:
    key, name = key_of(thing), name_of(program, thing)
    match thing:
        case ClusterBarrier():
            return Node(key, NodeKind.CLUSTER_BARRIER, (name, f"{math.prod(program.cluster)} CTAs"))
        case BarrierArray():
            expected = sorted({use.bytes for use in used if use.of is thing and use.kind is EdgeKind.ARRIVE} - {0})
            bytes_ = [f"expects {', '.join(map(bytes_text, expected))}"] if expected else []
            size = f"{number_of(thing.slots, 'slot')}, count {counts_text(thing.counts)}"
            return Node(key, NodeKind.BARRIER, (name, size, *bytes_))
        case Buffer():
            each = thing.bytes // max(thing.slots, 1)
            size = f"{number_of(thing.slots, 'slot')} of {bytes_text(each)}"
            shape = " ".join(filter(None, (shape_text(thing), space_text(thing))))
            return Node(key, NodeKind.BUFFER, tuple(filter(None, (name, size, shape))), slot_bytes=each)
        case NamedBarrier():
            threads = (f"{thing.threads} threads",) if thing.threads is not None else ()
            return Node(key, NodeKind.NAMED_BARRIER, (name, *threads))


def _edges(use: Use, site: str) -> Iterator[Edge]:
    key = key_of(use.of)
    own, other = use.reach is not Reach.OTHER, use.reach is not Reach.OWN
    for memory in (*([key] if own else ()), *([f"{_OTHER}{key}"] if other else ())):
        source, target = (memory, site) if use.kind in _TAKES else (site, memory)
        yield Edge(source, target, use.kind, 1, use.count, use.bytes)


def _both(first: Edge, second: Edge) -> Edge:
    """One edge for two: its count and bytes are those of one operation, or 0 where the two differ."""
    return Edge(
        first.source,
        first.target,
        first.kind,
        first.operations + second.operations,
        first.count if first.count == second.count else 0,
        first.bytes if first.bytes == second.bytes else 0,
    )
