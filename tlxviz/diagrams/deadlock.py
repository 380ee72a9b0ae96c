"""The wait-for graph of a launch that hangs: who waits at which barrier, and whose arrival is missing there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tlxviz.analysis.hang import Hang, Waiter, hang_of
from tlxviz.analysis.hang_words import cluster_words, rank_words, since, who
from tlxviz.analysis.pending import Expected, expected
from tlxviz.analysis.standstill import is_absent
from tlxviz.diagrams.renderer import CannotDraw
from tlxviz.diagrams.wait_for import Cause, WaitEdge, WaitEdgeKind, WaitGraph, WaitNode, WaitNodeKind, cause
from tlxviz.diagrams.wording import number_of
from tlxviz.trace.model import LaunchTrace

_MOST = 24
"""Warp groups that are drawn; of more, those that explain the hang and the first of the others."""
_FOREVER, _ENDED = " waits forever", "has ended"
_WIDEST = 56
"""Characters of a line of source."""
_NAMES = {"named_wait": "named barrier", "cluster_wait": "barrier of the cluster", "poll": "memory that nobody writes"}
_UNITS = {"named_wait": "thread", "cluster_wait": "warp"}


def deadlock(launch: LaunchTrace) -> WaitGraph:
    """The graph of the CTA or cluster that hangs first. Raises CannotDraw where the launch did not hang."""
    hang = hang_of(launch)
    if hang is None:
        how = "it ended" if launch.complete else "recording was interrupted, and no hang is known"
        raise CannotDraw(f"there is no deadlock in this launch of {launch.kernel}: {how}.")
    made = _Maker(launch, hang)
    made.build()
    why = cause(tuple(made.nodes.values()), made.edges)
    said = _sentence(why, made.nodes)
    others = [name for name in hang.ended if not any(made.nodes[key].lines[0] == name for key in why.keys)]
    if others:
        said += f"; ended: {', '.join(others)}"
    kept = _kept(made.nodes, made.edges, why)
    left_out = len(hang.waiters) - sum(made.nodes[key].kind is WaitNodeKind.WAITER for key in kept)
    if left_out:
        said += f"; {number_of(left_out, 'more warp group')} not drawn"
    return WaitGraph(
        _title(launch, hang),
        said,
        tuple(replace(node, cause=key in why.keys) for key, node in made.nodes.items() if key in kept),
        tuple(
            replace(edge, cause=(edge.source, edge.target) in why.pairs and edge.kind is not WaitEdgeKind.ARRIVED)
            for edge in made.edges
            if edge.source in kept and edge.target in kept
        ),
    )


def _kept(nodes: dict[str, WaitNode], edges: Sequence[WaitEdge], why: Cause) -> set[str]:
    """Nodes that are drawn: the cause, warp groups as far as there is room, and what these wait for."""
    waiters = [key for key, node in nodes.items() if node.kind is WaitNodeKind.WAITER]
    kept = {key for key in why.keys if nodes[key].kind is WaitNodeKind.WAITER}
    kept |= set([key for key in waiters if key not in kept][: max(_MOST - len(kept), 0)])
    barriers = {edge.target for edge in edges if edge.source in kept} - set(waiters)
    return kept | barriers | ({edge.target for edge in edges if edge.source in barriers} - set(waiters))


def _title(launch: LaunchTrace, hang: Hang) -> str:
    title = f"{launch.kernel} hangs"
    if hang.cycle is not None:
        title += f" at cycle {hang.cycle:,}"
    if hang.cluster:
        title += f" in {cluster_words(hang)}"
    elif hang.cta is not None:
        title += f" in CTA {hang.cta}"
    ctas = (launch.hang or {}).get("ctas", 0)
    return title + (f", the first of {ctas} CTAs that do" if isinstance(ctas, int) and ctas > 1 else "")


def _sentence(why: Cause, nodes: dict[str, WaitNode]) -> str:
    row = [nodes[key] for key in why.keys]
    names = [node.lines[0].removesuffix(_FOREVER) for node in row if node.kind is WaitNodeKind.WAITER]
    if not row:
        return "the trace does not say who would arrive"
    if why.circle:
        return f"{names[0]} waits for itself" if len(names) == 1 else f"{_listed(names)} wait for each other"
    said = ", which waits for ".join(names)
    said = said.replace(", which waits for ", " waits for ", 1)
    link = ", which waits" if names[1:] else " waits"
    last, barrier = row[-1], row[-2].lines[0]
    if last.kind is WaitNodeKind.ENDED:
        end = "which has ended" if last.lines[1:] == (_ENDED,) else "whose warps have not all arrived"
        return f"{said}{link} for {last.lines[0]}, {end}"
    if last.lines[1:]:
        return f"{said}{link} at {barrier} for {last.lines[0]}, but {last.lines[1]}"
    return f"{said}{link} for {last.lines[0]}"


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]


class _Maker:
    """Collects nodes and edges."""

    def __init__(self, launch: LaunchTrace, hang: Hang) -> None:
        self.nodes: dict[str, WaitNode] = {}
        self.edges: list[WaitEdge] = []
        self._launch = launch
        self._hang = hang
        self._shown = hang.waiters

    def build(self) -> None:
        for number, waiter in enumerate(self._shown):
            self._add(self._waiter(number, waiter))
        for number, waiter in enumerate(self._shown):
            if waiter.operation == "join":
                self._join(number, waiter)
            else:
                self._barrier(number, waiter)

    def _add(self, node: WaitNode) -> str:
        self.nodes.setdefault(node.key, node)
        return node.key

    def _waiter(self, number: int, waiter: Waiter) -> WaitNode:
        lines = [who(waiter.agent, waiter.cta, self._hang) + _FOREVER, *_place(waiter.line, waiter.text)]
        if rank := rank_words(waiter.cta, self._hang):
            lines.append(f"{rank} of the cluster")
        if began := ", ".join(since(waiter)):
            lines.append(began)
        return WaitNode(f"waiter{number}", WaitNodeKind.WAITER, tuple(lines))

    def _join(self, number: int, waiter: Waiter) -> None:
        """The default task waits for the others to end."""
        for place, other in enumerate(self._shown):
            if place != number and other.cta == waiter.cta:
                self._edge(f"waiter{number}", f"waiter{place}", WaitEdgeKind.WAITS, ("to end",))

    def _barrier(self, number: int, waiter: Waiter) -> None:
        of = waiter.cta if waiter.operation != "cluster_wait" else None
        key = f"barrier {waiter.operation} {waiter.variable} {waiter.slot} {of}"
        if waiter.operation == "poll":
            self._add(WaitNode(key, WaitNodeKind.NOBODY, (_NAMES["poll"],)))
            self._edge(f"waiter{number}", key, WaitEdgeKind.WAITS)
            return
        known = key in self.nodes
        self._add(WaitNode(key, WaitNodeKind.BARRIER, self._state(waiter)))
        self._edge(f"waiter{number}", key, WaitEdgeKind.WAITS)
        if waiter.operation == "cluster_wait":
            if not known:
                self._absent(key, waiter)
        else:
            self._arrivers(key, waiter, known=known)

    def _state(self, waiter: Waiter) -> tuple[str, ...]:
        name = waiter.variable or _NAMES.get(waiter.operation, waiter.operation) or "barrier"
        if waiter.slot is not None:
            name += f"[{waiter.slot}]" if waiter.variable else f" {waiter.slot}"
        if self._hang.cluster and waiter.cta is not None and waiter.operation == "wait":
            name += f" of CTA {waiter.cta}"
        lines = [name]
        if waiter.completed_phases is not None:
            parity = f" (parity {waiter.phase})" if waiter.phase is not None else ""
            lines.append(f"phase {waiter.completed_phases}{parity} does not complete")
        elif waiter.phase is not None:
            lines.append(f"parity {waiter.phase} is waited for")
        if waiter.pending is not None:
            unit = _UNITS.get(waiter.operation, "arrival")
            if waiter.count is not None:
                lines.append(f"has {waiter.count - waiter.pending:,} of {number_of(waiter.count, unit)}")
            else:
                lines.append(f"{number_of(waiter.pending, unit)} missing")
        if waiter.missing_bytes > 0:
            lines.append(f"{waiter.missing_bytes:,} B missing")
        elif waiter.missing_bytes < 0:
            lines.append(f"{-waiter.missing_bytes:,} B more than expected")
        last = waiter.last_arrival
        if last is not None:
            when = f", cycle {last.cycle:,}" if last.cycle is not None else ""
            lines.append(f"last arrival: {who(last.agent, last.cta, self._hang)}, line {last.line}{when}")
        elif waiter.operation == "wait":
            lines.append("no arrival yet")
        return tuple(lines)

    def _absent(self, key: str, waiter: Waiter) -> None:
        """At the barrier of a cluster: warp groups of the CTAs that have not all arrived."""
        for each in waiter.absent:
            lines = (f"{each.pending} of {each.count} warps missing",)
            there = [
                place for place, other in enumerate(self._shown) if other.cta == each.cta and is_absent(other, waiter)
            ]
            for place in there:
                self._edge(key, f"waiter{place}", WaitEdgeKind.MISSING, lines)
            if not there:
                gone = self._add(WaitNode(f"cta {each.cta}", WaitNodeKind.ENDED, (f"CTA {each.cta}",)))
                self._edge(key, gone, WaitEdgeKind.MISSING, lines)

    def _arrivers(self, key: str, waiter: Waiter, *, known: bool) -> None:
        if waiter.arrivers is None:
            return
        missing = False
        for each in expected(self._launch, self._hang, waiter):
            missing = missing or each.arrived is None
            for target in self._targets(waiter, each):
                kind = WaitEdgeKind.MISSING if each.arrived is None else WaitEdgeKind.ARRIVED
                lines = [line for place in each.places for line in _place(place.line, place.text)]
                if each.arrived is not None:
                    lines.append(f"arrived at cycle {each.arrived:,}")
                self._edge(key, target, kind, tuple(dict.fromkeys(lines)))
        if not missing and not known:
            self._nobody(key, waiter)

    def _targets(self, waiter: Waiter, each: Expected) -> list[str]:
        """The nodes of a warp group that would arrive: where it waits, or that it has ended."""
        found = [f"waiter{place}" for place, other in enumerate(self._shown) if each.waits(other, waiter)]
        name = who(each.agent, each.cta, self._hang)
        lines = (name, _ENDED if each.ended else "does not arrive")
        return found or [self._add(WaitNode(f"ended {name}", WaitNodeKind.ENDED, lines))]

    def _nobody(self, key: str, waiter: Waiter) -> None:
        """What is missing where all that arrive have, or nobody does."""
        if waiter.pending:
            unit = _UNITS.get(waiter.operation, "arrival")
            more = "more " if waiter.arrivers else ""
            what = f"{waiter.pending:,} {more}{unit}{'' if waiter.pending == 1 else 's'}"
            who = "whoever arrives there has done so" if waiter.arrivers else "nothing in the kernel arrives there"
        elif waiter.missing_bytes > 0:
            what, who = f"{waiter.missing_bytes:,} more bytes", "whoever arrives there has done so"
        else:
            return
        node = self._add(WaitNode(f"nobody {key}", WaitNodeKind.NOBODY, (what, who)))
        self._edge(key, node, WaitEdgeKind.MISSING)

    def _edge(self, source: str, target: str, kind: WaitEdgeKind, lines: tuple[str, ...] = ()) -> None:
        edge = WaitEdge(source, target, kind, lines)
        if edge not in self.edges:
            self.edges.append(edge)


def _place(line: int, text: str) -> list[str]:
    if not line:
        return []
    cut = text if len(text) <= _WIDEST else text[: _WIDEST - 1] + "…"
    return [f"line {line}: {cut}" if cut else f"line {line}"]
