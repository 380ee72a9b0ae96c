"""Checks a launch as CUDA would, and finds how many CTAs share an SM."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from tlxviz.devices.model import Device
from tlxviz.ir.program import Program
from tlxviz.sim.errors import InvalidGridError, LaunchLimitError, UnsupportedOperation

_REGISTER_UNIT = 8  # registers of a thread are given out in units of 8


def check_launch(program: Program, metadata: Mapping[str, Any], grid: tuple[int, int, int], device: Device) -> int:
    """CTAs that fit on one SM.

    Raises:
        LaunchLimitError: the launch does not fit the device; names what it needs and what there is.
    """
    limits = device.limits
    name = program.name
    shared = int(metadata.get("shared") or 0)
    threads = 32 * program.total_warps
    if threads > limits.threads_per_block:
        raise LaunchLimitError(
            f"kernel {name} needs {threads} threads a CTA ({program.total_warps} warps) and {device.title} has "
            f"{limits.threads_per_block}: use fewer warps or fewer async tasks"
        )
    if shared > limits.shared_memory_per_block:
        raise LaunchLimitError(
            f"kernel {name} needs {shared:,} bytes of shared memory and {device.title} gives a CTA "
            f"{limits.shared_memory_per_block:,}: use fewer stages or smaller tiles{_largest(program)}"
        )
    for axis, size, most in zip("xyz", grid, (2**31 - 1, 65535, 65535), strict=True):
        if not 0 <= size <= most:
            raise InvalidGridError(f"kernel {name} has grid {grid}: {axis} must lie between 0 and {most:,}")
    _check_clusters(program, grid, device)
    return max(1, min(_by_registers(program, metadata, device), _by_shared(shared, device), _by_warps(program, device)))


def _check_clusters(program: Program, grid: tuple[int, int, int], device: Device) -> None:
    size = math.prod(program.cluster)
    if size == 1:
        return
    name = program.name
    if min(program.cluster) < 1:
        raise InvalidGridError(f"kernel {name} has clusters of {program.cluster}: ctas_per_cga counts from 1")
    if program.ctas_of_program > 1:
        raise UnsupportedOperation(
            f"kernel {name} spreads each program over {program.ctas_of_program} CTAs (num_ctas), which this version "
            "does not simulate: use num_ctas=1, or clusters of programs (ctas_per_cga)"
        )
    if size > device.limits.cluster:
        raise LaunchLimitError(
            f"kernel {name} launches clusters of {size} CTAs and {device.title} takes {device.limits.cluster}, unless "
            "a kernel is marked for larger ones, which Triton does not do: make ctas_per_cga smaller"
        )
    for axis, ctas, part in zip("xyz", grid, program.cluster, strict=True):
        if ctas % part:
            raise InvalidGridError(
                f"kernel {name} has grid {grid} and clusters of {program.cluster}: {axis} must be a multiple of {part}"
            )


def _largest(program: Program) -> str:
    buffers = sorted(program.buffers, key=lambda buffer: -buffer.bytes)[:3]
    if not buffers:
        return ""
    return " (largest buffers: " + ", ".join(f"{buffer.name} {buffer.bytes:,} bytes" for buffer in buffers) + ")"


def _by_warps(program: Program, device: Device) -> int:
    limits = device.limits
    return min(limits.blocks_per_sm, limits.warps_per_sm // max(1, program.total_warps))


def _by_shared(shared: int, device: Device) -> int:
    limits = device.limits
    return limits.shared_memory_per_sm // max(1, shared + limits.shared_memory_reserved)


def _by_registers(program: Program, metadata: Mapping[str, Any], device: Device) -> int:
    """CTAs whose registers fit; raises where not even one does."""
    limits = device.limits
    threads = 32 * program.total_warps
    reported = metadata.get("registers") or metadata.get("maxnreg")
    budget = limits.registers_per_sm // threads // _REGISTER_UNIT * _REGISTER_UNIT
    if not reported and any(agent.registers for agent in program.agents):
        return 1  # a kernel whose tasks ask for registers is compiled to take all of an SM
    registers = int(reported or 0)
    if not registers:
        return limits.blocks_per_sm
    registers = -(-registers // _REGISTER_UNIT) * _REGISTER_UNIT
    if registers > max(budget, _REGISTER_UNIT):
        raise LaunchLimitError(
            f"kernel {program.name} needs {registers} registers for each of {threads} threads and an SM of "
            f"{device.title} has {limits.registers_per_sm:,}: use fewer warps, smaller tiles or maxnreg={budget}"
        )
    return max(1, limits.registers_per_sm // (registers * threads))
