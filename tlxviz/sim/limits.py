"""Checks a launch as CUDA would, and finds how many CTAs share an SM."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from tlxviz.devices.model import Device
from tlxviz.devices.occupancy import bounds, most_registers
from tlxviz.ir.program import Program
from tlxviz.sim.errors import InvalidGridError, LaunchLimitError, UnsupportedOperation


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
            f"{limits.shared_memory_per_block:,}: use fewer stages or smaller tiles"
            f"{_largest(program, tensor_memory=False)}"
        )
    columns = _columns(program, metadata, device)
    for axis, size, most in zip("xyz", grid, (2**31 - 1, 65535, 65535), strict=True):
        if not 0 <= size <= most:
            raise InvalidGridError(f"kernel {name} has grid {grid}: {axis} must lie between 0 and {most:,}")
    _check_clusters(program, grid, device)
    registers = _registers(program, metadata, device)
    warps = max(1, program.total_warps)
    found = bounds(limits, device.tensor_memory, warps=warps, registers=registers, shared=shared, columns=columns)
    return max(1, min(bound.ctas for bound in found))


def _columns(program: Program, metadata: Mapping[str, Any], device: Device) -> int:
    """Columns of tensor memory that a CTA takes; raises where an SM has fewer."""
    columns = int(metadata.get("tmem_size") or 0)
    there = device.tensor_memory.columns if device.tensor_memory is not None else 0
    if columns > there:
        has = f"has {there}: use fewer or narrower buffers"
        if not there:
            has = "has none: simulate a B200 (--device sim:b200)"
        raise LaunchLimitError(
            f"kernel {program.name} needs {columns} columns of tensor memory and an SM of {device.title} "
            f"{has}{_largest(program, tensor_memory=True)}"
        )
    return columns


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


def _largest(program: Program, *, tensor_memory: bool) -> str:
    there = [each for each in program.buffers if (each.operation.name == "ttng.tmem_alloc") is tensor_memory]
    buffers = sorted(there, key=lambda buffer: -buffer.bytes)[:3]
    if not buffers:
        return ""
    return " (largest buffers: " + ", ".join(f"{buffer.name} {buffer.bytes:,} bytes" for buffer in buffers) + ")"


def _registers(program: Program, metadata: Mapping[str, Any], device: Device) -> int:
    """Registers of a thread, 0 where nobody says; raises where those of one CTA do not fit."""
    limits = device.limits
    threads = 32 * program.total_warps
    reported = metadata.get("registers") or metadata.get("maxnreg")
    budget = most_registers(limits, warps=program.total_warps, ctas=1)
    if not reported and any(agent.registers for agent in program.agents):
        return budget  # a kernel whose tasks ask for registers is compiled to take all of an SM
    registers = int(reported or 0)
    if registers > budget:
        raise LaunchLimitError(
            f"kernel {program.name} needs {registers} registers for each of {threads} threads and an SM of "
            f"{device.title} has {limits.registers_per_sm:,}: use fewer warps, smaller tiles or maxnreg={budget}"
        )
    return registers
