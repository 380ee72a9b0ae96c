"""What a comparison needs to know of one launch, worked out once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from tlxviz.analysis.account import Account
from tlxviz.analysis.path import CriticalPath
from tlxviz.trace.model import LaunchTrace


@dataclass(frozen=True, slots=True)
class LaunchFacts:
    account: Account
    """What the report of the launch is made of, too."""
    rounds: int
    """CTAs that the critical path leads through, one after the other."""
    waves: int | None
    """Rounds that the grid takes; None where the recorder did not say."""
    waves_cycles: int
    """SM cycles before and after the traced CTAs in which CTAs run that were not traced: each is taken to be as long as
    the traced ones are on average."""
    launch_cycles: int
    """SM cycles of the launch itself: from its start to the first CTA, and the device's own figure for its end."""


def launch_facts(launch: LaunchTrace) -> LaunchFacts:
    """Everything about one launch that is compared."""
    account = Account(launch)
    path = account.path
    waves = _waves(launch)
    rounds = len(path.ctas) if path is not None else 0
    in_waves, in_launch = _outside(launch, path, waves)
    return LaunchFacts(account, rounds, waves, in_waves, in_launch)


def _waves(launch: LaunchTrace) -> int | None:
    value = launch.statistics.get("waves")
    return round(value) if isinstance(value, int | float) and value > 0 else None


def _outside(launch: LaunchTrace, path: CriticalPath | None, waves: int | None) -> tuple[int, int]:
    """Of the cycles that are in no traced CTA: those of other waves, and those of the launch itself."""
    if path is None:
        return 0, 0
    rounds = len(path.ctas)
    traced = path.cycles - path.start - path.rest
    missing = max(0, (waves or rounds) - rounds)
    in_waves = min(path.start + path.rest, round(missing * traced / rounds))
    end = _kernel_cycles(launch)
    if in_waves:
        return in_waves, min(path.start + path.rest - in_waves, end)
    return 0, path.start + min(path.rest, end)


def _kernel_cycles(launch: LaunchTrace) -> int:
    """What the device's figures say that a launch takes besides its CTAs."""
    figures: object = launch.device.get("launch")
    ns = cast("dict[str, Any]", figures).get("kernel_ns") if isinstance(figures, dict) else None
    return round(ns * launch.clock_mhz / 1000) if isinstance(ns, int | float) else 0
