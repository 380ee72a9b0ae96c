"""Rules about data that come too late."""

from __future__ import annotations

from collections.abc import Iterator

from tlxviz.analysis.account import Account
from tlxviz.analysis.attribution import GroupAttribution, Item
from tlxviz.analysis.causes import Cause
from tlxviz.analysis.contributions import barriers_of_loads
from tlxviz.analysis.findings.finding import Finding, Severity, rule
from tlxviz.analysis.links import ACTIVITY_WORDS, Activity
from tlxviz.analysis.phases import Phase
from tlxviz.analysis.rings import Ring

_MUCH = 0.1
"""Share of a warp group's time from which a wait is worth a finding."""


_OF_PATH = 0.25
_STARVED = 0.1
_SPARE = 2
_STORES_ON_PATH = 0.05


@rule("ring-too-short")
def ring_too_short(account: Account) -> Iterator[Finding]:
    """A ring has fewer slots than it takes for its consumers never to wait, and they do wait."""
    for ring in _differing(account.rings):
        if ring.needed is None or ring.needed <= ring.depth:
            continue
        waiting, item = _waiting_for(account, ring)
        if item is None or waiting < _STARVED:
            continue
        yield Finding(
            "ring-too-short",
            Severity.PROBLEM,
            waiting,
            f"the ring of {ring.buffer} needs {ring.needed} slots and has {ring.depth}: {item.agent} waits "
            f"{waiting:.0%} of its time on {ring.full}",
            f"give it {ring.needed} slots ({ring.needed * ring.bytes:,} bytes of shared memory rather than "
            f"{ring.depth * ring.bytes:,}); where they do not fit, smaller tiles",
            item.agent,
            item.file,
            item.line,
            {"needed_slots": ring.needed, "allocated_slots": ring.depth, "waiting": waiting},
        )


@rule("ring-too-long")
def ring_too_long(account: Account) -> Iterator[Finding]:
    """A ring has slots to spare, whose shared memory something else could use."""
    for ring in _differing(account.rings):
        if ring.needed is None or ring.depth - ring.needed < _SPARE or ring.nothing_unread > _STARVED:
            continue
        spare = ring.depth - ring.needed
        yield Finding(
            "ring-too-long",
            Severity.NOTE,
            0.0,
            f"the ring of {ring.buffer} has {ring.depth} slots and would do with {ring.needed}",
            f"{spare * ring.bytes:,} bytes of shared memory could serve larger tiles, the epilogue or a second CTA",
            ", ".join(ring.consumers),
            evidence={"needed_slots": ring.needed, "allocated_slots": ring.depth},
        )


def _differing(rings: tuple[Ring, ...]) -> Iterator[Ring]:
    """Of rings of one buffer, as consumers with a part each have, the one that needs most."""
    by_buffer: dict[str, Ring] = {}
    for ring in rings:
        other = by_buffer.get(ring.buffer)
        if other is None or (ring.needed or 0) > (other.needed or 0):
            by_buffer[ring.buffer] = ring
    yield from by_buffer.values()


def _waiting_for(account: Account, ring: Ring) -> tuple[float, Item | None]:
    """Share of its time that a consumer waits for the ring, of the one that waits most, and where."""
    best: tuple[float, Item | None] = (0.0, None)
    for group in account.attribution:
        if group.name in ring.consumers:
            items = [item for item in group.items if item.variable == ring.full and item.cause in _FOR_DATA]
            share = sum(item.share for item in items)
            behind = sum(item.share for item in items if item.cause is Cause.COPY_BANDWIDTH)
            if items and share > best[0] and behind < share / 2:  # no depth helps where copies queue
                best = share, items[0]
    return best


_FOR_DATA = (Cause.COPY_LATENCY, Cause.COPY_BANDWIDTH, Cause.RING_EMPTY)


@rule("copy-latency")
def copy_latency(account: Account) -> Iterator[Finding]:
    """Consumers wait for copies that nothing holds up: they were issued too late."""
    group, share, item = _worst(account, Cause.COPY_LATENCY, stores=False)
    if group is None or item is None or any(ring_too_short(account)):
        return
    yield Finding(
        "copy-latency",
        Severity.PROBLEM,
        share,
        f"{group.name} waits {share:.0%} of its time for copies that nothing holds up, most of it for "
        f"{item.variable or 'data'}",
        "issue copies earlier: a ring with more slots lets the producer run further ahead; where shared memory is "
        "short, use smaller tiles, or keep an operand in registers",
        group.name,
        item.file,
        item.line,
        {"waiting": share},
    )


