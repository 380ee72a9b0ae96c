"""The pipeline with the time of a launch: where each warp group waits, and what ends that."""

from __future__ import annotations

from dataclasses import replace

from tlxviz._errors import UsageError
from tlxviz.analysis.account import Account
from tlxviz.analysis.shares import group_shares
from tlxviz.analysis.stalls import ended_waits, site_times
from tlxviz.diagrams.calls import Place
from tlxviz.diagrams.causes import CAUSE_WORDS, NOT_LOST
from tlxviz.diagrams.model import Cluster, Diagram, Edge, EdgeKind, Node, Weight
from tlxviz.diagrams.pipeline import pipeline_and_places
from tlxviz.diagrams.wording import number_of
from tlxviz.ir.program import Program
from tlxviz.trace.model import LaunchTrace

_ENDS_WAITS = frozenset({EdgeKind.ARRIVE, EdgeKind.COMPLETE})


def stalls(program: Program, launch: LaunchTrace) -> Diagram:
    """The pipeline; each row and each wait's edge has the share of its warp group's time that goes by there.

    What a function does that is called at several places stands at the first call of each warp group: an event does
    not say through which call it came. Raises UsageError for a launch of which no event was recorded.
    """
    account = Account(launch)
    if not len(launch.events):
        raise UsageError(f"no event of {launch.kernel} was recorded, so nothing is known of its time.")
    diagram, node_of = pipeline_and_places(program)
    first = _first_nodes(program, launch, node_of)
    rows: dict[str, dict[str, float]] = {}
    """By node: shares by what they go to."""
    harmless: dict[str, bool] = {}
    """Whether that is not lost."""
    for each in site_times(account):
        node = first.get((each.group, each.site))
        if node is None:
            continue
        word = CAUSE_WORDS.get(each.cause, "") if each.cause is not None else ""
        if not word:
            word = "waiting" if each.waits else "issuing"
        shares_of = rows.setdefault(node, {})
        shares_of[word] = shares_of.get(word, 0.0) + each.share
        harmless[word] = each.cause in NOT_LOST
    weights = {node: _weight(words, harmless) for node, words in rows.items()}
    shares = {
        f"agent{index}": (each.shares.busy, each.shares.issue, each.shares.wait)
        for index, each in enumerate(group_shares(launch, account.groups, account.lives, account.totals))
        if each.shares is not None
    }
    waits: dict[str, list[str]] = {}
    for edge in diagram.edges:
        if edge.kind is EdgeKind.WAIT:
            waits.setdefault(edge.target, []).append(edge.source)
    ends: dict[tuple[str, str], Weight] = {}
    for each in ended_waits(account):
        waiter, by = first.get((each.group, each.site)), _any_group(first, each.by)
        if waiter is None or by is None:
            continue
        for barrier in waits.get(waiter, ()):
            before = ends.get((by, barrier))
            if before is None or each.share > before.share:
                ends[by, barrier] = Weight(each.share, weights[waiter].lost)
    edges = tuple(_weighed(edge, weights, ends) for edge in diagram.edges)
    clusters = tuple(_cluster(each, weights, shares) for each in diagram.clusters)
    return replace(
        diagram, title=f"Where {program.name} waits", clusters=clusters, edges=edges, weighed=True, note=_note(account)
    )


def _first_nodes(program: Program, launch: LaunchTrace, node_of: dict[Place, str]) -> dict[tuple[int, int], str]:
    """By warp group and site: the first node at which it is drawn."""
    site_of = {site.operation: number for number, site in enumerate(program.sites)}
    found: dict[tuple[int, int], str] = {}
    for place, node in node_of.items():
        number = site_of.get(place.operation, -1)
        if 0 <= number < len(launch.sites) and launch.sites[number].kind == program.sites[number].kind:
            agent = int(node.removeprefix("agent").partition(".")[0])
            found.setdefault((agent, number), node)
    return found


def _any_group(first: dict[tuple[int, int], str], site: int) -> str | None:
    return next((node for (_, number), node in first.items() if number == site), None)


def _weight(words: dict[str, float], harmless: dict[str, bool]) -> Weight:
    """Of a row: all that goes by there, in the words of most of it."""
    most = max(words, key=lambda word: words[word])
    return Weight(sum(words.values()), not harmless[most], most)


def _weighed(edge: Edge, weights: dict[str, Weight], ends: dict[tuple[str, str], Weight]) -> Edge:
    if edge.kind is EdgeKind.WAIT:
        return replace(edge, weight=weights.get(edge.target))
    return replace(edge, weight=ends.get((edge.source, edge.target)) if edge.kind in _ENDS_WAITS else None)


def _cluster(cluster: Cluster, weights: dict[str, Weight], shares: dict[str, tuple[float, float, float]]) -> Cluster:
    members = tuple(
        replace(each, weight=weights.get(each.key)) if isinstance(each, Node) else _cluster(each, weights, shares)
        for each in cluster.members
    )
    return replace(cluster, members=members, shares=shares.get(cluster.key))


def _note(account: Account) -> str:
    launch, traced = account.launch, sorted({track.cta for track in account.launch.tracks})
    device = str(launch.device.get("title") or launch.device.get("name") or "")
    words = f"{launch.cycles:,} cycles on {device}" if device else f"{launch.cycles:,} cycles"
    if not account.ended:
        words += ", and it did not end"
    ctas = f"CTA {traced[0]}" if len(traced) == 1 else number_of(len(traced), "CTA")
    return f"{words}; shares of each warp group's time in {ctas}"
