"""Edges of pipeline diagrams, read off the kernels' sources by hand."""

from __future__ import annotations

from typing import NamedTuple

from tlxviz.diagrams.model import Cluster, Diagram, EdgeKind, nodes_of
from tlxviz.diagrams.model import EdgeKind as Kind


class E(NamedTuple):
    """One edge, told by what it joins."""

    agent: str
    line: int
    kind: EdgeKind
    memory: str
    bytes: int = 0
    count: int = 0
    operations: int = 1
    loops: tuple[int, ...] = ()
    """Lines of the loops and calls around it, from the outside."""


def edges(diagram: Diagram) -> list[E]:
    """Those of a diagram, in order."""
    places: dict[str, tuple[str, int, tuple[int, ...]]] = {}

    def enter(cluster: Cluster, agent: str, loops: tuple[int, ...]) -> None:
        for member in cluster.members:
            if isinstance(member, Cluster):
                enter(member, agent, (*loops, int(member.title.partition("line ")[2] or 0)))
            else:
                places[member.key] = agent, member.line, loops

    for cluster in diagram.clusters:
        enter(cluster, cluster.title, ())
        assert len(nodes_of(cluster)) == len({node.key for node in nodes_of(cluster)})
    memory = {node.key: node.lines[0] for node in diagram.memory}
    found: list[E] = []
    for edge in diagram.edges:
        takes = edge.kind in (Kind.WAIT, Kind.READ)
        site, other = (edge.target, edge.source) if takes else (edge.source, edge.target)
        agent, line, loops = places[site]
        found.append(E(agent, line, edge.kind, memory[other], edge.bytes, edge.count, edge.operations, loops))
    return sorted(found)


# kernels/hopper_gemm_ws.py with BLOCK_M 128, BLOCK_N 256, BLOCK_K 64: A is 64x64, B 64x256 and a strip of C 64x64, fp16
A, B, C = 64 * 64 * 2, 64 * 256 * 2, 64 * 64 * 2
_FILL = {"loops": (99, 101)}
_STEP = {"loops": (128, 131)}
_TILE = {"loops": (128,)}

HOPPER_GEMM = [
    E("load", 104, Kind.WAIT, "a_empty", **_FILL),
    E("load", 105, Kind.ARRIVE, "a_full", A, 1, **_FILL),
    E("load", 106, Kind.COMPLETE, "a_full", A, **_FILL),
    E("load", 106, Kind.FILL, "a_tiles", A, **_FILL),
    E("load", 108, Kind.WAIT, "b_empty", **_FILL),
    E("load", 109, Kind.ARRIVE, "b_full", B, 1, **_FILL),
    E("load", 110, Kind.COMPLETE, "b_full", B, **_FILL),
    E("load", 110, Kind.FILL, "b_tiles", B, **_FILL),
    E("load", 113, Kind.WAIT, "a_empty", **_FILL),
    E("load", 114, Kind.ARRIVE, "a_full", A, 1, **_FILL),
    E("load", 115, Kind.COMPLETE, "a_full", A, **_FILL),
    E("load", 115, Kind.FILL, "a_tiles", A, **_FILL),
    *(
        edge
        for mma in ("mma.0", "mma.1")
        for edge in (
            E(mma, 133, Kind.WAIT, "a_full", **_STEP),
            E(mma, 134, Kind.WAIT, "b_full", **_STEP),
            E(mma, 135, Kind.READ, "a_tiles", A, **_STEP),
            E(mma, 135, Kind.READ, "b_tiles", B, **_STEP),
            E(mma, 139, Kind.ARRIVE, "a_empty", 0, 1, **_STEP),
            E(mma, 140, Kind.ARRIVE, "b_empty", 0, 1, **_STEP),
            E(mma, 144, Kind.ARRIVE, "a_empty", 0, 1, **_TILE),
            E(mma, 145, Kind.ARRIVE, "b_empty", 0, 1, **_TILE),
            *(
                E(mma, line, kind, "c_tiles", C, **_TILE)
                for line in (151, 152, 153, 154)  # store_strip: a local store, then the TMA store of it
                for kind in (Kind.FILL, Kind.READ)
            ),
        )
    ),
]

# The tutorial hopper_fa_ws_pipelined_pingpong: BLOCK_M 128 for two groups, BLOCK_N 128, heads of 128 numbers, fp16
Q, KV = 64 * 128 * 2, 128 * 128 * 2
_KEYS = {"loops": (83,)}
_BLOCKS = {"loops": (167,)}
MINE, OTHER = "named barrier 9", "named barrier 10"

_PING_PONG = {
    "softmax.0": [
        E("softmax.0", 132, Kind.WAIT, MINE),
        E("softmax.0", 143, Kind.ARRIVE, OTHER, 0, 1),
        E("softmax.0", 180, Kind.WAIT, MINE, **_BLOCKS),
        E("softmax.0", 189, Kind.ARRIVE, OTHER, 0, 1, **_BLOCKS),
    ],
    "softmax.1": [
        E("softmax.1", 135, Kind.ARRIVE, MINE, 0, 1),
        E("softmax.1", 137, Kind.WAIT, OTHER),
        E("softmax.1", 146, Kind.ARRIVE, MINE, 0, 1),
        E("softmax.1", 183, Kind.WAIT, OTHER, **_BLOCKS),
        E("softmax.1", 192, Kind.ARRIVE, MINE, 0, 1, **_BLOCKS),
    ],
}

