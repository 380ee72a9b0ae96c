"""How far away a launch's data are, and how fast an SM gets them."""

from __future__ import annotations

from dataclasses import dataclass

from tlxviz.devices.model import Device


@dataclass(frozen=True, slots=True)
class Reach:
    """Of one launch. Latencies are cycles beyond the transfer itself; rates are cycles of one SM per byte."""

    tma_latency: int
    load_latency: int
    copy_latency: int
    tma: float
    """By TMA, of what other SMs want as well."""
    load: float
    """By loads, likewise."""
    copy: float
    """By asynchronous copies, likewise."""
    own_tma: float
    """By TMA, of what this SM alone wants."""
    own_load: float
    """By loads, likewise."""
    own_copy: float
    """By asynchronous copies, likewise."""
    put: float
    """Of what it writes by plain stores."""


def resident(device: Device, footprint: int, *, shared: bool) -> bool:
    """Whether so many bytes stay in L2 from one launch to the next.

    Each half of L2 keeps what the SMs on its side want, so that there are two copies of what all of them want.
    """
    memory = device.memory
    return footprint <= (memory.l2_bytes / 2 if shared else memory.l2_resident_bytes)


def reach(device: Device, footprint: int, ctas: int, *, shared: bool, multiplies: bool) -> Reach:
    """The reach of a launch of `ctas` CTAs, whose tensors have `footprint` bytes in all, which CTAs share or not.

    They are in L2 if they can stay there from one launch to the next, else in DRAM. CTAs that use the same bytes want
    them at about the same time, and wait for DRAM together: by TMA, and by asynchronous copies, whose latency shows
    where few are under way. Those that load and use the numbers at once drift apart, and find in L2 what one of them
    has waited for. The more SMs there are at work, the less each one gets.
    L2 and DRAM have clocks of their own: they are nearer, in SM cycles, where power holds the SM clock down. What an
    SM can take in is its own.
    """
    tma, memory = device.tma, device.memory
    sms = min(ctas, device.limits.sms)
    near = resident(device, footprint, shared=shared)
    slower = device.clock.sustained_mhz / device.clock.boost_mhz if multiplies else 1.0
    crowd = slower * sms / memory.l2_bytes_per_cycle
    clock = device.clock.boost_mhz * 1e6
    reads = memory.l2_distinct_bytes_per_cycle if near else memory.hbm_bytes_per_second / clock
    writes = memory.l2_store_bytes_per_cycle if near else memory.hbm_write_bytes_per_second / clock
    farther = 0 if near else memory.dram_latency_cycles - memory.l2_latency_cycles
    beyond = 0 if shared else farther
    return Reach(
        tma_latency=round(slower * (tma.l2_latency_cycles if near else tma.dram_latency_cycles)),
        load_latency=round(slower * (memory.l2_latency_cycles + beyond)),
        copy_latency=round(slower * (memory.cp_async_latency_cycles + farther)),
        tma=max(1 / tma.bytes_per_cycle, crowd),
        load=max(1 / memory.load_bytes_per_cycle, slower * sms / memory.l2_load_bytes_per_cycle),
        copy=max(1 / memory.copy_bytes_per_cycle, slower * sms / memory.l2_load_bytes_per_cycle),
        own_copy=max(1 / memory.copy_bytes_per_cycle, slower * sms / reads),
        own_tma=max(1 / tma.bytes_per_cycle, slower * sms / reads),
        own_load=max(1 / memory.load_bytes_per_cycle, slower * sms / reads),
        put=max(1 / memory.store_bytes_per_cycle, slower * sms / writes),
    )
