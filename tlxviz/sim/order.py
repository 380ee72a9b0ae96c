"""Where the assembler lets instructions change places so that others notice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tlxviz.ir.markers import is_marker
from tlxviz.ir.operation import Operation, Value
from tlxviz.ir.types import TensorType

_PURE = ("arith.", "math.", "ttg.memdesc_")
_PURE_OPERATIONS = frozenset(
    {
        *("tt.splat", "tt.broadcast", "tt.expand_dims", "tt.reshape", "tt.trans", "tt.split", "tt.join"),
        *("tt.reduce", "tt.fp_to_fp", "ttg.convert_layout", "ttng.tmem_subslice"),
    }
)


def compiled_order(operations: Sequence[Operation]) -> Iterator[Operation]:
    """The operations of a block in the order in which warps issue them.

    ptxas moves a store of one number a thread into tensor memory, and the arrival that tells of it, behind arithmetic
    that does not need it, as far as the next operation that others can see. In attention the factor of a block so comes
    after exponentials of the block.
    """
    held: list[Operation] = []
    given: set[Value] = set()
    for op in operations:
        if held and _goes_ahead(op, given):
            yield op
            continue
        if held and op.name == "ttng.arrive_barrier":
            held.append(op)
            continue
        yield from held
        held.clear()
        given.clear()
        if _is_narrow(op):
            held.append(op)
            given.update(op.results)
        else:
            yield op
    yield from held


def _is_narrow(op: Operation) -> bool:
    """Whether it stores one number a row into tensor memory."""
    if op.name != "ttng.tmem_store":
        return False
    type_ = op.groups["value"][0].type
    return isinstance(type_, TensorType) and type_.shape[-1] == 1


def _goes_ahead(op: Operation, given: set[Value]) -> bool:
    """Whether it is arithmetic that needs nothing of what was `given` by operations that wait."""
    if op.name == "tt.elementwise_inline_asm":
        pure = bool(op.attributes.get("pure", False)) and not is_marker(op)
    else:
        pure = op.name.startswith(_PURE) or op.name in _PURE_OPERATIONS
    return pure and given.isdisjoint(op.operands)