ATTENTION = [
    # the loop over the two groups is unrolled
    E("load", 76, Kind.ARRIVE, "q_fulls", Q, 1, 2),
    E("load", 78, Kind.COMPLETE, "q_fulls", Q, 0, 2),
    E("load", 78, Kind.FILL, "q_tiles", Q, 0, 2),
    E("load", 89, Kind.WAIT, "k_empties", **_KEYS),
    E("load", 91, Kind.ARRIVE, "k_fulls", KV, 1, **_KEYS),
    E("load", 92, Kind.COMPLETE, "k_fulls", KV, **_KEYS),
    E("load", 92, Kind.FILL, "k_tiles", KV, **_KEYS),
    E("load", 95, Kind.WAIT, "v_empties", **_KEYS),
    E("load", 97, Kind.ARRIVE, "v_fulls", KV, 1, **_KEYS),
    E("load", 98, Kind.COMPLETE, "v_fulls", KV, **_KEYS),
    E("load", 98, Kind.FILL, "v_tiles", KV, **_KEYS),
    *(
        edge
        for group, named in _PING_PONG.items()
        for edge in (
            *named,
            E(group, 116, Kind.WAIT, "q_fulls"),
            E(group, 125, Kind.WAIT, "k_fulls"),
            E(group, 139, Kind.READ, "q_tiles", Q),
            E(group, 139, Kind.READ, "k_tiles", KV),
            E(group, 151, Kind.ARRIVE, "k_empties", 0, 1),
            E(group, 173, Kind.WAIT, "k_fulls", **_BLOCKS),
            E(group, 185, Kind.READ, "q_tiles", Q, **_BLOCKS),
            E(group, 185, Kind.READ, "k_tiles", KV, **_BLOCKS),
            E(group, 198, Kind.WAIT, "v_fulls", **_BLOCKS),
            E(group, 201, Kind.READ, "v_tiles", KV, **_BLOCKS),  # P comes from registers
            E(group, 206, Kind.ARRIVE, "k_empties", 0, 1, **_BLOCKS),
            E(group, 223, Kind.ARRIVE, "v_empties", 0, 1, **_BLOCKS),
            E(group, 231, Kind.WAIT, "v_fulls"),
            E(group, 234, Kind.READ, "v_tiles", KV),
            E(group, 238, Kind.ARRIVE, "v_empties", 0, 1),
            # desc_o.store goes through memory that the compiler allocates for it
            E(group, 253, Kind.FILL, "tile of line 253", Q),
            E(group, 253, Kind.READ, "tile of line 253", Q),
        )
    ),
]

# The tutorial hopper_gemm_ws in its first configuration, BM 128, BN 128, BK 64, EPILOGUE_SUBTILE: A is 64x64 for each
# of two groups, B 64x128 and each half of C 64x64, fp16
TA, TB, TC = 64 * 64 * 2, 64 * 128 * 2, 64 * 64 * 2
_COPIES = {"loops": (548, 559)}
_PRODUCTS = {"loops": (648, 660)}
_STORES = {"loops": (648,)}

TUTORIAL_GEMM = [
    E("load", 566, Kind.WAIT, "bars_empty_a", **_COPIES),
    E("load", 567, Kind.ARRIVE, "bars_full_a", TA, 1, **_COPIES),
    E("load", 572, Kind.COMPLETE, "bars_full_a", TA, **_COPIES),
    E("load", 572, Kind.FILL, "a", TA, **_COPIES),
    E("load", 577, Kind.WAIT, "bars_empty_b", **_COPIES),
    E("load", 578, Kind.ARRIVE, "bars_full_b", TB, 1, **_COPIES),
    E("load", 618, Kind.COMPLETE, "bars_full_b", TB, **_COPIES),  # NUM_CTAS 1, B_ROW_MAJOR
    E("load", 618, Kind.FILL, "b", TB, **_COPIES),
    E("load", 623, Kind.WAIT, "bars_empty_a", **_COPIES),
    E("load", 624, Kind.ARRIVE, "bars_full_a", TA, 1, **_COPIES),
    E("load", 630, Kind.COMPLETE, "bars_full_a", TA, **_COPIES),
    E("load", 630, Kind.FILL, "a", TA, **_COPIES),
    *(
        edge
        for mma in ("mma.0", "mma.1")
        for edge in (
            E(mma, 666, Kind.WAIT, "bars_full_a", **_PRODUCTS),
            E(mma, 667, Kind.WAIT, "bars_full_b", **_PRODUCTS),
            E(mma, 675, Kind.READ, "a", TA, **_PRODUCTS),
            E(mma, 675, Kind.READ, "b", TB, **_PRODUCTS),
            E(mma, 686, Kind.ARRIVE, "bars_empty_a", 0, 1, **_PRODUCTS),
            E(mma, 687, Kind.ARRIVE, "bars_empty_b", 0, 1, **_PRODUCTS),
            *(
                E(mma, line, kind, f"tile of line {line}", TC, **_STORES)
                for line in (697, 699)  # c_desc.store goes through memory that the compiler allocates for it
                for kind in (Kind.FILL, Kind.READ)
            ),
        )
    ),
]

# kernels/plain_gemm.py with blocks of 128x128x64 and three stages: two iterations are loaded ahead of the loop
AB = 128 * 64 * 2
PLAIN_GEMM = [
    E("compute", 60, Kind.FILL, "a", AB, 0, 2),
    E("compute", 61, Kind.FILL, "b", AB, 0, 2),
    E("compute", 60, Kind.FILL, "a", AB, loops=(58,)),
    E("compute", 61, Kind.FILL, "b", AB, loops=(58,)),
    E("compute", 62, Kind.READ, "a", AB, loops=(58,)),
    E("compute", 62, Kind.READ, "b", AB, loops=(58,)),
]
