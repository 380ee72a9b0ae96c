"""How much of the time the SM's engines worked, and what moved."""

from __future__ import annotations

from dataclasses import dataclass

from tlxviz.trace.model import LaunchTrace


@dataclass(frozen=True, slots=True)
class Utilisation:
    """The recorder's totals on the traced SM; None where it did not count."""

    sm_cycles: int | None
    """Cycles that the totals were counted over."""
    tensor_core: float | None
    """Fraction of `sm_cycles` in which the tensor cores worked."""
    tma: float | None
    """Fraction of `sm_cycles` in which the TMA engine moved bytes."""
    tma_load_bytes: int | None
    tma_store_bytes: int | None
    global_load_bytes: int | None
    global_store_bytes: int | None


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of the launch was looked at; None where the recorder did not say."""

    ctas: int | None
    """CTAs of the grid."""
    ctas_simulated: int | None
    ctas_traced: tuple[int, ...]
    """Linear numbers of the CTAs with tracks."""
    ctas_per_sm: int | None
    waves: int | None
    events: int


def utilisation(launch: LaunchTrace) -> Utilisation:
    """Utilisation of tensor cores and TMA, and bytes moved."""
    cycles = _whole(launch, "sm_cycles")

    def share(key: str) -> float | None:
        busy = launch.statistics.get(key)
        return float(busy) / cycles if isinstance(busy, int | float) and cycles else None

    return Utilisation(
        sm_cycles=cycles,
        tensor_core=share("tensor_core_busy_cycles"),
        tma=share("tma_busy_cycles"),
        tma_load_bytes=_whole(launch, "tma_load_bytes"),
        tma_store_bytes=_whole(launch, "tma_store_bytes"),
        global_load_bytes=_whole(launch, "global_load_bytes"),
        global_store_bytes=_whole(launch, "global_store_bytes"),
    )


def coverage(launch: LaunchTrace) -> Coverage:
    """CTAs of the grid, simulated and traced."""
    return Coverage(
        ctas=_whole(launch, "ctas"),
        ctas_simulated=_whole(launch, "ctas_simulated"),
        ctas_traced=tuple(sorted({track.cta for track in launch.tracks})),
        ctas_per_sm=_whole(launch, "ctas_per_sm"),
        waves=_whole(launch, "waves"),
        events=len(launch.events),
    )


def _whole(launch: LaunchTrace, key: str) -> int | None:
    value = launch.statistics.get(key)
    return round(value) if isinstance(value, int | float) else None
