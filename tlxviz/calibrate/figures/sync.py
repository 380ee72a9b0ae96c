"""Figures of barriers and fences."""

from __future__ import annotations

from tlxviz.calibrate.figures.rules import Finding, clock_read, figure, only
from tlxviz.calibrate.results import Calibration, Measurement, slope


@figure("sync.mbarrier_arrive")
def _arrive(found: Calibration) -> Finding | None:
    return only(found, "arrivals of one thread, one after the other", "mbarrier.issue", op="arrive", warps=1)


@figure("sync.mbarrier_expect")
def _expect(found: Calibration) -> Finding | None:
    return only(
        found,
        "clock reads around an arrival with expected bytes, before a copy",
        "tma.expect",
        clock_read(found),
        rows=128,
        boxes=1,
        **{"from": "L2"},
    )


@figure("sync.mbarrier_try_wait")
def _try_wait(found: Calibration) -> Finding | None:
    return only(
        found,
        "wait of four warps for a phase that is complete",
        "mbarrier.single",
        clock_read(found),
        op="try_wait",
        warps=4,
    )


@figure("sync.mbarrier_wake")
def wake_up(found: Calibration) -> Finding | None:
    """One way from a thread to four warps, less the arrival's issue."""
    each = found.find("mbarrier.hand_off", waiters=4, arriver="thread", after=1000)
    arrive = _arrive(found)
    if each is None or arrive is None:
        return None
    return Finding(
        each.median - arrive.value,
        f"{each.median:.0f} cycles from before an arrival to the last of four waiting warps, less the arrival's issue",
        (each,),
    )


@figure("sync.named_barrier")
def _named(found: Calibration) -> Finding | None:
    """One way from the last arrival: half of a round trip, less the arrival's issue."""
    each = found.find("named_barrier.ping_pong")
    arrive = _named_arrive(found)
    if each is None or arrive is None:
        return None
    return Finding(
        each.median / 2 - arrive.value,
        "half a round trip of two warp groups by bar.arrive and bar.sync of 256 threads, less the arrival's issue",
        (each,),
    )


@figure("sync.named_arrive")
def _named_arrive(found: Calibration) -> Finding | None:
    return only(found, "clock reads around bar.arrive", "named_barrier.arrive", clock_read(found), after=1000)


def _meetings(found: Calibration) -> tuple[float, float, tuple[Measurement, ...]] | None:
    points = [each for each in found.law("named_barrier.meeting") if int(each.at["threads"]) >= 64]
    if len(points) < 2:
        return None
    base, per = slope([int(each.at["threads"]) / 32 for each in points], [each.median for each in points])
    return base, per, tuple(points)


@figure("sync.block_barrier_base")
def _meeting_base(found: Calibration) -> Finding | None:
    law = _meetings(found)
    if law is None:
        return None
    return Finding(law[0], "bar.sync of 2 to 32 warps in a loop, base + per warp * warps", law[2])


@figure("sync.block_barrier_per_warp")
def _meeting_per_warp(found: Calibration) -> Finding | None:
    law = _meetings(found)
    if law is None:
        return None
    return Finding(law[1], "bar.sync of 2 to 32 warps in a loop, base + per warp * warps", law[2])


@figure("sync.fence_async_shared")
def _fence_async(found: Calibration) -> Finding | None:
    """After the stores of a tile, which is where kernels have it: it waits for them."""
    both = found.find("shared.fence", what="stores+fence+meeting", warps=4)
    bare = found.find("shared.fence", what="stores+meeting", warps=4)
    if both is None or bare is None:
        return None
    return Finding(
        both.median - bare.median,
        "fence.proxy.async between eight stores of 16 bytes a thread and a bar.sync",
        (both, bare),
    )


@figure("sync.fence_gpu")
def _fence_gpu(found: Calibration) -> Finding | None:
    return only(found, "fence.acq_rel.gpu of four warps in a loop", "shared.fence", what="fence.gpu", warps=4)
