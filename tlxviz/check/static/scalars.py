"""Whole numbers and barriers that a kernel computes, as far as they are known without a run, for the first CTA."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tlxviz.check.static.facts import LaunchFacts
from tlxviz.ir.operands import captured
from tlxviz.ir.operation import Block, Operation, Value
from tlxviz.ir.program import BarrierArray, Program
from tlxviz.ir.types import ScalarType

_AXES = {"x": 0, "y": 1, "z": 2}
_VIEWS = frozenset({"ttg.memdesc_subslice", "ttg.memdesc_subview", "ttg.memdesc_reshape", "ttng.map_to_remote_buffer"})


@dataclass(frozen=True, slots=True)
class BarrierSlot:
    """One mbarrier."""

    array: int
    slot: int


Known = int | BarrierSlot | None
"""A number, a barrier, or None where nobody can tell."""


def _quotient(a: int, b: int) -> int | None:
    """As the hardware divides: towards zero."""
    if not b:
        return None
    found = abs(a) // abs(b)
    return found if (a < 0) == (b < 0) else -found


def _remainder(a: int, b: int) -> int | None:
    quotient = _quotient(a, b)
    return None if quotient is None else a - quotient * b


_BINARY: dict[str, Callable[[int, int], int | None]] = {
    "arith.addi": lambda a, b: a + b,
    "arith.subi": lambda a, b: a - b,
    "arith.muli": lambda a, b: a * b,
    "arith.divsi": _quotient,
    "arith.divui": _quotient,
    "arith.remsi": _remainder,
    "arith.remui": _remainder,
    "arith.ceildivsi": lambda a, b: None if not b else -(-a // b),
    "arith.floordivsi": lambda a, b: None if not b else a // b,
    "arith.andi": lambda a, b: a & b,
    "arith.ori": lambda a, b: a | b,
    "arith.xori": lambda a, b: a ^ b,
    "arith.shli": lambda a, b: a << b if 0 <= b < 64 else None,
    "arith.shrsi": lambda a, b: a >> b if 0 <= b < 64 else None,
    "arith.shrui": lambda a, b: a >> b if a >= 0 and 0 <= b < 64 else None,
    "arith.minsi": min,
    "arith.maxsi": max,
    "arith.minui": min,
    "arith.maxui": max,
}
_COMPARED: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "slt": lambda a, b: a < b,
    "sle": lambda a, b: a <= b,
    "sgt": lambda a, b: a > b,
    "sge": lambda a, b: a >= b,
    "ult": lambda a, b: a < b,
    "ule": lambda a, b: a <= b,
    "ugt": lambda a, b: a > b,
    "uge": lambda a, b: a >= b,
}
_SAME = frozenset({"arith.extsi", "arith.extui", "arith.trunci", "arith.index_cast", "arith.index_castui"})


class Scalars:
    """Numbers by value.

    Args:
        program: The kernel.
        facts: Its launch.
    """

    def __init__(self, program: Program, facts: LaunchFacts) -> None:
        self._program = program
        self._facts = facts
        self._held: dict[Value, Known] = {}
        """Arguments of blocks, and results of loops and branches."""
        self._found: dict[Value, Known] = {}
        """What was computed of these."""
        self._entry = program.kernel.regions[0].entry

    def hold(self, value: Value, known: Known) -> None:
        """A value of a loop or branch is this from now on."""
        self._held[value] = known

    def forget(self) -> None:
        """What is held has changed: nothing that was computed of it holds any more."""
        self._found.clear()

    def number(self, value: Value | None) -> int | None:
        """A number."""
        found = None if value is None else self.of(value)
        return found if isinstance(found, int) else None

    def of(self, value: Value) -> Known:
        """A number or a barrier."""
        value = captured(value)
        if value in self._held:
            return self._held[value]
        if value in self._found:
            return self._found[value]
        owner = value.owner
        found = self._argument(value, owner) if isinstance(owner, Block) else self._result(value, owner)
        self._found[value] = found
        return found

    def _argument(self, value: Value, block: Block) -> Known:
        if block is not self._entry or value.index >= len(self._facts.parameters):
            return None
        fact = self._facts.parameters[value.index]
        return int(fact) if isinstance(fact, int) else None

    def _result(self, value: Value, op: Operation) -> Known:
        name = op.name
        if name == "ttg.local_alloc":
            root = self._program.roots.get(value)
            return BarrierSlot(root.index, 0) if isinstance(root, BarrierArray) else None
        if name == "ttg.memdesc_index":
            return self._slot(op)
        if name in _VIEWS:
            return self.of(op.operands[0])
        if name == "scf.if":
            return self._branch(value, op)
        if not isinstance(value.type, ScalarType) or not value.type.is_integer:
            return None
        return _wrapped(self._scalar(op), value.type.bits)

    def _branch(self, value: Value, op: Operation) -> Known:
        condition = self.number(op.operands[0])
        if condition is None or len(op.regions) < 2:
            return None
        return self.of(op.regions[0 if condition else 1].blocks[-1].yielded[value.index])

    def _slot(self, op: Operation) -> Known:
        found, index = self.of(op.operands[0]), self.number(op.operands[1])
        if not isinstance(found, BarrierSlot) or index is None:
            return None
        return BarrierSlot(found.array, found.slot + index)

    def _scalar(self, op: Operation) -> int | None:
        match op.name:
            case "arith.constant":
                made = op.attributes["value"]
                return int(made) if isinstance(made, int) else None
            case "tt.get_program_id":
                return 0 if self._facts.grid is not None else None
            case "tt.get_num_programs":
                return None if self._facts.grid is None else self._facts.grid[_axis(op)]
            case "nvg.cluster_id":
                return 0
            case "arith.select":
                condition = self.number(op.operands[0])
                return None if condition is None else self.number(op.operands[1 if condition else 2])
            case "arith.cmpi":
                return self._compared(op)
            case name if name in _SAME:
                return self.number(op.operands[0])
            case name if name in _BINARY:
                a, b = map(self.number, op.operands)
                return None if a is None or b is None else _BINARY[name](a, b)
            case _:
                return None

    def _compared(self, op: Operation) -> int | None:
        predicate = str(op.attributes["predicate"])
        a, b = map(self.number, op.operands)
        if a is None or b is None or (predicate[0] == "u" and min(a, b) < 0):
            return None
        return int(_COMPARED[predicate](a, b))


def _axis(op: Operation) -> int:
    axis = op.attributes["axis"]
    return _AXES.get(axis, 0) if isinstance(axis, str) else int(axis)


def _wrapped(value: int | None, bits: int) -> int | None:
    if value is None or not bits:
        return value
    value &= (1 << bits) - 1
    return value - (1 << bits) if bits > 1 and value >> bits - 1 else value
