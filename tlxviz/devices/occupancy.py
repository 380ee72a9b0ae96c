"""How many CTAs of a kernel share an SM, and which resource keeps the next one out."""

from __future__ import annotations

from dataclasses import dataclass

from tlxviz.devices.model import Limits, TensorMemory

_REGISTER_UNIT = 8
"""Registers of a thread are given out in units of 8 (CUDA C++ Programming Guide, warp allocation)."""


@dataclass(frozen=True, slots=True)
class Bound:
    """What one resource of an SM allows."""

    resource: str
    """`registers`, `shared memory`, `tensor memory`, `warps` or `CTAs`."""
    per_cta: int
    """Registers and columns (as they are given out), bytes (with what the driver takes), warps; 1 for `CTAs`."""
    per_sm: int
    ctas: int
    """CTAs of which the SM has enough."""


def bounds(
    limits: Limits, memory: TensorMemory | None, *, warps: int, registers: int, shared: int, columns: int
) -> tuple[Bound, ...]:
    """What each resource allows; 0 CTAs where one alone needs too much.

    Args:
        limits: Of the device.
        memory: Tensor memory of one of its SMs; None if it has none.
        warps: Of a CTA, those of all its warp groups.
        registers: Of a thread at launch; 0 where that is not known, which leaves registers out.
        shared: Bytes of shared memory that a CTA asks for.
        columns: Columns of tensor memory that a CTA asks for; a CTA that finds too few of them free waits as it begins.
    """
    needs = [
        ("registers", -(-registers // _REGISTER_UNIT) * _REGISTER_UNIT * 32 * warps, limits.registers_per_sm),
        ("shared memory", shared + limits.shared_memory_reserved, limits.shared_memory_per_sm),
        ("tensor memory", _allocated(memory, columns), memory.columns if memory is not None else 0),
        ("warps", warps, limits.warps_per_sm),
        ("CTAs", 1, limits.blocks_per_sm),
    ]
    return tuple(Bound(name, need, there, there // need) for name, need, there in needs if need > 0)


def _allocated(memory: TensorMemory | None, columns: int) -> int:
    """Columns that are given out to who asks for so many: the next power of two."""
    return max(memory.allocation_columns, 1 << (columns - 1).bit_length()) if memory is not None and columns else 0


def most_columns(memory: TensorMemory | None, *, ctas: int) -> int:
    """Columns of tensor memory that each of so many CTAs of an SM may ask for; 0 if none."""
    most = memory.columns // ctas if memory is not None else 0
    return 1 << (most.bit_length() - 1) if memory is not None and most >= memory.allocation_columns else 0


def most_registers(limits: Limits, *, warps: int, ctas: int) -> int:
    """Registers of a thread with which so many CTAs of so many warps share an SM; 0 if none."""
    return limits.registers_per_sm // (32 * warps * ctas) // _REGISTER_UNIT * _REGISTER_UNIT


def most_shared(limits: Limits, *, ctas: int) -> int:
    """Bytes of shared memory that each of so many CTAs of an SM may ask for; 0 if none."""
    return max(0, limits.shared_memory_per_sm // ctas - limits.shared_memory_reserved)
