"""Names and sizes as diagrams write them."""

from __future__ import annotations

from collections.abc import Sequence

from tlxviz.diagrams.uses import ClusterBarrier, NamedBarrier, Thing, line_of
from tlxviz.ir.program import BarrierArray, Buffer, Program
from tlxviz.ir.types import MemDescType, ScalarType


def name_of(program: Program, thing: Thing) -> str:
    """The variable of the kernel, or where the memory is made that has none."""
    if isinstance(thing, NamedBarrier | ClusterBarrier) or not thing.name.startswith("%"):
        return thing.name
    line = line_of(program, thing.operation)
    what = "barrier" if isinstance(thing, BarrierArray) else "tile"
    return f"{what} of line {line}" if line else thing.name


def bytes_text(count: int) -> str:
    """`16 KiB`, or `48 B` where that is not whole KiB."""
    return f"{count // 1024} KiB" if count and count % 1024 == 0 else f"{count} B"


def counts_text(counts: Sequence[int]) -> str:
    """Arrivals that complete a phase, of all slots: one number where they agree."""
    return str(counts[0]) if len(set(counts)) == 1 else ", ".join(map(str, counts))


def number_of(count: int, noun: str) -> str:
    """`1 slot`, `4 slots`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def shape_text(buffer: Buffer) -> str:
    """Shape and element of one slot: `64x256 f16`."""
    type_ = buffer.operation.results[0].type
    if not isinstance(type_, MemDescType):
        return ""
    # the leading dimension of a tile with several is that of the slots, also where there is one
    shape = type_.shape[1:] if buffer.slots > 1 or (len(type_.shape) > 2 and type_.shape[0] == 1) else type_.shape
    element = type_.element.name if isinstance(type_.element, ScalarType) else ""
    return f"{'x'.join(map(str, shape))} {element}".strip()


def space_text(buffer: Buffer) -> str:
    """`TMEM` for tensor memory, else nothing."""
    type_ = buffer.operation.results[0].type
    return "TMEM" if isinstance(type_, MemDescType) and type_.space == "tensor_memory" else ""
