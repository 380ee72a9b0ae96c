"""Figures of the TMA engine."""

from __future__ import annotations

import statistics

from tlxviz.calibrate.figures.rules import Finding, Rule, clock_read, figure, only
from tlxviz.calibrate.figures.sync import wake_up
from tlxviz.calibrate.results import Calibration, Measurement, slope


@figure("tma.issue_cycles")
def _copy_issue(found: Calibration) -> Finding | None:
    return only(
        found,
        "clock reads around one copy of 64 x 128 fp16",
        "tma.issue",
        clock_read(found),
        rows=128,
        boxes=1,
        **{"from": "L2"},
    )


@figure("tma.box_cycles")
def _box(found: Calibration) -> Finding | None:
    one = found.find("tma.issue", rows=64, boxes=1, **{"from": "L2"})
    four = found.find("tma.issue", rows=64, boxes=4, **{"from": "L2"})
    if one is None or four is None:
        return None
    return Finding((four.median - one.median) / 3, "four copies of 64 x 64 fp16 one after the other, and one", (four,))


@figure("tma.bytes_per_cycle")
def _copy_rate(found: Calibration) -> Finding | None:
    return only(
        found,
        "one SM alone loads boxes of 16 KiB from L2, four in flight",
        "tma.rate",
        rows=128,
        stages=4,
        sms="one",
        tiles="own",
    )


def _by_rows(points: list[Measurement]) -> tuple[float, float, tuple[Measurement, ...]] | None:
    """(cycles without any bytes, bytes per further cycle) of boxes of 64 columns of fp16."""
    if len(points) < 2:
        return None
    base, per = slope([128 * int(each.at["rows"]) for each in points], [each.median for each in points])
    return (base, 1 / per, tuple(points)) if per > 0 else None


def _copy_latency(source: str) -> Rule:
    """What a load takes from before its issue to after the wait, less issue, transfer and wake-up."""

    def rule(found: Calibration) -> Finding | None:
        issue, wake, rate = _copy_issue(found), wake_up(found), _copy_rate(found)
        points = [
            each
            for each in found.law("tma.latency")
            if each.at["from"] == source and int(each.at["rows"]) * int(each.at["boxes"]) >= 64
        ]
        if issue is None or wake is None or rate is None or not points:
            return None
        box = _box(found)
        beyond: list[float] = []
        for each in points:
            boxes = int(each.at["boxes"])
            transfer = 128 * int(each.at["rows"]) * boxes / rate.value
            more = (boxes - 1) * box.value if box is not None else 0.0
            beyond.append(each.median - issue.value - more - transfer - wake.value)
        return Finding(
            statistics.median(beyond),
            f"8 to 64 KB, from before the copies to after the wait, less issue, {rate.value:.0f} bytes a cycle, and "
            f"{wake.value:.0f} for the wake-up",
            tuple(points),
        )

    return rule


figure("tma.l2_latency_cycles")(_copy_latency("L2"))
figure("tma.dram_latency_cycles")(_copy_latency("DRAM"))


@figure("tma.store_latency_cycles")
def _store_latency(found: Calibration) -> Finding | None:
    law, issue = _stores(found), _copy_issue(found)
    if law is None or issue is None:
        return None
    base, rate, behind = law
    return Finding(
        base - issue.value,
        f"1 to 32 KB take {base:.0f} cycles and one per {rate:.0f} bytes until the source may be written",
        behind,
    )


@figure("tma.store_bytes_per_cycle")
def _store_rate(found: Calibration) -> Finding | None:
    """What L2 takes from all SMs at once; one alone gives away 32 bytes a cycle."""
    all_at_once = found.find("tma.store_rate", rows=128, depth=2, sms="all", tiles="own")
    alone = found.find("tma.store_rate", rows=128, depth=2, sms="one", tiles="own")
    measured, sustained = found.find("clock.mhz"), found.sustained_mhz
    if all_at_once is None or alone is None or measured is None or not sustained:
        return None
    return Finding(
        min(alone.median, all_at_once.median * measured.median / sustained),
        f"all SMs store to L2, {all_at_once.median:.3g} at {measured.median:.0f} MHz, in cycles at {sustained:.0f} MHz",
        (all_at_once,),
    )


def _stores(found: Calibration) -> tuple[float, float, tuple[Measurement, ...]] | None:
    """From before the issue of one box until its source may be written."""
    law = _by_rows(
        [each for each in found.law("tma.store_read") if each.at["kind"] == "store" and each.at["boxes"] == 1]
    )
    return None if law is None else (law[0] - clock_read(found), *law[1:])
