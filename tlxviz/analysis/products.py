"""What a kernel multiplies, and how fast the device could do it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tlxviz.devices.model import Device
from tlxviz.ir import TtgirError, load_program
from tlxviz.ir.operation import Operation
from tlxviz.ir.program import Program, SiteKind
from tlxviz.ir.types import MemDescType, ScalarType, TensorType, element_of
from tlxviz.trace.model import LaunchTrace

_FP4 = "e2m1"
"""The format of four bits, of which a byte has two."""


@dataclass(frozen=True, slots=True)
class Products:
    """The MMAs of a kernel."""

    types: tuple[str, ...]
    """Types of the operands, each once: `f16`, `tf32`, `f8E4M3FN`; `f32` for multiply-adds of the FP32 pipe."""
    on_tensor_cores: bool
    """Whether tensor cores compute them. Where they compute only some of them, the others are left out."""
    flop_per_cycle: float
    """Dense peak of one SM for them; where types have different peaks, for the mix that the traced CTAs executed."""


def products(
    launch: LaunchTrace, device: Device, executed: NDArray[np.int64] | None = None, program: Program | None = None
) -> Products | None:
    """The MMAs of the launch's kernel, from its TTGIR.

    None if it has none, if an operand has a type that the device has no rate for, or if its TTGIR cannot be read.

    Args:
        executed: How often warp groups came to each site; None to have it counted.
        program: The kernel; None to have its TTGIR read.
    """
    if program is None:
        try:
            program = load_program(launch.ttgir, f"<TTGIR of {launch.kernel}>")
        except TtgirError:
            return None
    sites = [site for site in program.sites if site.kind is SiteKind.MMA]
    on_cores = [site for site in sites if not _multiply_adds(site.operation)]
    chosen = on_cores or sites
    if not chosen:
        return None
    if executed is None or len(executed) < len(program.sites):
        executed = _executions(launch, len(program.sites))
    if not any(executed[site.index] for site in chosen):
        executed = np.ones(len(program.sites), np.int64)  # nothing was recorded of them: each counts once
    types: dict[str, None] = {}
    work = cycles = 0.0
    for site in chosen:
        name, flop = _operand_type(site.operation), _flop(site.operation)
        rate = _scaled_rate(device, site.operation) if _formats(site.operation) else 0.0
        rate = rate or _rate(device, name, on_cores=bool(on_cores))
        if not rate or not flop:
            return None
        if executed[site.index]:
            types[name if name != "f32" or not on_cores else "tf32"] = None
            work += float(executed[site.index]) * flop
            cycles += float(executed[site.index]) * flop / rate
    return Products(tuple(types), bool(on_cores), work / cycles)


def _executions(launch: LaunchTrace, sites: int) -> NDArray[np.int64]:
    """How often the warp groups that were traced came to each site."""
    agents = np.array([track.agent >= 0 for track in launch.tracks], np.bool_)
    events = launch.events
    own = agents[events["track"]] if len(events) else np.zeros(0, np.bool_)
    return np.bincount(events["site"][own], minlength=sites)


def _multiply_adds(op: Operation) -> bool:
    """Whether the layout of the result says that no tensor core computes it, as where fp32 has to stay exact."""
    type_ = op.results[0].type if op.results else None
    return (
        op.name == "tt.dot"
        and isinstance(type_, TensorType)
        and type_.encoding is not None
        and type_.encoding.name == "blocked"
    )


def _operand_type(op: Operation) -> str:
    formats = _formats(op)
    if formats:
        return "+".join(dict.fromkeys(formats))
    operand = op.operand("a")
    element = element_of(operand.type) if operand is not None else None
    return element.name if isinstance(element, ScalarType) else ""


def _formats(op: Operation) -> tuple[str, ...]:
    """Of the operands of a scaled product, such as `e4m3`; none for others."""
    return tuple(str(op.attributes[side]) for side in ("lhs", "rhs") if side in op.attributes)


def _flop(op: Operation) -> int:
    """Of one execution, in one CTA of a pair: a multiply-add counts two."""
    a, b = op.operand("a"), op.operand("b")
    if a is None or b is None:
        return 0
    if not isinstance(a.type, TensorType | MemDescType) or not isinstance(b.type, TensorType | MemDescType):
        return 0
    packed = 2 if _formats(op)[:1] == (_FP4,) else 1
    sums = op.operand("d")
    # of a pair of CTAs each has half of B, and all columns of its sum
    width = sums.type.shape[-1] if sums is not None and isinstance(sums.type, MemDescType) else b.type.shape[-1]
    return 2 * math.prod(a.type.shape) * packed * width


def _scaled_rate(device: Device, op: Operation) -> float:
    """FLOP per cycle and SM of a scaled product; 0 where it is not known."""
    core, formats, scale = device.tcgen05, set(_formats(op)), op.operand("a_scale")
    if core is None:
        return 0.0
    if formats == {_FP4}:
        element = element_of(scale.type) if scale is not None else None
        return core.nvf4 if isinstance(element, ScalarType) and element.is_float else core.mxf4
    return core.fp4 if _FP4 in formats else device.tensor_core.fp8


def _rate(device: Device, name: str, *, on_cores: bool) -> float:
    """FLOP per cycle and SM; 0 where it is not known."""
    if not on_cores:
        return {"f16": 2 * device.alu.fp16, "f32": 2 * device.alu.fp32, "f64": 2 * device.alu.fp64}.get(name, 0.0)
    core = device.tensor_core
    rates = {"f16": core.fp16, "bf16": core.bf16, "f32": core.tf32, "f64": core.fp64, "i8": core.int8}
    return core.fp8 if name.startswith("f8") else rates.get(name, 0.0)
