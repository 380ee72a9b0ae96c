"""Rows of global memory that begin between two sectors: each access of a warp then moves one sector more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tlxviz.ir.operation import Operation, Value
from tlxviz.ir.types import PointerType, TensorType, bytes_of, element_of
from tlxviz.sim.representation import Pointers

if TYPE_CHECKING:
    from tlxviz.sim.emitter import Emitter

SECTOR = 32
"""Bytes that memory moves at least."""
_WIDEST = 16
"""Bytes that a thread accesses by one instruction; of accesses as wide, a sector more is 6 %."""
_SCALARS = ("arith.", "tt.get_", "tt.splat", "tt.make_range", "tt.addptr")


def narrow(op: Operation) -> int | None:
    """Bytes that a thread moves at once, if `op` loads or stores a row by narrow accesses whose place in memory is made
    of ranges and scalars alone."""
    if op.name not in ("tt.load", "tt.store"):
        return None
    pointer = op.groups["ptr"][0]
    type_ = pointer.type
    if not isinstance(type_, TensorType) or len(type_.shape) != 1:
        return None
    if type_.encoding is None or type_.encoding.name != "blocked" or not _plain(pointer):
        return None
    element = element_of(type_)
    assert isinstance(element, PointerType)
    width = int(type_.encoding.parameters["sizePerThread"][0]) * bytes_of(element.pointee)
    return width if width < _WIDEST else None


def _plain(value: Value) -> bool:
    owner = value.owner
    if not isinstance(owner, Operation):
        return not isinstance(value.type, TensorType)
    return owner.name.startswith(_SCALARS) and all(_plain(operand) for operand in owner.operands)


def excess(e: Emitter, op: Operation) -> str:
    """Code that is multiplied to the time of a load or store: by how much more than its bytes it moves."""
    width = narrow(op)
    pointer = op.groups["ptr"][0]
    if width is None or not e.alive(pointer):
        return ""
    held = e.get(pointer)
    element = element_of(pointer.type)
    if not isinstance(held, Pointers) or not isinstance(element, PointerType):
        return ""
    return f" * (1 + (({held.offset}) * {bytes_of(element.pointee)} % {SECTOR} > 0) / {width})"
