"""Figures of the tensor cores."""

from __future__ import annotations

import statistics

from tlxviz.calibrate.figures.rules import Finding, Rule, clock_read, figure, only
from tlxviz.calibrate.results import Calibration, Measurement, slope


def _tensor_rate(kind: str, k: int) -> Rule:
    def rule(found: Calibration) -> Finding | None:
        each = found.find("wgmma.interval", type=kind, a="shared", n=256, groups=1)
        if each is None:
            return None
        return Finding(
            2 * 64 * 256 * k / each.median, f"m64n256k{k} follow each other in {each.median:.4g} cycles", (each,)
        )

    return rule


for _name, _kind, _k in (
    ("tf32", "tf32", 8),
    ("fp16", "f16", 16),
    ("bf16", "bf16", 16),
    ("fp8", "e4m3", 32),
    ("int8", "s8", 32),
):
    figure(f"tensor_core.{_name}")(_tensor_rate(_kind, _k))


def _product(found: Calibration, law: str, n: int, count: int) -> Measurement | None:
    return found.find(law, type="f16", a="shared", n=n, count=count, groups=1)


@figure("tensor_core.issue_cycles")
def _product_issue(found: Calibration) -> Finding | None:
    each = _product(found, "wgmma.issue", 64, 1)
    if each is None:
        return None
    return Finding(each.median - clock_read(found), "fence, one m64n64k16 and commit, until the warp goes on", (each,))


@figure("tensor_core.completion_cycles")
def _completion(found: Calibration) -> Finding | None:
    """What a product takes beyond its instructions, less what its issue and the wait are charged."""
    behind: list[Measurement] = []
    beyond: list[float] = []
    for n in (64, 128, 256):
        one, interval = (
            _product(found, "wgmma.completion", n, 1),
            found.find("wgmma.interval", type="f16", a="shared", n=n, groups=1),
        )
        if one is None or interval is None:
            return None
        behind.append(one)
        beyond.append(one.median - interval.median - clock_read(found))
    issue, wait = _product_issue(found), _product_wait(found)
    if issue is None or wait is None:
        return None
    total = statistics.median(beyond)
    return Finding(
        total - issue.value - wait.value,
        f"one m64nNk16 takes {total:.0f} cycles beyond the tensor core's; {issue.value:.0f} are its issue's",
        tuple(behind),
    )


@figure("tensor_core.wait_cycles")
def _product_wait(found: Calibration) -> Finding | None:
    return only(found, "wgmma.wait_group with nothing in flight", "wgmma.bookkeeping", what="wait")


@figure("tensor_core.issue_cycles_per_column")
def _further_issue(found: Calibration) -> Finding | None:
    one, four = _product(found, "wgmma.issue", 256, 1), _product(found, "wgmma.issue", 256, 4)
    if one is None or four is None:
        return None
    more = four.median - one.median
    return Finding(more / 3 / 256, f"four m64n256k16 take {more:.0f} cycles longer to issue than one", (one, four))


def _narrow(found: Calibration) -> tuple[float, float, tuple[Measurement, ...]] | None:
    """(base, cycles per column) of instructions that take longer than their work."""
    points = [found.find("wgmma.interval", type="f16", a="shared", n=n, groups=1) for n in (8, 16, 32)]
    known = [each for each in points if each is not None]
    if len(known) < 2:
        return None
    base, per = slope([int(each.at["n"]) for each in known], [each.median for each in known])
    return base, per, tuple(known)


@figure("tensor_core.narrow_cycles")
def _narrow_base(found: Calibration) -> Finding | None:
    law = _narrow(found)
    return None if law is None else Finding(law[0], "m64nNk16 of N = 8 to 32, base + per column * N", law[2])


@figure("tensor_core.narrow_cycles_per_column")
def _narrow_per_column(found: Calibration) -> Finding | None:
    law = _narrow(found)
    return None if law is None else Finding(law[1], "m64nNk16 of N = 8 to 32, base + per column * N", law[2])


@figure("tensor_core.narrow_register_cycles")
def _narrow_register(found: Calibration) -> Finding | None:
    return only(found, "m64n8k16 with A in registers", "wgmma.interval", type="f16", a="registers", n=8, groups=1)


@figure("tensor_core.mma_sync_fraction")
def _mma_sync(found: Calibration) -> Finding | None:
    best = max(found.law("wgmma.mma_sync"), key=lambda each: each.median, default=None)
    full = _tensor_rate("f16", 16)(found)
    if best is None or full is None:
        return None
    return Finding(best.median / full.value, f"m16n8k16 of fp16, {best.at['warps']} warps, against wgmma", (best,))


@figure("tensor_core.register_cycles")
def _registers(found: Calibration) -> Finding | None:
    shared = found.find("wgmma.completion", type="f16", a="shared", n=128, count=4, groups=1)
    registers = found.find("wgmma.completion", type="f16", a="registers", n=128, count=4, groups=1)
    if shared is None or registers is None:
        return None
    return Finding(registers.median - shared.median, "four m64n128k16 with A in registers and without", (registers,))


@figure("tensor_core.taken_by_fp32")
def _taken(found: Calibration) -> Finding | None:
    product = found.find("overlap.product", n=128, a="shared", other="fma.f32")
    other = found.find("overlap.other", n=128, a="shared", other="fma.f32")
    alone = found.find("wgmma.interval", type="f16", a="shared", n=128, groups=1)
    if product is None or other is None or alone is None:
        return None
    taken = (product.median - alone.median) * other.median / product.median
    how = f"m64n128k16 take {product.median:.0f} cycles beside multiply-adds every {other.median:.2f} cycles"
    return Finding(taken, f"{how}, {alone.median:.0f} alone", (product,))


@figure("tensor_core.queue")
def _queue(found: Calibration) -> Finding | None:
    """What is left to be done when the second of two warp groups has issued its last of eight."""
    interval = found.find("wgmma.interval", type="f16", a="shared", n=64, groups=1)
    issue = found.find("wgmma.issue", type="f16", a="shared", n=64, count=8, groups=2)
    done = found.find("wgmma.completion", type="f16", a="shared", n=64, count=8, groups=2)
    if interval is None or issue is None or done is None:
        return None
    left = (done.median - issue.high) / interval.median
    return Finding(
        left, f"two warp groups issue eight m64n64k16 each: {left:.1f} are left when all are issued", (done,)
    )
