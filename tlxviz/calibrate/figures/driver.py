"""What the CUDA driver says of a GPU."""

from __future__ import annotations

from tlxviz.calibrate.figures.rules import Finding, figure
from tlxviz.calibrate.results import Calibration


@figure("limits.sms")
def multiprocessors(found: Calibration) -> Finding | None:
    """SMs of the device."""
    sms = found.device.get("sms")
    return None if not sms else Finding(sms, "CUDA driver, multiprocessors")


@figure("clock.boost_mhz")
def boost_clock(found: Calibration) -> Finding | None:
    """The highest SM clock, in MHz."""
    khz = found.device.get("boost_khz")
    return None if not khz else Finding(khz / 1000, "CUDA driver, clock rate")


@figure("memory.capacity_bytes")
def _capacity(found: Calibration) -> Finding | None:
    size = found.device.get("capacity_bytes")
    return None if not size else Finding(size, "CUDA driver, total memory")


@figure("memory.l2_bytes")
def _l2(found: Calibration) -> Finding | None:
    size = found.device.get("l2_bytes")
    return None if not size else Finding(size, "CUDA driver, L2 cache size")
