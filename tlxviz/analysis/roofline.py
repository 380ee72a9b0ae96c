"""Which roof holds a kernel: what it reached of what each unit of the device can do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tlxviz.analysis.products import Products, products
from tlxviz.analysis.utilisation import Coverage, Utilisation, coverage, utilisation
from tlxviz.devices.file import DeviceFileError, device_from_manifest
from tlxviz.devices.model import Device
from tlxviz.ir.program import Program
from tlxviz.trace.model import LaunchTrace

BOUND_FROM = 0.6
"""Share of a roof from which on it counts as what holds the kernel. Below, everything waits for something else most of
the time: the kernel is bound by latency, or has too little work for the device. Chosen, not measured: two units that
take turns on each piece of work, without overlap, reach 50 % each."""
NONE = "none"
"""`Roofline.bound_by` of a kernel that no roof holds."""
MEMORY = ("l2", "dram")
"""Roofs of what is behind the SMs."""
_PATHS = ("tma", "tma_store", "load_store")
"""Ways into and out of an SM: they count as busy while they wait for their share of L2 or DRAM."""


@dataclass(frozen=True, slots=True)
class Roof:
    """One limit of the device."""

    name: str
    """`peak`, `l2` or `dram`; else a unit of the traced SM, as `Utilisation` names it."""
    scope: Literal["launch", "sm"]
    """Whether it was reached by the whole launch, over its whole time, or by the traced SM until its last CTA ended."""
    unit: Literal["FLOP/s", "bytes/s", "cycles"]
    ceiling: float
    """What the device can do; of a unit of the SM, the cycles that it had."""
    reached: float
    """What it did; of a unit of the SM, the cycles that it was busy."""
    share: float
    """`reached / ceiling`."""
    flops_ceiling: float | None
    """FLOP/s of the launch if it reached all of this roof and did the same work: for `l2` and `dram`, intensity times
    bandwidth. None without FLOP, or where nothing was reached."""


@dataclass(frozen=True, slots=True)
class Roofline:
    """A launch under its roofs; None where the trace does not say enough."""

    seconds: float
    """Duration of the launch at its own clock."""
    flops_per_s: float | None
    """Of its MMAs, in FLOP/s; None if it has none."""
    mma_types: tuple[str, ...]
    """Types of the operands of its MMAs: `f16`, `tf32`, `f8E4M3FN`; `f32` for multiply-adds of the FP32 pipe."""
    peak: float | None
    """Dense peak of the device for these, in FLOP/s at the clock that the launch ran at."""
    peak_boost: float | None
    """The same at the highest clock."""
    peak_published: float | None
    """The same at the clock of the vendor's data sheet, which other people's figures refer to."""
    mfu: float | None
    """Model-FLOPs utilisation: `flops_per_s / peak`, so what the kernel makes of the clock that power leaves it."""
    mfu_boost: float | None
    """`flops_per_s / peak_boost`."""
    mfu_published: float | None
    """`flops_per_s / peak_published`."""
    l2_bytes: int | None
    """Between L2 and the SMs, both ways."""
    dram_bytes: int | None
    """Between DRAM and L2, both ways, at least; 0 if the launch's data are in L2 when it begins."""
    compulsory_bytes: int | None
    """Different bytes that the launch uses: what DRAM moves at least when nothing is in L2."""
    intensity_l2: float | None
    """FLOP per byte of `l2_bytes`."""
    intensity_dram: float | None
    """FLOP per byte of `dram_bytes`; None where these are 0."""
    intensity_compulsory: float | None
    """FLOP per byte of `compulsory_bytes`."""
    roofs: tuple[Roof, ...]
    """Those of the launch, then those of the traced SM."""
    bound_by: str | None
    """Name of the roof that holds the kernel, or `NONE`. None where units that could be it were not counted."""
    bound_share: float | None
    """Share of that roof; of the highest one if none holds it."""
    wave_efficiency: float | None
    """CTAs of the launch out of those that its waves had room for."""
    tail_share: float | None
    """Share of the launch in which a last wave, too small for all SMs, leaves some idle, if all CTAs take equally long;
    1 for a launch that never fills them."""
    balance: float | None
    """Bytes that an SM of the device moved on the mean, out of those of the traced SM: less than 1 where others have
    fewer CTAs, or persistent CTAs with fewer tiles. What a unit of the traced SM reached times this is what it reached
    on the device."""
    sm_share: float | None
    """Share of the launch in which the traced SM had CTAs: less where its CTAs end before those of others."""


