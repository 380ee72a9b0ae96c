"""What holds a kernel, in one sentence."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tlxviz.analysis.account import Account
from tlxviz.analysis.links import Activity
from tlxviz.analysis.path import CriticalPath, PathShare
from tlxviz.analysis.roofline import MEMORY, Roof


class Bound(StrEnum):
    """What the most of the critical path is."""

    TENSOR_CORE = "tensor_core"
    COPY_LATENCY = "copy_latency"
    COPY_BANDWIDTH = "copy_bandwidth"
    ARITHMETIC = "arithmetic"
    TENSOR_MEMORY = "tensor_memory"
    ISSUE = "issuing_products"
    NEXT_TILE = "next_tile"
    SYNCHRONIZATION = "synchronization"
    LAUNCH = "launch"
    REST = "rest"
    """CTAs that were not traced: those after the last traced one, or on other SMs."""
    MEMORY = "memory"
    """A kernel without TMA or products that moves what memory gives it: its loads are no events."""
    UNKNOWN = "unknown"


_BOUNDS = {
    Activity.PRODUCT: Bound.TENSOR_CORE,
    Activity.COPY_LATENCY: Bound.COPY_LATENCY,
    Activity.COPY_BANDWIDTH: Bound.COPY_BANDWIDTH,
    Activity.ARITHMETIC: Bound.ARITHMETIC,
    Activity.ISSUE: Bound.SYNCHRONIZATION,
    Activity.HAND_OFF: Bound.SYNCHRONIZATION,
    Activity.TENSOR_MEMORY: Bound.TENSOR_MEMORY,
    Activity.LAUNCH_CONTROL: Bound.NEXT_TILE,
    Activity.UNKNOWN: Bound.UNKNOWN,
}
_WORDS = {
    Bound.TENSOR_CORE: "The tensor core holds it",
    Bound.COPY_LATENCY: "The latency of copies holds it",
    Bound.COPY_BANDWIDTH: "The bandwidth of copies holds it",
    Bound.ARITHMETIC: "A warp group's own work holds it",
    Bound.TENSOR_MEMORY: "Tensor memory holds it",
    Bound.ISSUE: "Issuing products holds it",
    Bound.NEXT_TILE: "Asking for the next tile holds it",
    Bound.SYNCHRONIZATION: "Handing work over holds it",
    Bound.LAUNCH: "Launching it takes longest",
    Bound.REST: "Most of it was not traced",
    Bound.MEMORY: "Memory holds it",
    Bound.UNKNOWN: "What holds it was not recorded",
}
_WHAT = {
    Bound.TENSOR_CORE: "products",
    Bound.COPY_LATENCY: "copies that nothing holds up",
    Bound.COPY_BANDWIDTH: "copies behind other copies",
    Bound.ARITHMETIC: "arithmetic and loads without TMA",
    Bound.TENSOR_MEMORY: "warp groups that read and write it",
    Bound.ISSUE: "issuing products",
    Bound.NEXT_TILE: "answers of the block scheduler",
    Bound.SYNCHRONIZATION: "arriving, issuing and waking up",
    Bound.LAUNCH: "launching, and starting CTAs",
    Bound.REST: "after the last traced CTA",
    Bound.MEMORY: "arithmetic and loads without TMA",
    Bound.UNKNOWN: "waits of which nobody recorded what ended them",
}
_WORTH_NAMING = 0.1
_END_CYCLES = 5000
"""What the end of a launch may take; what is longer is CTAs that were not traced."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Shares are of the critical path, which is as long as the launch."""

    bound: Bound
    share: float
    shares: dict[Bound, float]
    """All of them, largest first."""
    agent: str
    """The warp group with most of it."""
    file: str
    line: int
    """Where most of it is; 0 where it has no line, as arithmetic."""
    sentence: str


def verdict(account: Account) -> Verdict | None:
    """What holds a launch; None if nothing of it was traced, or it did not end."""
    path = account.path
    if path is None or not account.ended or not path.cycles:
        return None
    shares = _shares(path)
    bound = next(iter(shares))
    if (memory := _memory(account, bound)) is not None:
        return Verdict(Bound.MEMORY, memory.share, shares, "", "", 0, _of_memory(memory))
    most = _most(path, bound)
    sentence = f"{_WORDS[bound]}: {shares[bound]:.0%} of the critical path is {_WHAT[bound]}"
    if most is not None and bound is not Bound.LAUNCH:
        sentence += f", most of it {'issued ' if bound in _ENGINES else ''}by {most.agent}"
        sentence += f" (line {most.line})" if most.line else ""
    second = [f"{_WHAT[each]} {share:.0%}" for each, share in list(shares.items())[1:3] if share >= _WORTH_NAMING]
    sentence += f"; {', '.join(second)}" if second else ""
    agent, file, line = (most.agent, most.file, most.line) if most is not None else ("", "", 0)
    return Verdict(bound, shares[bound], shares, agent, file, line, sentence + ".")


def _memory(account: Account, bound: Bound) -> Roof | None:
    """The roof that holds a kernel whose loads are no events, or that ends later than its SMs alone would."""
    roofs = account.roofline
    if bound not in (Bound.ARITHMETIC, Bound.REST) or roofs is None or roofs.bound_by not in (*MEMORY, "load_store"):
        return None
    return next((roof for roof in roofs.roofs if roof.name == roofs.bound_by), None)


def _of_memory(roof: Roof) -> str:
    if roof.name == "load_store":
        return f"Memory holds it: the SM's path to it is busy {roof.share:.0%} of the time."
    name = {"dram": "DRAM", "l2": "L2"}[roof.name]
    return (
        f"Memory holds it: {roof.reached / 1e12:.3g} TB/s, {roof.share:.0%} of what {name} gives "
        f"({roof.ceiling / 1e12:.3g} TB/s)."
    )


_ENGINES = (Bound.TENSOR_CORE, Bound.COPY_LATENCY, Bound.COPY_BANDWIDTH)


def _shares(path: CriticalPath) -> dict[Bound, float]:
    cycles = dict.fromkeys(Bound, 0)
    for each in path.shares:
        cycles[_bound(each)] += each.cycles
    cycles[Bound.LAUNCH] += path.start + path.between
    cycles[Bound.REST if path.rest > _END_CYCLES else Bound.LAUNCH] += path.rest
    ranking = sorted((item for item in cycles.items() if item[1]), key=lambda item: -item[1])
    return {bound: count / path.cycles for bound, count in ranking} or {Bound.UNKNOWN: 1.0}


def _most(path: CriticalPath, bound: Bound) -> PathShare | None:
    return next((each for each in path.shares if _bound(each) is bound), None)


def _bound(share: PathShare) -> Bound:
    if share.activity is Activity.ISSUE and share.kind == "mma":
        return Bound.ISSUE
    return _BOUNDS[share.activity]
