"""What a launch did, in the facts that the report prints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tlxviz.analysis.account import Account
from tlxviz.analysis.across import Across, across
from tlxviz.analysis.findings import Finding, findings
from tlxviz.analysis.hang import Hang, hang_of
from tlxviz.analysis.probing import Probing, probing
from tlxviz.analysis.ranges import Range, RangesAmiss, ranges, ranges_amiss
from tlxviz.analysis.shares import GroupShares, group_shares
from tlxviz.analysis.strip import Strip
from tlxviz.analysis.utilisation import Coverage, Utilisation
from tlxviz.analysis.verdict import Verdict, verdict
from tlxviz.analysis.waits import Wait, worst_waits
from tlxviz.trace.model import LaunchTrace


@dataclass(frozen=True, slots=True)
class Summary:
    kernel: str
    grid: tuple[int, int, int]
    config: Mapping[str, Any]
    """Arguments and meta-parameters by name."""
    device: str
    """The device's title, `NVIDIA H200 SXM`."""
    recorder: str
    """`simulated` or `measured`."""
    probing: Probing | None
    """What measuring cost; None for a simulated launch."""
    clock_mhz: float
    cycles: int
    """SM cycles of the whole launch; up to the hang or the interruption where it never ended."""
    time_ns: float | None
    """`cycles` at `clock_mhz`; None for a launch that did not end."""
    tflops: float | None
    """TFLOP/s; None where the operations are not known or the launch did not end."""
    complete: bool
    """False when recording was interrupted, or records are missing."""
    verdict: Verdict | None
    """What holds it; None for a launch that did not end, or of which nothing was traced."""
    findings: tuple[Finding, ...]
    """Problems first."""
    coverage: Coverage
    groups: tuple[GroupShares, ...]
    waits: tuple[Wait, ...]
    """The worst, longest first."""
    ranges: tuple[Range, ...]
    """What the kernel's author named, by warp group."""
    ranges_amiss: RangesAmiss
    utilisation: Utilisation
    strip: Strip | None
    hang: Hang | None
    across: Across | None
    """What crosses CTAs; None without clusters."""


def summarise(source: LaunchTrace | Account, *, strip_columns: int = 60, worst: int = 5) -> Summary:
    """Sum a launch up.

    Args:
        source: The launch, or what is known of it so far.
        strip_columns: Columns of the steady-state strip.
        worst: How many waits to list.
    """
    account = source if isinstance(source, Account) else Account(source)
    launch, groups = account.launch, account.groups
    time_ns = launch.cycles * 1000 / launch.clock_mhz if account.ended and launch.clock_mhz > 0 else None
    return Summary(
        kernel=launch.kernel,
        grid=launch.grid,
        config=launch.arguments,
        device=str(launch.device.get("title") or launch.device.get("name") or "an unknown device"),
        recorder=str(launch.provenance.get("recorder", "recorded")),
        probing=probing(launch),
        clock_mhz=launch.clock_mhz,
        cycles=launch.cycles,
        time_ns=time_ns,
        tflops=launch.flop / time_ns / 1000 if time_ns and launch.flop else None,
        complete=launch.complete,
        verdict=verdict(account),
        findings=findings(account),
        coverage=account.coverage,
        groups=group_shares(launch, groups, account.lives, account.totals),
        waits=worst_waits(launch, groups, account.lives, account.totals, account.sums.releases, limit=worst),
        ranges=ranges(launch, groups),
        ranges_amiss=ranges_amiss(launch),
        utilisation=account.utilisation,
        strip=account.strip(strip_columns),
        hang=hang_of(launch),
        across=across(launch),
    )