def roofline(
    launch: LaunchTrace, executed: NDArray[np.int64] | None = None, program: Program | None = None
) -> Roofline | None:
    """The roofs of a launch, and which one holds it.

    Bandwidth of L2 and DRAM are those that the simulator takes: attainable ones, which depend on who moves the bytes.
    They have clocks of their own, and do not slow down when power holds the SM clock down.

    None for a launch that did not end.

    Args:
        executed: How often warp groups came to each site; None to have it counted.
        program: The kernel; None to have its TTGIR read.
    """
    if not launch.complete or launch.hang is not None or launch.cycles <= 0 or launch.clock_mhz <= 0:
        return None
    used, covered, device = utilisation(launch), coverage(launch), _device(launch)
    made = products(launch, device, executed, program) if device is not None and launch.flop else None
    seconds = launch.cycles / launch.clock_mhz / 1e6
    flops = launch.flop / seconds if launch.flop else None

    def peak(mhz: float) -> float | None:
        return _peak(device, made, mhz) if device is not None else None

    peaks = (peak(launch.clock_mhz), *((None, None) if device is None else _other_peaks(device, made)))
    mfus = tuple(flops / each if flops and each else None for each in peaks)
    l2 = _sum(used.l2_read_bytes, used.l2_written_bytes)
    dram = _sum(used.dram_read_bytes, used.dram_written_bytes)
    compulsory = min(l2, used.tensor_bytes) if l2 is not None and used.tensor_bytes is not None else None
    roofs = (
        *(_launch_roofs(used, device, seconds, flops, peaks[0]) if device is not None else ()),
        *_sm_roofs(used, flops),
    )
    bound_by, bound_share = _bound(roofs, used)
    return Roofline(
        seconds=seconds,
        flops_per_s=flops,
        mma_types=made.types if made is not None else (),
        peak=peaks[0],
        peak_boost=peaks[1],
        peak_published=peaks[2],
        mfu=mfus[0],
        mfu_boost=mfus[1],
        mfu_published=mfus[2],
        l2_bytes=l2,
        dram_bytes=dram,
        compulsory_bytes=compulsory,
        intensity_l2=_ratio(launch.flop, l2),
        intensity_dram=_ratio(launch.flop, dram),
        intensity_compulsory=_ratio(launch.flop, compulsory),
        roofs=roofs,
        bound_by=bound_by,
        bound_share=bound_share,
        wave_efficiency=_wave_efficiency(covered, device),
        tail_share=_tail_share(covered),
        balance=_balance(used, device),
        sm_share=used.sm_cycles / launch.cycles if used.sm_cycles is not None else None,
    )


def _device(launch: LaunchTrace) -> Device | None:
    """The figures that the trace gives; None where they are not complete."""
    try:
        return device_from_manifest(launch.device)
    except DeviceFileError:
        return None


def _peak(device: Device, made: Products | None, mhz: float) -> float | None:
    """FLOP/s of all SMs at this clock."""
    return made.flop_per_cycle * device.limits.sms * mhz * 1e6 if made is not None and mhz > 0 else None


def _other_peaks(device: Device, made: Products | None) -> tuple[float | None, float | None]:
    """At the highest clock, and at that of the data sheet, which speaks of tensor cores."""
    on_cores = made if made is not None and made.on_tensor_cores else None
    return _peak(device, made, device.clock.boost_mhz), _peak(device, on_cores, device.clock.published_mhz)


def _launch_roofs(
    used: Utilisation, device: Device, seconds: float, flops: float | None, peak: float | None
) -> Iterator[Roof]:
    if flops and peak:
        yield _roof("peak", "launch", "FLOP/s", peak, flops, flops)
    read, written, tensors = used.l2_read_bytes, used.l2_written_bytes, used.tensor_bytes
    if read is not None and written is not None and read + written:
        moved = read + written
        least = _seconds_of_l2(used, device, read, written, moved if tensors is None else min(moved, tensors))
        yield _roof("l2", "launch", "bytes/s", moved / least, moved / seconds, flops)
    read, written = used.dram_read_bytes, used.dram_written_bytes
    if read is not None and written is not None and read + written:
        memory = device.memory
        least = read / memory.hbm_bytes_per_second + written / memory.hbm_write_bytes_per_second
        yield _roof("dram", "launch", "bytes/s", (read + written) / least, (read + written) / seconds, flops)


