"""Rules about data that come too late."""

from __future__ import annotations

from collections.abc import Iterator

from tlxviz.analysis.account import Account
from tlxviz.analysis.attribution import Cause, GroupAttribution, Item
from tlxviz.analysis.findings.finding import Finding, Severity, rule

_MUCH = 0.1
"""Share of a warp group's time from which a wait is worth a finding."""


@rule("copy-latency")
def copy_latency(account: Account) -> Iterator[Finding]:
    """Consumers wait for copies that nothing holds up: they were issued too late."""
    group, share, item = _worst(account, Cause.COPY_LATENCY)
    if group is None or item is None:
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
    group, share, item = _worst(account, Cause.COPY_BANDWIDTH)
    if group is None or item is None:
        return
    tma = account.utilisation.tma
    evidence = {"waiting": share} | ({"tma_busy": tma} if tma is not None else {})
    yield Finding(
        "copy-bandwidth",
        Severity.PROBLEM,
        share,
        f"{group.name} waits {share:.0%} of its time for copies that stand behind other copies: more bytes are asked "
        "for than the TMA engine or memory moves",
        "move fewer bytes for each product: larger tiles, an operand that stays in shared memory, multicast in a "
        "cluster; or an order of tiles that hits L2",
        group.name,
        item.file,
        item.line,
        evidence,
    )


@rule("producer-late")
def producer_late(account: Account) -> Iterator[Finding]:
    """Consumers wait for data that nobody has asked for yet, since the producer was busy otherwise."""
    group, share, item = _worst(account, Cause.RING_EMPTY)
    if group is None or item is None:
        return
    yield Finding(
        "producer-late",
        Severity.PROBLEM,
        share,
        f"{group.name} waits {share:.0%} of its time for {item.variable or 'data'} before the copy has been issued: "
        f"{item.culprit or 'the producer'} is late",
        "give the producer less to do between two copies, or a warp group of its own for each operand; if it is itself "
        "waiting for free slots, the ring is too short",
        group.name,
        item.file,
        item.line,
        {"waiting": share},
    )


def _worst(account: Account, cause: Cause) -> tuple[GroupAttribution | None, float, Item | None]:
    """The warp group that loses most to a cause, if it is much, and the item with most of it."""
    group = max(account.attribution, key=lambda each: each.shares.get(cause, 0.0), default=None)
    if group is None or (share := group.shares.get(cause, 0.0)) < _MUCH:
        return None, 0.0, None
    return group, share, next((item for item in group.items if item.cause is cause), None)
