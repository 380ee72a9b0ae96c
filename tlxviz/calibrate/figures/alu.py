"""Figures of arithmetic."""

from __future__ import annotations

import statistics

from tlxviz.calibrate.figures.rules import Finding, Rule, figure, only
from tlxviz.calibrate.results import Calibration


def _alu_rate(op: str, how: str, warps: int = 8) -> Rule:
    def rule(found: Calibration) -> Finding | None:
        return only(found, how, "alu.rate", op=op, warps=warps)

    return rule


for _name, _op, _how in (
    ("fp32", "fma.f32", "multiply-adds, 8 warps"),
    ("fp64", "fma.f64", "multiply-adds, 8 warps"),
    ("int32", "mad.s32", "multiply-adds, 8 warps; logic has the same rate"),
    ("mufu", "ex2.f32", "ex2, 8 warps; the other functions have the same rate"),
    ("minmax", "max.f32", "FMNMX, 8 warps"),
    ("convert", "f32_to_f16x2", "f32 to packed f16, 8 warps; bf16 has the same rate"),
    ("shuffle", "shuffle", "shuffles, 8 warps"),
):
    figure(f"alu.{_name}")(_alu_rate(_op, _how))
figure("alu.fp16")(_alu_rate("fma.f16x2", "packed multiply-adds, 16 warps", warps=16))


@figure("alu.serial_fraction")
def _serial(found: Calibration) -> Finding | None:
    """Groups of one ex2 and so many multiply-adds, one warp on each scheduler."""
    alone = found.find("alu.mufu_and_fma", fmas=0, warps=4)
    both = [found.find("alu.mufu_and_fma", fmas=fmas, warps=4) for fmas in (4, 8, 12, 16)]
    points = [each for each in both if each is not None]
    if alone is None or not points:
        return None
    lost = [
        (each.median - max(alone.median, int(each.at["fmas"]))) / min(alone.median, int(each.at["fmas"]))
        for each in points
    ]
    share = statistics.fmean(lost)
    return Finding(share, "one warp a scheduler, an ex2 and 4 to 16 multiply-adds by turns", tuple(points))


def _beside(other: str) -> Rule:
    def rule(found: Calibration) -> Finding | None:
        each = found.find("overlap.other", n=128, a="shared", other=other)
        if each is None:
            return None
        return Finding(128 / each.median, f"{other} of one warp group beside m64n128k16 of another", (each,))

    return rule


figure("alu.fp32_beside_products")(_beside("fma.f32"))
figure("alu.compare_beside_products")(_beside("max.f32"))
figure("alu.mufu_beside_products")(_beside("ex2.f32"))


@figure("alu.compare")
def _compare(found: Calibration) -> Finding | None:
    each = found.find("alu.rate", op="select.f32", warps=16)
    if each is None:
        return None
    return Finding(2 * each.median, "a comparison and a selection that needs it, 16 warps", (each,))


@figure("alu.latency_cycles")
def _alu_latency(found: Calibration) -> Finding | None:
    return only(found, "chain of FP32 multiply-adds", "alu.latency", op="fma.f32")


@figure("alu.mufu_latency_cycles")
def _mufu_latency(found: Calibration) -> Finding | None:
    return only(found, "chain of ex2", "alu.latency", op="ex2.f32")


@figure("alu.shuffle_cycles")
def _shuffle(found: Calibration) -> Finding | None:
    return only(found, "chain of shuffles", "alu.latency", op="shuffle")
