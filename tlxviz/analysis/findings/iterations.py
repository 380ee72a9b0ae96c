"""Rules about the steady state."""

from __future__ import annotations

from collections.abc import Iterator

from tlxviz.analysis.account import Account
from tlxviz.analysis.findings.finding import Finding, Severity, rule

_MANY = 0.05
"""Share of a warp group's steady part that odd iterations take longer, from which they matter."""


@rule("odd-iterations")
def odd_iterations(account: Account) -> Iterator[Finding]:
    """Some iterations take much longer than the others."""
    multiplying = {group.name for group in account.multiplying()}
    for state in account.steady.values():
        if state is None or state.agent not in multiplying or not state.odd:
            continue
        longer = sum(max(0.0, each.excess) for each in state.odd)
        share = longer / max(1, state.end - state.begin)
        if share < _MANY:
            continue
        worst = state.odd[0]
        reason = worst.reasons[0] if worst.reasons else None
        why = f", most of it at line {reason.line}" if reason is not None and reason.line else ""
        yield Finding(
            "odd-iterations",
            Severity.HINT,
            share,
            f"{state.odd_count} of {state.iterations} iterations of {state.agent} differ from the others: iteration "
            f"{worst.inner} takes {worst.cycles:,} cycles rather than {state.intervals.median:,.0f}{why}",
            "look at these iterations on the timeline: a cold L2, a tile at an edge, or another kernel beside",
            state.agent,
            reason.file if reason is not None else "",
            reason.line if reason is not None else 0,
            {"odd": state.odd_count, "interval_cycles": state.intervals.median, "worst_cycles": worst.cycles},
        )
