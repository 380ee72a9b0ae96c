"""What a measured trace says about its own making."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from tlxviz.trace.model import LaunchTrace


@dataclass(frozen=True, slots=True)
class Probing:
    """The cost of timestamps; None where the recorder could not tell. Shares are of what takes so long without them."""

    kernel_ms: float | None
    """How long the kernel takes without timestamps, the median of several launches."""
    probed_ms: float | None
    """How long with them."""
    slow_down: float | None
    """Of the kernel."""
    recorded_cta_slow_down: float | None
    """Of the traced CTAs."""
    correction: float | None
    """By which times of the traced CTAs were changed, so that they are as long as without timestamps; 0 for none."""
    parts: int
    """Launches that the timestamps are spread over."""
    records: int
    missing: int
    """Records that were made and are lost."""
    points: int
    """Places in the kernel that could read the clock."""
    left_out: int
    """Those of them that do not, since that would slow the kernel down by more."""
    left_out_lines: tuple[int, ...]
    """Lines of the source whose events begin or end there. Their times are simulated, between measured ones."""


def probing(launch: LaunchTrace) -> Probing | None:
    """None for a launch that was not measured."""
    if launch.provenance.get("recorder") != "measured":
        return None
    found: object = launch.provenance.get("probe")
    said: Mapping[str, object] = cast("Mapping[str, object]", found) if isinstance(found, Mapping) else {}

    def number(name: str) -> float | None:
        value = said.get(name)
        return float(value) if isinstance(value, int | float) else None

    def share(name: str) -> float | None:
        value = number(f"{name}_percent")
        return None if value is None else value / 100

    lines = cast("Sequence[object]", said.get("left_out_lines", ()))
    return Probing(
        kernel_ms=number("kernel_ms"),
        probed_ms=number("probed_ms"),
        slow_down=share("slow_down"),
        recorded_cta_slow_down=share("recorded_cta_slow_down"),
        correction=share("correction"),
        parts=int(number("parts") or 1),
        records=int(number("records") or 0),
        missing=int(number("missing") or 0),
        points=int(number("points") or 0),
        left_out=int(number("left_out") or 0),
        left_out_lines=tuple(each for each in lines if isinstance(each, int)),
    )
