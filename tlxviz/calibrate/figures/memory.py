"""Figures of L1, L2, DRAM and shared memory."""

from __future__ import annotations

from tlxviz.calibrate.figures.driver import multiprocessors
from tlxviz.calibrate.figures.rules import Finding, figure, only
from tlxviz.calibrate.results import Calibration, Measurement


@figure("memory.hbm_bytes_per_second")
def _hbm(found: Calibration) -> Finding | None:
    return only(found, "all SMs read 1 GiB", "global.chip_bytes", source="DRAM", op="read")


@figure("memory.hbm_write_bytes_per_second")
def _hbm_writes(found: Calibration) -> Finding | None:
    read = found.find("global.chip_bytes", source="DRAM", op="read")
    copy = found.find("global.chip_bytes", source="DRAM", op="copy")
    if read is None or copy is None:
        return None
    return Finding(1 / (2 / copy.median - 1 / read.median), "all SMs copy 1 GiB, less what reading takes", (copy,))


@figure("memory.l2_resident_bytes")
def _resident(found: Calibration) -> Finding | None:
    """As long as the rate is not that of DRAM."""
    points = [each for each in found.law("global.chip_rate") if each.at["source"] == "L2"]
    fast = [each for each in points if each.median > 0.8 * max(point.median for point in points)]
    if not fast:
        return None
    most = max(fast, key=lambda each: int(each.at["kibibytes"]))
    return Finding(1024 * int(most.at["kibibytes"]), "all SMs read the same bytes over and over, at L2's rate", (most,))


@figure("memory.l2_distinct_bytes_per_cycle")
def _distinct(found: Calibration) -> Finding | None:
    best = max(
        (each for each in found.law("global.chip_rate") if each.at["source"] == "L2"),
        key=lambda each: each.median,
        default=None,
    )
    return None if best is None else Finding(best.median, "all SMs read, each its own bytes", (best,))


@figure("memory.l2_bytes_per_cycle")
def _l2_rate(found: Calibration) -> Finding | None:
    each = found.find("tma.rate_shared", sharing=8)
    sms = multiprocessors(found)
    if each is None or sms is None:
        return None
    return Finding(each.median * sms.value, "all SMs load by TMA, eight neighbours the same tiles", (each,))


_TILE_BYTES = 16384
"""What `sharing.tile` counts the cycles of."""


@figure("memory.copy_bytes_per_cycle")
def _copy_rate(found: Calibration) -> Finding | None:
    """By warps that meet at every tile, as those of a loop do that the compiler has pipelined."""
    each = found.find("sharing.tile", op="cp.async", depth=3, fit=1, sms=16, sharing=1, source="L2")
    if each is None:
        return None
    what = "cp.async of tiles of 16 KiB, eight warps, three tiles under way"
    return Finding(_TILE_BYTES / each.median, what, (each,))


@figure("memory.load_bytes_per_cycle")
def _load_rate(found: Calibration) -> Finding | None:
    return only(
        found,
        "one SM alone reads from L2, 1024 threads, eight loads of 16 bytes in flight",
        "global.rate",
        op="ld",
        loads=8,
        threads=1024,
        sms="one",
        source="L2",
    )


def _stored(found: Calibration, sms: str) -> Measurement | None:
    return found.find("global.rate", op="st", threads=512, sms=sms, source="L2")


@figure("memory.store_bytes_per_cycle")
def _store_path(found: Calibration) -> Finding | None:
    each = _stored(found, "one")
    return None if each is None else Finding(each.median, "one SM alone writes 16 bytes a thread", (each,))


@figure("memory.l2_store_bytes_per_cycle")
def _l2_stores(found: Calibration) -> Finding | None:
    each, sms = _stored(found, "all"), multiprocessors(found)
    if each is None or sms is None:
        return None
    return Finding(each.median * sms.value, "all SMs write 16 bytes a thread, each to its own 128 KiB", (each,))


@figure("memory.l2_load_bytes_per_cycle")
def _l2_loads(found: Calibration) -> Finding | None:
    """With as many threads as two CTAs of eight warps have."""
    each = found.find("global.rate", op="cp.async", loads=8, depth=4, threads=512, sms="all", source="L2")
    sms = multiprocessors(found)
    if each is None or sms is None:
        return None
    return Finding(each.median * sms.value, "cp.async of all SMs, 512 threads, four groups under way", (each,))


@figure("memory.shared_beside_products")
def _shared_beside(found: Calibration) -> Finding | None:
    each = found.find("overlap.other", n=128, a="shared", other="st.shared.v4")
    if each is None:
        return None
    return Finding(2048 / each.median, "stores of 16 bytes a thread beside m64n128k16", (each,))


@figure("memory.l1_latency_cycles")
def _l1_latency(found: Calibration) -> Finding | None:
    return only(found, "pointer chase", "global.latency", source="L1")


@figure("memory.l2_latency_cycles")
def _l2_latency(found: Calibration) -> Finding | None:
    return only(found, "pointer chase through 16 MiB", "global.latency", source="L2, 16 MiB")


@figure("memory.dram_latency_cycles")
def _dram_latency(found: Calibration) -> Finding | None:
    """Each load is timed by itself here, which costs what the same costs for L2."""
    near, alone, chased = (
        found.find("global.latency", source=source) for source in ("DRAM, 64 MiB", "L2, one by one", "L2, 1 MiB")
    )
    if near is None or alone is None or chased is None:
        return None
    return Finding(
        near.median - (alone.median - chased.median), "pointer chase through 64 MiB that are not in L2", (near,)
    )


@figure("memory.shared_latency_cycles")
def _shared_latency(found: Calibration) -> Finding | None:
    return only(found, "pointer chase", "shared.latency", op="ld.b32")


@figure("memory.shared_bytes_per_cycle")
def _shared_rate(found: Calibration) -> Finding | None:
    return only(found, "loads of 16 bytes a thread, 8 warps", "shared.rate", op="ld.v4.b32", warps=8)


@figure("memory.atomic_cycles")
def _atomic(found: Calibration) -> Finding | None:
    return only(
        found, "atomic additions of one thread that wait for each other", "global.atomic", op="atom, one thread"
    )


@figure("memory.cp_async_latency_cycles")
def _cp_async(found: Calibration) -> Finding | None:
    return only(
        found, "copy of 16 bytes a thread, commit, wait, one warp, from L2", "global.cp_async_latency", source="L2"
    )
