"""Mutants of a kernel: its TTGIR with one thing changed that matters to synchronization.

Triton prints one operation a line, so a mutant is the text with lines left out, repeated, moved, or changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tlxviz.ir import load_program
from tlxviz.ir.operation import Operation, Value
from tlxviz.ir.program import BarrierArray, Buffer, Program

WAIT = "ttng.wait_barrier"
ARRIVALS = ("ttng.arrive_barrier", "tlx.warp_barrier_arrive", "ttng.tc_gen5_commit")
NAMED = (
    "ttng.wait_barrier_named",
    "ttng.arrive_barrier_named",
    "tlx.named_barrier_wait",
    "tlx.named_barrier_arrive",
)
FENCE = "ttng.fence_async_shared"
EXPECT = "ttng.barrier_expect"
PRODUCT = "ttng.tc_gen5_mma"
READS = (
    "ttg.local_load",
    "ttng.tmem_load",
    "ttng.warp_group_dot_wait",
    "ttng.async_tma_store_wait",
)
"""After which memory has been read, and may be given back."""
PENDING = {
    "ttng.warp_group_dot_wait": "pendings",
    "ttng.async_tma_store_wait": "pendings",
    "ttg.async_wait": "num",
}
"""Waits for all but so many."""
_NEW = "%mutant"


@dataclass(frozen=True)
class Mutant:
    """A kernel with one fault, perhaps."""

    kind: str
    """What was done to it, such as `drop wait`."""
    what: str
    """To which operation: its line in the TTGIR, name and variable."""
    ttgir: str


def mutants_of(ttgir: str) -> list[Mutant]:
    """All mutants of a kernel, in the order of their lines."""
    return list(_Mutator(ttgir).all())


class _Mutator:
    def __init__(self, ttgir: str) -> None:
        self.lines = ttgir.split("\n")
        self.program: Program = load_program(ttgir)
        self.operations = [op for op in self.program.module.walk() if op.line]

    def all(self) -> Iterator[Mutant]:
        for op in self.operations:
            yield from self._of(op)
        yield from self._shorter_rings()

    def _of(self, op: Operation) -> Iterator[Mutant]:
        match op.name:
            case name if name == WAIT:
                yield self._drop(op, "drop wait")
                yield self._twice(op, "duplicate wait")
                yield self._flipped(op)
                yield from self._swapped(op)
            case name if name in ARRIVALS:
                yield self._drop(op, "drop arrive")
                yield self._twice(op, "duplicate arrive")
                yield from self._before_read(op)
            case name if name in NAMED:
                kind = "wait" if "wait" in name else "arrive"
                yield self._drop(op, f"drop {kind}")
                yield self._twice(op, f"duplicate {kind}")
            case name if name == EXPECT:
                yield self._drop(op, "drop expect")
                yield self._twice(op, "duplicate expect")
                yield from self._other_bytes(op)
            case name if name == FENCE:
                yield self._drop(op, "drop fence")
                yield self._twice(op, "duplicate fence")
            case "ttng.init_barrier":
                yield from self._other_count(op)
            case "ttg.memdesc_index":
                yield from self._other_slot(op)
            case name if name in PENDING:
                yield from self._looser(op)
            case name if name == PRODUCT:
                yield from self._silent(op)
            case _:
                pass

    # ------------------------------------------------------------------ making them

    def _mutant(self, kind: str, op: Operation, changed: dict[int, Sequence[str]]) -> Mutant:
        """The text with other lines in the place of some, whose numbers count from 1."""
        lines: list[str] = []
        for number, line in enumerate(self.lines, 1):
            lines += changed.get(number, (line,))
        return Mutant(kind, f"line {op.line}: {op.name} {self._variable(op)}".rstrip(), "\n".join(lines))

    def _variable(self, op: Operation) -> str:
        for part in ("barrier", "alloc", "src", "dst", "d"):
            value = op.operand(part)
            root = self.program.roots.get(value) if value is not None else None
            if root is not None:
                return root.name
        return ""

    def _line(self, op: Operation) -> str:
        return self.lines[op.line - 1]

    def _drop(self, op: Operation, kind: str) -> Mutant:
        return self._mutant(kind, op, {op.line: ()})

    def _twice(self, op: Operation, kind: str) -> Mutant:
        return self._mutant(kind, op, {op.line: (self._line(op), self._line(op))})

    def _instead(self, op: Operation, value: Value, new: str) -> str:
        """The operation's line with another value for an operand."""
        head, equals, tail = self._line(op).partition(" = ") if op.results else ("", "", self._line(op))
        return head + equals + re.sub(rf"{re.escape(value.name)}(?![\w#])", new, tail)

    # ------------------------------------------------------------------ one kind each

    def _flipped(self, op: Operation) -> Mutant:
        phase = op.groups["phase"][0]
        kind = str(phase.type) if str(phase.type) in ("i1", "i32") else "i32"
        one = f"{_NEW}_one = arith.constant {'true' if kind == 'i1' else f'1 : {kind}'}"
        other = f"{_NEW}_phase = arith.xori {phase.name}, {_NEW}_one : {kind}"
        changed = (one, other, self._instead(op, phase, f"{_NEW}_phase"))
        return self._mutant("flip parity", op, {op.line: changed})

    def _swapped(self, op: Operation) -> Iterator[Mutant]:
        """With the next wait of the same block, if only the way to its barrier lies between."""
        assert op.block is not None
        after = op.block.operations[op.block.operations.index(op) + 1 :]
        for other in after:
            if other.name == WAIT:
                changed = {op.line: (), other.line: (self._line(other), self._line(op))}
                yield self._mutant("swap waits", op, changed)
                return
            if not other.name.startswith(("arith.", "ttg.memdesc_index")):
                return

    def _before_read(self, op: Operation) -> Iterator[Mutant]:
        """Moved up across the last read before it, with what it needs."""
        assert op.block is not None
        before = op.block.operations[: op.block.operations.index(op)]
        read = next((each for each in reversed(before) if each.name in READS), None)
        if read is None or read.regions:
            return
        between = before[before.index(read) :]
        needed: list[Operation] = []
        for each in reversed(between):
            if any(result in operands for result in each.results for operands in self._operands(op, *needed)):
                needed.insert(0, each)
        if any(not each.name.startswith(("arith.", "ttg.memdesc_index")) for each in needed):
            return
        moved = [self._line(each) for each in (*needed, op)]
        changed: dict[int, Sequence[str]] = {each.line: () for each in (*needed, op)}
        changed[read.line] = (*moved, self._line(read))
        yield self._mutant("arrive before read", op, changed)

    @staticmethod
    def _operands(*operations: Operation) -> list[tuple[Value, ...]]:
        return [each.operands for each in operations]

    def _other_bytes(self, op: Operation) -> Iterator[Mutant]:
        size = op.attributes["bytes"]
        for other in (2 * size, size // 2):
            line = re.sub(rf"\b{size}\b", str(other), self._line(op), count=1)
            yield self._mutant("other bytes", op, {op.line: (line,)})

    def _other_count(self, op: Operation) -> Iterator[Mutant]:
        count = op.attributes["count"]
        for other in (count + 1, count - 1):
            if other > 0:
                line = re.sub(rf", {count}\b", f", {other}", self._line(op), count=1)
                yield self._mutant("other count", op, {op.line: (line,)})

    def _other_slot(self, op: Operation) -> Iterator[Mutant]:
        """The next slot of the ring."""
        source, index = op.groups["src"][0], op.groups["index"][0]
        root = self.program.roots.get(source)
        if not isinstance(root, (BarrierArray, Buffer)) or root.slots < 2 or self._initialises(op):
            return
        yield self._mutant("other slot", op, {op.line: self._at_modulo(op, index, root.slots, 1)})

    def _at_modulo(self, op: Operation, index: Value, slots: int, more: int) -> tuple[str, ...]:
        """The operation with another index: so many more, modulo the slots."""
        new = f"{_NEW}_{op.line}"
        return (
            f"{new}_more = arith.constant {more} : i32",
            f"{new}_slots = arith.constant {slots} : i32",
            f"{new}_sum = arith.addi {index.name}, {new}_more : i32",
            f"{new}_slot = arith.remsi {new}_sum, {new}_slots : i32",
            self._instead(op, index, f"{new}_slot"),
        )

    def _initialises(self, op: Operation) -> bool:
        return any(each.name == "ttng.init_barrier" and op.result in each.operands for each in self.operations)

    def _looser(self, op: Operation) -> Iterator[Mutant]:
        """Waits for one less."""
        name = PENDING[op.name]
        line = re.sub(rf"({name} = ){op.attributes[name]}\b", rf"\g<1>{op.attributes[name] + 1}", self._line(op))
        if line != self._line(op):
            yield self._mutant("looser wait", op, {op.line: (line,)})

    def _silent(self, op: Operation) -> Iterator[Mutant]:
        """A product that tells none of its mbarriers."""
        if op.groups.get("barriers"):
            line = re.sub(r"(%[\w#]+)\[%[\w#]+\]", rf"\1[{_NEW}_false]", self._line(op))
            yield self._mutant("drop arrive", op, {op.line: (f"{_NEW}_false = arith.constant false", line)})

    def _shorter_rings(self) -> Iterator[Mutant]:
        """The tiles of a ring share one slot less than its barriers count."""
        for buffer in self.program.buffers:
            if buffer.slots < 2:
                continue
            changed: dict[int, Sequence[str]] = {}
            for op in self.operations:
                if op.name == "ttg.memdesc_index" and self.program.roots.get(op.groups["src"][0]) is buffer:
                    changed[op.line] = self._at_modulo(op, op.groups["index"][0], buffer.slots - 1, 0)
            if changed:
                yield self._mutant("shorter ring", buffer.operation, changed)
