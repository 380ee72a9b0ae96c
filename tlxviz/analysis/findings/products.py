"""Rules about the tensor core."""

from __future__ import annotations

from collections.abc import Iterator

from tlxviz.analysis.account import Account
from tlxviz.analysis.causes import Cause
from tlxviz.analysis.findings.finding import Finding, Severity, rule
from tlxviz.analysis.links import Activity

_BUSY = 0.85
"""Share of its time from which a tensor core counts as busy; between the waits of a pipeline some gaps remain."""
_IDLE = 0.7
_ARITHMETIC = 0.25
_PRODUCTS = 0.15


_IN_SHARED_MEMORY = "operands in shared memory are issued faster than those in registers"
_LARGER = "larger products are issued in no more time: up to 256 columns, and 256 rows by a pair of CTAs"


def _in_tensor_memory(account: Account) -> bool:
    """Whether sums are in tensor memory, as those of `tcgen05` are."""
    return any(site.kind == "mma" and site.text.startswith("ttng.tc_gen5") for site in account.launch.sites)


@rule("tensor-core-busy")
def tensor_core_busy(account: Account) -> Iterator[Finding]:
    """The tensor core has nearly nothing left to give."""
    busy = account.utilisation.tensor_core
    if busy is None or busy < _BUSY:
        return
    yield Finding(
        "tensor-core-busy",
        Severity.NOTE,
        busy,
        f"the tensor core computes {busy:.0%} of the time",
        "little is left to gain but fewer or cheaper products: a narrower type, no padding, no recomputation",
        evidence={"tensor_core_busy": busy},
    )


@rule("no-ping-pong")
def no_ping_pong(account: Account) -> Iterator[Finding]:
    """Warp groups both multiply and compute, and the tensor core idles while they compute."""
    busy = account.utilisation.tensor_core
    groups = account.multiplying()
    if busy is None or busy >= _IDLE or not groups:
        return
    taking_turns = any(site.kind == "named_wait" for site in account.launch.sites)
    if taking_turns or any(group.shares.get(Cause.PARTNER, 0.0) > 0 for group in groups):
        return
    computing = [group for group in groups if group.shares.get(Cause.ARITHMETIC, 0.0) >= _ARITHMETIC]
    path = account.path
    if not computing or path is None or not path.cycles:
        return
    if not any(site.kind == "tma_load" for site in account.launch.sites):
        return  # what it computes may be addresses
    on_path = path.activities.get(Activity.ARITHMETIC, 0) / path.cycles
    products = path.activities.get(Activity.PRODUCT, 0) + path.activities.get(Activity.ISSUE, 0)
    if on_path < _ARITHMETIC or products / path.cycles < _PRODUCTS:
        return
    worst = max(computing, key=lambda group: group.shares[Cause.ARITHMETIC])
    line = next((item for item in worst.items if item.doing is Activity.PRODUCT or item.kind == "mma"), None)
    yield Finding(
        "no-ping-pong",
        Severity.PROBLEM,
        min(on_path, 1 - busy),
        f"{worst.name} computes {worst.shares[Cause.ARITHMETIC]:.0%} of its time, and the tensor core works only "
        f"{busy:.0%}: arithmetic and products follow each other, rather than overlap",
        "let two warp groups take turns (ping-pong): by named barriers one computes while the other's products run",
        worst.name,
        line.file if line else "",
        line.line if line else 0,
        {"tensor_core_busy": busy, "arithmetic": worst.shares[Cause.ARITHMETIC], "arithmetic_on_path": on_path},
    )


@rule("arithmetic")
def arithmetic(account: Account) -> Iterator[Finding]:
    """Arithmetic of consumers is on the critical path."""
    path = account.path
    if path is None or not path.cycles:
        return
    shares = [each for each in path.shares if each.activity is Activity.ARITHMETIC]
    worst = max(shares, key=lambda each: each.cycles, default=None)
    if worst is None or worst.share < _ARITHMETIC:
        return
    loads = not any(site.kind == "tma_load" for site in account.launch.sites)
    advice = (
        "leave addresses and copies to TMA and a producer of its own"
        if loads
        else "do less of it for each element, in packed or cheaper instructions, or in another warp group beside the "
        "products"
    )
    yield Finding(
        "arithmetic",
        Severity.HINT,
        worst.share,
        f"what {worst.agent} does between its events is {worst.share:.0%} of the critical path"
        + (": arithmetic, addresses and loads without TMA" if loads else ""),
        advice,
        worst.agent,
        evidence={"on_path": worst.share},
    )


@rule("issuing-products")
def issuing_products(account: Account) -> Iterator[Finding]:
    """Issuing products takes long by itself: their operands come from registers, or each is small."""
    path = account.path
    if path is None or not path.cycles:
        return
    parts = [each for each in path.shares if each.activity is Activity.ISSUE and each.kind == "mma"]
    share = sum(each.cycles for each in parts) / path.cycles
    if share < _PRODUCTS:
        return
    yield Finding(
        "issuing-products",
        Severity.HINT,
        share,
        f"{share:.0%} of the critical path is issuing products, most of it by {parts[0].agent}",
        "let products be under way while their warp group goes on: issue the next before waiting for the last; "
        + (_LARGER if _in_tensor_memory(account) else _IN_SHARED_MEMORY),
        parts[0].agent,
        parts[0].file,
        parts[0].line,
        {"on_path": share},
    )
