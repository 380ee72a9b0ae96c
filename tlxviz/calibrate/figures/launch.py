"""Figures of launches and of their CTAs."""

from __future__ import annotations

from tlxviz.calibrate.figures.driver import boost_clock, multiprocessors
from tlxviz.calibrate.figures.rules import Finding, clock_read, figure, only
from tlxviz.calibrate.results import Calibration


@figure("launch.kernel_ns")
def _kernel(found: Calibration) -> Finding | None:
    each, clock = found.find("launch.boundary_cycles", threads=384, shared=204800), found.find("clock.mhz")
    if each is None or clock is None:
        return None
    how = "from the last clock of a kernel of a graph to the first of the next"
    return Finding(1000 * each.median / clock.median, how, (each,))


@figure("launch.next_cta_cycles")
def _next_cta(found: Calibration) -> Finding | None:
    sms, boost = multiprocessors(found), boost_clock(found)
    if sms is None or boost is None:
        return None
    one, four = (found.find("launch.interval", threads=384, shared=0, grid=int(sms.value) * many) for many in (1, 4))
    if one is None or four is None:
        return None
    step = (four.median - one.median) * boost.value / 1000 / (3 * sms.value)
    return Finding(step, "empty kernels of one CTA an SM, and of four", (one, four))


@figure("launch.cta_cycles")
def _turnover(found: Calibration) -> Finding | None:
    return only(
        found,
        "from the last clock of a CTA to the first of the next on its SM, one CTA of 384 threads an SM",
        "launch.turnover",
        threads=384,
        per_sm=1,
        after=8000,
    )


@figure("launch.warp_specialize_cycles")
def _partitions(found: Calibration) -> Finding | None:
    start = found.find("launch.partitions", what="start")
    read = found.find("named_barrier.single", op="read of shared memory", threads=128)
    registers = found.find("launch.setmaxnreg", what="take")
    if start is None or registers is None or read is None:
        return None
    return Finding(
        start.median - read.median + registers.median - clock_read(found),
        "two meetings of 384 threads with captured values in shared memory, and setmaxnreg",
        (start, registers),
    )
