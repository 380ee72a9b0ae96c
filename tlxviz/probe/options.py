"""What somebody wants of a recording on a GPU."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ProbeOptions:
    """The options of `run` that only recordings on a GPU have."""

    probes: str = "all"
    """Which sites: `barriers`, `tma`, `mma`, `all`, numbers of sites, or several of these with commas between."""
    all_warps: bool = False
    """Every warp of a warp group, rather than its first."""
    parts: int | None = None
    """Builds over which the points are spread; None for as few as keep the slow-down small."""
    repeat: int = 11
    """Launches of the kernel with probes, and without, that the medians of their times are of."""
    iterations: tuple[int, int] | None = None
    """First and last but one of the iterations of innermost loops that are kept; None for all."""
    timeout: float = 20.0
    """Seconds after which a launch counts as hanging."""
    correction: bool = True
    """Whether recorded CTAs are given the length that they have without probes."""
