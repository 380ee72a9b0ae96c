"""Rules about time that is neither products nor data: synchronization, prologue, epilogue."""

from __future__ import annotations

from collections.abc import Iterator

from tlxviz.analysis.account import Account
from tlxviz.analysis.attribution import GroupAttribution
from tlxviz.analysis.causes import Cause
from tlxviz.analysis.findings.finding import Finding, Severity, rule
from tlxviz.analysis.links import Activity
from tlxviz.analysis.phases import Phase

_SYNCHRONIZATION = 0.15
_OUTSIDE = 0.1
_IDLE = 0.9


@rule("synchronization")
def synchronization(account: Account) -> Iterator[Finding]:
    """Waking up, arriving and issuing are much of the critical path."""
    path = account.path
    if path is None or not path.cycles:
        return
    parts = [
        each for each in path.shares if each.activity in (Activity.HAND_OFF, Activity.ISSUE) and each.kind != "mma"
    ]
    share = sum(each.cycles for each in parts) / path.cycles
    if share < _SYNCHRONIZATION:
        return
    worst = parts[0]
    yield Finding(
        "synchronization",
        Severity.HINT,
        share,
        f"{share:.0%} of the critical path is issuing, arriving at barriers and waking up, most of it by {worst.agent}",
        "do more between two barriers: larger tiles, one barrier for two operands that come together, several steps of "
        "K for each slot, the next wait before the last arrival",
        worst.agent,
        worst.file,
        worst.line,
        {"on_path": share},
    )


@rule("epilogue")
def epilogue(account: Account) -> Iterator[Finding]:
    """Warp groups that multiply spend much time behind their main loop, and the tensor core waits."""
    yield from _outside(
        account,
        "epilogue",
        Cause.EPILOGUE,
        Phase.EPILOGUE,
        "behind its main loop",
        "let the next tile begin meanwhile: a persistent kernel with a warp group of its own for the epilogue, or with "
        "two consumers that work on different tiles; store by TMA, and wait for the stores only before their buffer is "
        "reused",
    )


@rule("prologue")
def prologue(account: Account) -> Iterator[Finding]:
    """Warp groups that multiply spend much time before their main loop."""
    yield from _outside(
        account,
        "prologue",
        Cause.PROLOGUE,
        Phase.PROLOGUE,
        "before its main loop",
        "more work for each CTA (a persistent kernel, larger K), or several CTAs an SM, of which one begins while "
        "another computes",
    )


_ASK_EARLIER = (
    "ask for the next tile before the main loop of this one, and keep several requests under way (each needs a "
    "slot for its answer), so that the answer is there when it is wanted"
)


def _outside(account: Account, id: str, cause: Cause, phase: Phase, where: str, advice: str) -> Iterator[Finding]:
    groups = account.multiplying()
    busy = account.utilisation.tensor_core
    worst = min(groups, key=lambda each: each.shares.get(cause, 0.0), default=None)
    # of several consumers the one with least of it: while the others are there, it multiplies
    if worst is None or (share := worst.shares.get(cause, 0.0)) < _OUTSIDE or (busy is not None and busy > _IDLE):
        return
    item = next((each for each in worst.items if each.phase is phase and each.line), None)
    if next((each.doing for each in worst.items if each.phase is phase), None) is Activity.LAUNCH_CONTROL:
        advice = _ASK_EARLIER
    yield Finding(
        id,
        Severity.HINT if share < 2 * _OUTSIDE else Severity.PROBLEM,
        share,
        f"{worst.name} spends {share:.0%} of its time {where}{_mostly(worst, phase)}",
        advice,
        worst.name,
        item.file if item else "",
        item.line if item else 0,
        {"share": share},
    )


def _mostly(group: GroupAttribution, phase: Phase) -> str:
    items = [each for each in group.items if each.phase is phase]
    if not items:
        return ""
    first = items[0]
    what = {
        Activity.ARITHMETIC: "arithmetic and stores without TMA",
        Activity.ISSUE: "issuing",
        Activity.HAND_OFF: "barriers",
        Activity.COPY_LATENCY: "waiting for copies",
        Activity.COPY_BANDWIDTH: "waiting for copies",
        Activity.PRODUCT: "products",
        Activity.TENSOR_MEMORY: "reading and writing tensor memory",
        Activity.LAUNCH_CONTROL: "asking for the next tile",
        Activity.UNKNOWN: "waits",
    }[first.doing]
    return f", most of it {what}"
