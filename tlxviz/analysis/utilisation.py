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
    """Fraction of `sm_cycles` in which the TMA engine moved loads, at the pace at which L2 or DRAM gives them."""
    tma_store: float | None
    """In which the TMA engine moved stores."""
    load_store: float | None
    """In which the load/store path moved what the warp groups load and store themselves, likewise at the pace of L2 or
    DRAM."""
    issue: float | None
    """Of the schedulers' issue slots, those that long arithmetic took, or kept from others because a pipe that it needs
    takes less than an instruction a slot."""
    logic: float | None
    """In which comparisons, selections, logic and conversions kept their pipe busy."""
    mufu: float | None
    """In which the special functions' unit was busy: exponentials, divisions."""
    shared_memory: float | None
    """In which warp groups kept the path to shared memory busy, shuffles included; operands of MMAs and TMA are not."""
    tma_load_bytes: int | None
    tma_store_bytes: int | None
    global_load_bytes: int | None
    global_store_bytes: int | None
    l2_read_bytes: int | None
    """Of the whole launch, from L2 to SMs."""
    received_bytes: int | None
    """The same, as SMs take them in: what is multicast comes to each."""
    l2_written_bytes: int | None
    """Of the whole launch, from SMs to L2."""
    dram_read_bytes: int | None
    """Of the whole launch, at least; 0 if its data are in L2."""
    dram_written_bytes: int | None
    """Likewise."""
    tensor_bytes: int | None
    """Of the launch's tensors."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of the launch was looked at; None where the recorder did not say."""

    ctas: int | None
    """CTAs of the grid."""
    ctas_simulated: int | None
    ctas_traced: tuple[int, ...]
    """Linear numbers of the CTAs with tracks."""
    ctas_per_sm: int | None
    ctas_per_wave: int | None
    """CTAs that the device holds at a time."""
    waves: int | None
    events: int


def utilisation(launch: LaunchTrace) -> Utilisation:
    """Utilisation of the units of the traced SM, and bytes moved.

    A share is never above 1: stores that are still under way when the last CTA of the SM has ended count like others.
    """
    cycles = _whole(launch, "sm_cycles")

    def share(key: str) -> float | None:
        busy = launch.statistics.get(key)
        return min(1.0, float(busy) / cycles) if isinstance(busy, int | float) and cycles else None

    return Utilisation(
        sm_cycles=cycles,
        tensor_core=share("tensor_core_busy_cycles"),
        tma=share("tma_busy_cycles"),
        tma_store=share("tma_store_busy_cycles"),
        load_store=share("load_store_busy_cycles"),
        issue=share("issue_busy_cycles"),
        logic=share("logic_busy_cycles"),
        mufu=share("mufu_busy_cycles"),
        shared_memory=share("shared_memory_busy_cycles"),
        tma_load_bytes=_whole(launch, "tma_load_bytes"),
        tma_store_bytes=_whole(launch, "tma_store_bytes"),
        global_load_bytes=_whole(launch, "global_load_bytes"),
        global_store_bytes=_whole(launch, "global_store_bytes"),
        l2_read_bytes=_whole(launch, "l2_read_bytes"),
        received_bytes=_whole(launch, "received_bytes"),
        l2_written_bytes=_whole(launch, "l2_written_bytes"),
        dram_read_bytes=_whole(launch, "dram_read_bytes"),
        dram_written_bytes=_whole(launch, "dram_written_bytes"),
        tensor_bytes=_whole(launch, "tensor_bytes"),
    )


def coverage(launch: LaunchTrace) -> Coverage:
    """CTAs of the grid, simulated and traced."""
    return Coverage(
        ctas=_whole(launch, "ctas"),
        ctas_simulated=_whole(launch, "ctas_simulated"),
        ctas_traced=tuple(sorted({track.cta for track in launch.tracks})),
        ctas_per_sm=_whole(launch, "ctas_per_sm"),
        ctas_per_wave=_whole(launch, "ctas_per_wave"),
        waves=_whole(launch, "waves"),
        events=len(launch.events),
    )


def _whole(launch: LaunchTrace, key: str) -> int | None:
    value = launch.statistics.get(key)
    return round(value) if isinstance(value, int | float) else None
