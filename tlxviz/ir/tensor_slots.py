"""Which slot of an allocation of tensor memory a view is in, also through views of other types and shapes."""

from __future__ import annotations

from tlxviz.ir.operands import SlotIndex, affine, captured, slot_index
from tlxviz.ir.operation import Operation, Value
from tlxviz.ir.roots import ALLOCATIONS
from tlxviz.ir.types import MemDescType, bytes_of

_LANES = 128
_COLUMN_BYTES = 4


def columns_of(type_: MemDescType) -> int:
    """Columns of 32 bits that memory of a type takes, with a lane for each row, up to all lanes."""
    lanes = min(type_.shape[-2], _LANES) if len(type_.shape) > 1 else _LANES
    return -(-bytes_of(type_) // (lanes * _COLUMN_BYTES))


def tensor_slot(value: Value) -> SlotIndex | None:
    """Like `slot_index`, and where a view of another type or shape has a constant index too: None if nothing tells."""
    direct = slot_index(value)
    if direct is not None:
        return direct
    column = 0
    while True:
        value = captured(value)
        made, type_ = value.owner, value.type
        if not isinstance(made, Operation) or not isinstance(type_, MemDescType):
            return None
        if made.name in ALLOCATIONS:
            slots = type_.shape[0] if len(type_.shape) > 2 else 1
            return SlotIndex(None, column // (columns_of(type_) // slots))
        if made.name == "ttg.memdesc_index":
            index = affine(made.operands[1])
            if index.base is not None:
                return None
            column += index.offset * columns_of(type_)
        elif made.name == "ttng.tmem_subslice":
            before = MemDescType((*type_.shape[:-1], int(made.attributes["N"])), type_.element)
            column += columns_of(before)
        elif made.name != "ttg.memdesc_reinterpret":
            return None
        value = made.operands[0]
