"""Kernels that do the same in different ways: what each unit and each phase takes, by the FLOP."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from tlxviz.analysis.causes import Cause
from tlxviz.analysis.difference_launch import LaunchFacts
from tlxviz.analysis.shares import group_shares
from tlxviz.analysis.utilisation import coverage, utilisation
from tlxviz.trace.model import LaunchTrace


@dataclass(frozen=True, slots=True)
class UnitDifference:
    """A unit, a kind of work or a phase in both launches; None where the recorder did not count it."""

    name: str
    """`launch`, `tensor_core`, `tma`; `arithmetic`, `issue`, `waiting` of all warps together; `prologue`, `main_loop`,
    `epilogue` of the warp groups that issue products; `tma_load_bytes` and so on."""
    unit: str
    """`cycles`, of the launch, or `bytes`, of all SMs."""
    a: float | None
    b: float | None
    share_a: float | None
    """Of the launch's cycles; None for bytes."""
    share_b: float | None


@dataclass(frozen=True, slots=True)
class Units:
    per_gflop: bool
    """Figures are for 10^9 FLOP; false where those of a launch are not known: then for the launch."""
    units: tuple[UnitDifference, ...]


_BYTES = ("tma_load_bytes", "tma_store_bytes", "global_load_bytes", "global_store_bytes")


def units(a: tuple[LaunchTrace, LaunchFacts], b: tuple[LaunchTrace, LaunchFacts]) -> Units:
    """Both launches by unit and phase."""
    per_gflop = a[0].flop > 0 and b[0].flop > 0
    sides = [(_shares(*each), _bytes(each[0])) for each in (a, b)]
    per = [each[0].flop / 1e9 if per_gflop else 1.0 for each in (a, b)]
    cycles = [each[0].cycles / work for each, work in zip((a, b), per, strict=True)]
    found: list[UnitDifference] = []
    for name in sides[0][0]:
        first, second = sides[0][0][name], sides[1][0][name]
        values = _times(first, cycles[0]), _times(second, cycles[1])
        found.append(UnitDifference(name, "cycles", values[0], values[1], first, second))
    for name in _BYTES:
        first, second = sides[0][1][name], sides[1][1][name]
        if first or second:
            found.append(
                UnitDifference(name, "bytes", _times(first, 1 / per[0]), _times(second, 1 / per[1]), None, None)
            )
    return Units(per_gflop, tuple(found))


def _times(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor


def _shares(launch: LaunchTrace, facts: LaunchFacts) -> dict[str, float | None]:
    used = utilisation(launch)
    of_launch = (used.sm_cycles or 0) / launch.cycles if launch.cycles else 0.0
    shares: dict[str, float | None] = {
        "launch": 1.0,
        "tensor_core": _times(used.tensor_core, of_launch),
        "tma": _times(used.tma, of_launch),
    }
    totals = facts.account.totals
    traced = [
        each
        for each in group_shares(launch, facts.account.groups, facts.account.lives, totals)
        if each.shares is not None
    ]
    weights = [each.cycles * max(1, each.warps) for each in traced]
    for name, field in (("arithmetic", "busy"), ("issue", "issue"), ("waiting", "wait")):
        parts = [getattr(each.shares, field) for each in traced]
        shares[name] = _mean(parts, weights)
    multiplying = {launch.agents[site.agent].name for site in launch.sites if site.kind == "mma" and site.agent >= 0}
    doing = [
        each for each in facts.account.attribution if each.cycles and (not multiplying or each.name in multiplying)
    ]
    for name, cause in (("prologue", Cause.PROLOGUE), ("epilogue", Cause.EPILOGUE)):
        shares[name] = _mean([each.shares.get(cause, 0.0) for each in doing], [each.cycles for each in doing])
    before, after = shares["prologue"], shares.pop("epilogue")
    shares["main_loop"] = None if before is None or after is None else 1 - before - after
    return shares | {"epilogue": after}


def _mean(values: list[float], weights: list[int]) -> float | None:
    total = sum(weights)
    return sum(value * weight for value, weight in zip(values, weights, strict=True)) / total if total else None


def _bytes(launch: LaunchTrace) -> dict[str, float | None]:
    """Bytes of all SMs that the launch's CTAs fit on, of which one was counted."""
    seen, used = coverage(launch), utilisation(launch)
    limits: object = launch.device.get("limits")
    sms: object = cast("dict[str, object]", limits).get("sms") if isinstance(limits, dict) else None
    if seen.ctas is None or not isinstance(sms, int):
        return dict.fromkeys(_BYTES)
    busy = min(sms, -(-seen.ctas // (seen.ctas_per_sm or 1)))
    return {name: None if (moved := getattr(used, name)) is None else float(moved) * busy for name in _BYTES}
