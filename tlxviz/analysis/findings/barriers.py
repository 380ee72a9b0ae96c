"""Barriers that the compiler put into loops."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tlxviz.analysis.account import Account
from tlxviz.analysis.barriers import AddedBarrier
from tlxviz.analysis.findings.finding import Finding, Severity, rule
from tlxviz.analysis.steady import SteadyState

_MUCH = 0.05
"""Share of an iteration from which barriers in it are worth a word."""
_MOSTLY = 0.5
"""Share of an iteration that a warp group waits for others: if it is more, it loses little by meeting."""
_IDLE = 0.7
"""Share of its time below which a tensor core has room for what the barriers hold up."""
_ADVICE: tuple[tuple[frozenset[str], str], ...] = (
    (
        frozenset({"ttng.arrive_barrier"}),
        "`tlx.alloc_warp_barrier`, at which warps arrive without meeting, or one barrier for several buffers",
    ),
    (
        frozenset({"ttg.async_copy_global_to_local", "ttg.async_wait"}),
        "copies by TMA, which one thread issues and an mbarrier waits for",
    ),
    (
        frozenset({"tt.reduce", "tt.scan", "ttg.convert_layout", "ttg.local_store", "ttg.local_load"}),
        "fewer values that threads exchange: reductions over what a thread or a warp has, fewer changes of layout",
    ),
)
"""What the TTGIR has beside the barriers, and what to do about it; the first that fits is said."""
_OTHER = "less in the loop that all threads of the warp group have to have done before it goes on"


@dataclass(frozen=True, slots=True)
class _Meetings:
    """Of the threads of a warp group, in a loop."""

    loop: int
    threads: int
    count: int
    lines: tuple[int, ...]
    beside: frozenset[str]


@rule("barriers-in-loop")
def barriers_in_loop(account: Account) -> Iterator[Finding]:
    """A warp group whose threads meet in its innermost loop, unasked, for much of an iteration.

    Not where the tensor core, or others, set the pace: then the warp group waits less for them instead.
    """
    sync = account.launch.device.get("sync", {})
    base, per_warp = sync.get("block_barrier_base"), sync.get("block_barrier_per_warp")
    made = account.compiled
    busy = account.utilisation.tensor_core
    if made is None or base is None or per_warp is None or (busy is not None and busy >= _IDLE):
        return
    alike: dict[_Meetings, list[SteadyState]] = {}
    for name, steady in account.steady.items():
        meetings = _meetings(made.added or (), name)
        if steady is not None and meetings is not None:
            alike.setdefault(meetings, []).append(steady)
    for meetings, states in alike.items():
        cycles = meetings.count * (base + per_warp * meetings.threads // 32)
        held = [each for each in states if each.wait < _MOSTLY * each.intervals.median]
        share = min(1.0, max((cycles / each.intervals.median for each in held), default=0.0))
        if share < _MUCH:
            continue
        times = "once" if meetings.count == 1 else f"{meetings.count} times"
        lines = f"line{'s' if len(meetings.lines) > 1 else ''} {', '.join(str(line or '?') for line in meetings.lines)}"
        yield Finding(
            "barriers-in-loop",
            Severity.HINT,
            share,
            f"in each iteration all {meetings.threads} threads meet {times}, as nobody asked them to: {lines}; "
            f"that takes {share:.0%} of it",
            next((advice for reasons, advice in _ADVICE if reasons & meetings.beside), _OTHER),
            ", ".join(each.agent for each in held),
            account.launch.source_file,
            meetings.loop,
            {"barriers": meetings.count, "barrier_cycles": cycles, "iteration_share": share},
        )


def _meetings(added: Iterable[AddedBarrier], name: str) -> _Meetings | None:
    """Of the innermost loop in which the warp group meets most often."""
    loops: dict[int, list[AddedBarrier]] = {}
    for each in added:
        if name in each.agents and each.innermost and each.operation in ("bar.sync", "barrier.sync"):
            loops.setdefault(each.loop, []).append(each)
    found = [
        _Meetings(
            loop,
            barriers[0].threads,
            sum(each.count for each in barriers),
            tuple(sorted({each.line for each in barriers})),
            frozenset(name for each in barriers for name in each.beside),
        )
        for loop, barriers in loops.items()
    ]
    return max((each for each in found if each.threads > 32), key=lambda each: each.count, default=None)
