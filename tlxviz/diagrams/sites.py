"""Warp groups as clusters: their loops, and in them a node for each line of the source that does something."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tlxviz.diagrams.calls import Place, agent_at, called, places
from tlxviz.diagrams.model import Cluster, Node, NodeKind
from tlxviz.diagrams.uses import Reach, Use, line_of
from tlxviz.diagrams.wording import name_of, number_of
from tlxviz.ir.operation import Operation
from tlxviz.ir.program import Agent, Buffer, Descriptor, Program, SiteKind

_LOOPS = frozenset({"scf.for", "scf.while"})
_CONDITIONS = frozenset({"scf.if"})

_VERBS: dict[SiteKind, str] = {
    SiteKind.TMA_LOAD: "TMA load",
    SiteKind.TMA_STORE: "TMA store",
    SiteKind.TMA_REDUCE: "TMA reduce",
    SiteKind.TMA_STORE_WAIT: "wait for all TMA stores",
    SiteKind.MMA: "MMA",
    SiteKind.MMA_WAIT: "wait for all MMAs",
    SiteKind.MMA_COMMIT: "commit MMAs",
    SiteKind.NAMED_WAIT: "wait",
    SiteKind.NAMED_ARRIVE: "arrive",
    SiteKind.ASYNC_COPY: "cp.async",
    SiteKind.ASYNC_COPY_WAIT: "wait for all cp.async",
    SiteKind.CLUSTER_ARRIVE: "arrive at cluster barrier",
    SiteKind.CLUSTER_WAIT: "wait at cluster barrier",
    SiteKind.CLC: "next tile (CLC)",
    SiteKind.TMEM_LOAD: "TMEM load",
    SiteKind.TMEM_STORE: "TMEM store",
    SiteKind.TMEM_COPY: "TMEM copy",
    SiteKind.RANGE_BEGIN: "begin",
    SiteKind.RANGE_END: "end",
}
"""What is done; kinds that are not here are called as they are."""
_REMOTE = {
    "ttg.remote_shmem_store": "remote store",
    "ttg.async_remote_shmem_store": "remote store",
    "ttg.async_remote_shmem_copy": "remote copy",
}
"""Stores and copies into another CTA, which `async_copy` is too general for."""
_OTHERS = {
    "ttg.local_load": "local load",
    "ttg.local_store": "local store",
    "ttg.local_alloc": "local store",
    "ttng.tmem_alloc": "TMEM store",
}
"""Operations that are no sites, but read and write buffers."""
_IN_FLIGHT = frozenset({SiteKind.TMA_STORE_WAIT, SiteKind.MMA_WAIT, SiteKind.ASYNC_COPY_WAIT})


@dataclass(frozen=True, slots=True)
class Placed:
    """The warp groups, and where each operation is drawn."""

    clusters: tuple[Cluster, ...]
    node_of: dict[Place, str]
    """Key of the node of each operation, as it is reached in each way."""


@dataclass(slots=True)
class _Line:
    """A node that is being collected."""

    line: int
    conditional: bool
    places: list[Place]


@dataclass(slots=True)
class _Box:
    """A cluster that is being collected."""

    title: str
    lines: dict[tuple[int, bool, bool], _Line] = field(default_factory=dict[tuple[int, bool, bool], _Line])
    loops: dict[Operation, _Box] = field(default_factory=dict[Operation, "_Box"])
    """And functions, by their calls."""
    order: list[_Line | _Box] = field(default_factory=list["_Line | _Box"])


def placed(program: Program, used: Sequence[Use]) -> Placed:
    """The warp groups of a program that do something, with the nodes that `used` is drawn between.

    Operations at one line of a warp group are one node, if they stand in the same loop and all under a condition or
    none: an unrolled loop, or a function that is called there. Waits for what is in flight are nodes of their own: the
    compiler puts them where it wants, at the line of what they wait for.
    """
    of: dict[Place, list[Use]] = {}
    for use in used:
        of.setdefault(use.place, []).append(use)
    boxes = {agent.index: _Box("") for agent in program.agents}
    for place in places(program):
        if place in of or place.operation in program.site_of:
            agent = agent_at(program, place)
            if agent is not None:
                _collect(program, boxes[agent.index], place, agent)
    node_of: dict[Place, str] = {}
    clusters: list[Cluster] = []
    for agent in program.agents:
        box = boxes[agent.index]
        if box.order:
            words = _Words(program, of)
            detail = number_of(agent.warps, "warp") + (f", {agent.registers} registers" if agent.registers else "")
            clusters.append(_cluster(box, f"agent{agent.index}", agent.name, detail, words, node_of))
    return Placed(tuple(clusters), node_of)


def _collect(program: Program, box: _Box, place: Place, agent: Agent) -> None:
    conditional, operation = False, place.operation
    for holder in reversed(list(_holders(place, agent))):
        if holder.name in _LOOPS or holder in place.calls:
            conditional = False
            inner = box.loops.get(holder)
            if inner is None:
                line = line_of(program, holder)
                title = f"{called(holder)}()" if holder in place.calls else "loop"
                inner = box.loops[holder] = _Box(f"{title}, line {line}" if line else title)
                box.order.append(inner)
            box = inner
        elif holder.name in _CONDITIONS:
            conditional = True
    line = line_of(program, operation)
    site = program.site_of.get(operation)
    # what has no line is not at the same place as other such
    key = line or -operation.line, conditional, site is not None and site.kind in _IN_FLIGHT
    found = box.lines.get(key)
    if found is None:
        found = box.lines[key] = _Line(line, conditional, [])
        box.order.append(found)
    found.places.append(place)


def _holders(place: Place, agent: Agent) -> Iterator[Operation]:
    """The operations around one, calls of functions among them, from the inside, up to the region of its warp group."""
    for inside in (place.operation, *reversed(place.calls)):
        if inside is not place.operation:
            yield inside
        block = inside.block
        while block is not None and block.region is not None and block.region is not agent.region:
            holder = block.region.parent
            if holder is None:
                break
            yield holder
            block = holder.block


def _cluster(box: _Box, key: str, title: str, detail: str, words: _Words, node_of: dict[Place, str]) -> Cluster:
    members: list[Node | Cluster] = []
    for number, each in enumerate(box.order):
        inner = f"{key}.{number}"
        if isinstance(each, _Box):
            members.append(_cluster(each, inner, each.title, "", words, node_of))
        else:
            members.append(Node(inner, NodeKind.SITE, words.of(each), each.line, each.conditional))
            node_of |= dict.fromkeys(each.places, inner)
    return Cluster(key, title, detail, tuple(members))


class _Words:
    """What a node says."""

    def __init__(self, program: Program, used: dict[Place, list[Use]]) -> None:
        self._program = program
        self._used = used

    def of(self, line: _Line) -> tuple[str, ...]:
        """What each operation does, in their order, those that say the same together."""
        counts: dict[str, int] = {}
        for place in line.places:
            text = self._text(place)
            counts[text] = counts.get(text, 0) + 1
        return tuple(text if count == 1 else f"{text} ({count}x)" for text, count in counts.items())

    def _text(self, place: Place) -> str:
        operation = place.operation
        site = self._program.site_of.get(operation)
        if site is None:
            verb = _OTHERS.get(operation.name, operation.name)
            return f"{verb} {self._names(place)}"
        verb = self._verb(operation, site.kind)
        if site.kind in (SiteKind.CLUSTER_ARRIVE, SiteKind.CLUSTER_WAIT):
            return verb
        if site.kind in _IN_FLIGHT:
            left = operation.attributes.get("pendings", operation.attributes.get("num", 0))
            return f"{verb} but {left}" if left else verb
        if site.kind in (SiteKind.RANGE_BEGIN, SiteKind.RANGE_END):
            return f"{verb} {site.variable}"
        if site.kind is SiteKind.EXPECT:
            return f"{verb} {site.bytes} B at {self._names(place)}"
        descriptor = operation.operand("desc")
        root = self._program.roots.get(descriptor) if descriptor is not None else None
        if isinstance(root, Descriptor):
            buffer = self._names(place)
            way = f"{root.name} to {buffer}" if site.kind is SiteKind.TMA_LOAD else f"{buffer} to {root.name}"
            return f"{verb} {way}"
        text = f"{verb} {self._names(place)}".rstrip()
        if operation.name not in _REMOTE and any(use.reach is Reach.OTHER for use in self._used.get(place, ())):
            text += " of another CTA"
        arrivals = max((use.count for use in self._used.get(place, ())), default=0)
        return f"{text} (+{arrivals})" if arrivals > 1 else text

    def _verb(self, operation: Operation, kind: SiteKind) -> str:
        if operation.operand("multicast") is not None:
            return "TMA multicast"
        if kind is SiteKind.MMA and "two_ctas" in operation.attributes:
            return "MMA of the pair"
        return _REMOTE.get(operation.name, _VERBS.get(kind, kind.value))

    def _names(self, place: Place) -> str:
        """What it works on: its buffers, or else its barriers."""
        used = self._used.get(place, ())
        names = {name_of(self._program, use.of): isinstance(use.of, Buffer) for use in used}
        buffers = [name for name, buffer in names.items() if buffer]
        return ", ".join(buffers or names)
