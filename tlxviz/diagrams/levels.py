"""Where things stand from left to right: producers before those who read what they fill, memory between them."""

from __future__ import annotations

from tlxviz.diagrams.model import Diagram, EdgeKind, nodes_of


def levels(diagram: Diagram) -> dict[str, int]:
    """By the key of a warp group, and of a piece of memory: its column. Memory has odd columns, warp groups even ones.

    A warp group is behind those that fill what it reads, except where that would go round in a circle. Memory is
    right behind the first warp group that has to do with it.
    """
    owner = {node.key: cluster.key for cluster in diagram.clusters for node in nodes_of(cluster)}
    fills: dict[str, dict[str, None]] = {}
    reads: dict[str, dict[str, None]] = {}
    users: dict[str, list[str]] = {}
    for edge in diagram.edges:
        agent, memory = (owner[edge.source], edge.target) if edge.source in owner else (owner[edge.target], edge.source)
        users.setdefault(memory, []).append(agent)
        if edge.kind is EdgeKind.FILL:
            fills.setdefault(memory, {})[agent] = None
        elif edge.kind is EdgeKind.READ:
            reads.setdefault(memory, {})[agent] = None
    after: dict[str, dict[str, None]] = {cluster.key: {} for cluster in diagram.clusters}
    for memory, makers in fills.items():
        for maker in makers:
            # who fills it as well has slots of its own in it
            after[maker] |= {reader: None for reader in reads.get(memory, {}) if reader not in makers}
    found = {key: 2 * depth for key, depth in _depths(after).items()}
    return found | {memory: min(found[agent] for agent in agents) + 1 for memory, agents in users.items()}


def _depths(after: dict[str, dict[str, None]]) -> dict[str, int]:
    """The longest way to each from those that come after none, without the edges that close a circle."""
    order: list[str] = []
    state: dict[str, bool] = {}
    """Whether one is done; it is being visited where this is False."""
    kept: dict[str, list[str]] = {key: [] for key in after}

    def visit(key: str) -> None:
        state[key] = False
        for follower in after[key]:
            if follower not in state:
                visit(follower)
            if state[follower]:
                kept[key].append(follower)
        state[key] = True
        order.append(key)

    followers = {follower for each in after.values() for follower in each}
    for key in sorted(after, key=lambda key: key in followers):
        if key not in state:
            visit(key)
    depth = dict.fromkeys(after, 0)
    for key in reversed(order):
        for follower in kept[key]:
            depth[follower] = max(depth[follower], depth[key] + 1)
    return depth