@rule("copy-bandwidth")
def copy_bandwidth(account: Account) -> Iterator[Finding]:
    """Consumers wait for copies that stand behind others."""
    group, share, item = _worst(account, Cause.COPY_BANDWIDTH, stores=False)
    tma = account.utilisation.tma
    evidence = {"tma_busy": tma} if tma is not None else {}
    path = account.path
    copies = [each for each in path.shares if each.activity is Activity.COPY_BANDWIDTH] if path is not None else []
    on_path = sum(each.share for each in copies)
    if on_path >= _OF_PATH:
        # consumers that are just as fast wait for little but the hand-off
        name, file, line = copies[0].agent, copies[0].file, copies[0].line
        share, evidence = on_path, evidence | {"on_path": on_path}
        what = f"{on_path:.0%} of the critical path is copies that stand behind other copies, most of them of {name}"
    elif group is not None and item is not None:
        name, file, line, evidence = group.name, item.file, item.line, evidence | {"waiting": share}
        what = f"{name} waits {share:.0%} of its time for copies that stand behind other copies"
    else:
        return
    yield Finding(
        "copy-bandwidth",
        Severity.PROBLEM,
        share,
        f"{what}: more bytes are asked for than the TMA engine or memory moves",
        "move fewer bytes for each product: larger tiles, an operand that stays in shared memory, multicast in a "
        "cluster; or an order of tiles that hits L2",
        name,
        file,
        line,
        evidence,
    )


@rule("producer-late")
def producer_late(account: Account) -> Iterator[Finding]:
    """Consumers wait for data that nobody has asked for yet, since the producer was busy otherwise."""
    group, share, item = _worst(account, Cause.RING_EMPTY)
    if group is None or item is None:
        return
    who, variable = item.culprit or "the producer", item.variable or "data"
    if item.kind != "wait" or not item.variable or item.variable in barriers_of_loads(account.launch).values():
        text = f"for {variable} before the copy has been issued: {who} is late"
        advice = (
            "give the producer less to do between two copies, or a warp group of its own for each operand; if it is "
            "itself waiting for free slots, the ring is too short"
        )
    else:
        doing = ACTIVITY_WORDS[item.doing]
        text = f"for what others bring, most of it at {variable}: {who} is late ({doing})"
        advice = f"give {who} less to do before it arrives there, or let it arrive for each part of its work"
    yield Finding(
        "producer-late",
        Severity.PROBLEM,
        share,
        f"{group.name} waits {share:.0%} of its time {text}",
        advice,
        group.name,
        item.file,
        item.line,
        {"waiting": share},
    )


@rule("store-wait")
def store_wait(account: Account) -> Iterator[Finding]:
    """A warp group waits for its stores to have read their source, and that is on the critical path."""
    path = account.path
    if path is None or not path.cycles:
        return
    waiting = {each.name: sum(item.share for item in each.items if _of_stores(item)) for each in account.attribution}
    group = max(account.attribution, key=lambda each: waiting[each.name], default=None)
    on_path = sum(each.cycles for each in path.shares if each.kind == "tma_store") / path.cycles
    if group is None or waiting[group.name] < _MUCH or on_path < _STORES_ON_PATH:
        return
    item = next(item for item in group.items if _of_stores(item))
    yield Finding(
        "store-wait",
        Severity.HINT,
        on_path,
        f"{group.name} waits {waiting[group.name]:.0%} of its time until its stores have read their source, and stores "
        f"are {on_path:.0%} of the critical path",
        "wait for a store only before its buffer is written again, and let two buffers take turns, so that one is read "
        "by the store while the other is written",
        group.name,
        item.file,
        item.line,
        {"waiting": waiting[group.name], "on_path": on_path},
    )


def _of_stores(item: Item) -> bool:
    return item.kind == "tma_store_wait"


def _worst(
    account: Account, cause: Cause, *, stores: bool = True
) -> tuple[GroupAttribution | None, float, Item | None]:
    """The warp group that loses most to a cause, if it is much, and the item with most of it.

    Args:
        stores: Whether waits for stores count.
    """

    def lost(group: GroupAttribution) -> float:
        in_loop = (
            item.share for item in group.items if _of_stores(item) and item.cause is cause and item.phase is Phase.LOOP
        )
        return group.shares.get(cause, 0.0) - (0.0 if stores else sum(in_loop))

    group = max(account.attribution, key=lost, default=None)
    if group is None or (share := lost(group)) < _MUCH:
        return None, 0.0, None
    chosen = (item for item in group.items if item.cause is cause and (stores or not _of_stores(item)))
    return group, share, next(chosen, None)
