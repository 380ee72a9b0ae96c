"""Rules about warp groups that wait for each other."""

from __future__ import annotations

from collections.abc import Iterator

from tlxviz.analysis.account import Account
from tlxviz.analysis.causes import Cause
from tlxviz.analysis.findings.finding import Finding, Severity, rule

_PARTNER = 0.1
_FULL = 0.25


@rule("partner")
def partner(account: Account) -> Iterator[Finding]:
    """Warp groups stand at a named barrier until others come."""
    group = max(account.attribution, key=lambda each: each.shares.get(Cause.PARTNER, 0.0), default=None)
    if group is None or (share := group.shares.get(Cause.PARTNER, 0.0)) < _PARTNER:
        return
    item = next(item for item in group.items if item.cause is Cause.PARTNER)
    yield Finding(
        "partner",
        Severity.HINT,
        share,
        f"{group.name} stands {share:.0%} of its time at a named barrier until {item.culprit or 'the others'} come",
        "where warp groups take turns, the longer turn sets the pace: give both the same work, or move the barrier so "
        "that only the part that has to be alone is",
        group.name,
        item.file,
        item.line,
        {"waiting": share},
    )


@rule("consumer-late")
def consumer_late(account: Account) -> Iterator[Finding]:
    """The producer is ahead, as it should be; what the consumers do meanwhile is what counts."""
    group = max(account.attribution, key=lambda each: each.shares.get(Cause.RING_FULL, 0.0), default=None)
    if group is None or (share := group.shares.get(Cause.RING_FULL, 0.0)) < _FULL:
        return
    items = [item for item in group.items if item.cause is Cause.RING_FULL]
    late: dict[str, float] = {}
    for item in items:
        late[item.culprit] = late.get(item.culprit, 0.0) + item.share
    names = [name for name, _ in sorted(late.items(), key=lambda each: -each[1]) if name]
    starved = any(
        each.shares.get(cause, 0.0) >= _PARTNER
        for each in account.attribution
        for cause in (Cause.COPY_LATENCY, Cause.RING_EMPTY)
        if each is not group
    )
    if starved:
        return  # both wait for each other: the ring is too short, which other rules say
    yield Finding(
        "consumer-late",
        Severity.NOTE,
        0.0,
        f"{group.name} waits {share:.0%} of its time for free slots: it is ahead of "
        f"{' and '.join(names) or 'its consumers'}",
        "nothing is wrong with the producer: fewer registers for it, or fewer slots, cost no time",
        group.name,
        items[0].file,
        items[0].line,
        {"waiting": share},
    )