def _seconds_of_l2(used: Utilisation, device: Device, read: int, written: int, once: int) -> float:
    """The least that L2 takes for these bytes, of which `once` are different ones.

    It gives TMA more than it gives plain loads; how many bytes go each way is taken from the traced SM.
    """
    memory = device.memory
    plain, tma = used.global_load_bytes or 0, used.tma_load_bytes or 0
    part = plain / (plain + tma) if plain + tma else 0.0
    reading = read * (part / memory.l2_load_bytes_per_cycle + (1 - part) / memory.l2_bytes_per_cycle)
    writing = written / memory.l2_store_bytes_per_cycle
    cycles = max(reading, writing, once / memory.l2_distinct_bytes_per_cycle)
    return cycles / (device.clock.boost_mhz * 1e6)


def _units(used: Utilisation) -> dict[str, float | None]:
    """Shares of the units of the traced SM."""
    return {
        "tensor_core": used.tensor_core,
        "tma": used.tma,
        "tma_store": used.tma_store,
        "load_store": used.load_store,
        "issue": used.issue,
        "logic": used.logic,
        "mufu": used.mufu,
        "shared_memory": used.shared_memory,
    }


def _sm_roofs(used: Utilisation, flops: float | None) -> Iterator[Roof]:
    if used.sm_cycles is None:
        return
    for name, share in _units(used).items():
        if share is not None:
            yield _roof(name, "sm", "cycles", used.sm_cycles, share * used.sm_cycles, flops)


def _roof(
    name: str,
    scope: Literal["launch", "sm"],
    unit: Literal["FLOP/s", "bytes/s", "cycles"],
    ceiling: float,
    reached: float,
    flops: float | None,
) -> Roof:
    share = reached / ceiling
    return Roof(name, scope, unit, ceiling, reached, share, flops / share if flops and share else None)


def _bound(roofs: tuple[Roof, ...], used: Utilisation) -> tuple[str | None, float | None]:
    """The highest share, and whose it is.

    The tensor cores' own share stands for that of the peak, which it is never below. A path that is busy because it
    waits for its share of L2 or DRAM is not what holds the kernel if one of these does.
    """
    share = {roof.name: roof.share for roof in roofs}
    if "tensor_core" in share:
        share.pop("peak", None)
    if not share:
        return None, None
    highest = max(share, key=lambda name: share[name])
    if highest in _PATHS:
        behind = max(MEMORY, key=lambda name: share.get(name, 0.0))
        if share.get(behind, 0.0) >= BOUND_FROM:
            highest = behind
    if share[highest] >= BOUND_FROM:
        return highest, share[highest]
    return None if None in _units(used).values() else NONE, share[highest]


def _wave_efficiency(covered: Coverage, device: Device | None) -> float | None:
    ctas, waves, per_sm = covered.ctas, covered.waves, covered.ctas_per_sm
    if not ctas or not waves or not per_sm or device is None:
        return None
    return ctas / (waves * per_sm * device.limits.sms)


def _tail_share(covered: Coverage) -> float | None:
    ctas, waves, per_sm, per_wave = covered.ctas, covered.waves, covered.ctas_per_sm, covered.ctas_per_wave
    if not ctas or not waves or not per_sm or not per_wave:
        return None
    last = ctas - (waves - 1) * per_wave
    return 1 / waves if last < per_wave // per_sm else 0.0


def _balance(used: Utilisation, device: Device | None) -> float | None:
    own = (used.tma_load_bytes, used.tma_store_bytes, used.global_load_bytes, used.global_store_bytes)
    of_sm, of_all = sum(each or 0 for each in own), _sum(used.received_bytes, used.l2_written_bytes)
    return of_all / (of_sm * device.limits.sms) if of_sm and of_all is not None and device is not None else None


def _sum(a: int | None, b: int | None) -> int | None:
    return a + b if a is not None and b is not None else None


def _ratio(flop: int, size: int | None) -> float | None:
    return flop / size if flop and size else None
