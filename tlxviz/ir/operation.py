"""Operations, values, blocks and regions: the tree that the reader makes of TTGIR text.

Identity is by object: SSA names repeat across sibling regions and partitions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tlxviz.ir.location import UNKNOWN, Location
from tlxviz.ir.types import Type

TERMINATORS = frozenset(
    {
        "scf.yield",
        "scf.condition",
        "tt.return",
        "tt.reduce.return",
        "tt.scan.return",
        "tt.map_elementwise.return",
        "ttg.warp_return",
        "ttg.warp_yield",
        "cf.br",
        "cf.cond_br",
    }
)


@dataclass(eq=False, slots=True)
class Value:
    """One SSA value: the result of an operation, or an argument of a block."""

    name: str
    """As printed, with `%` and, for one of several results, `#i`."""
    type: Type
    owner: Operation | Block = field(repr=False)  # here and below: a printed graph has no end
    index: int
    """Position among the owner's results or arguments."""
    location: Location = UNKNOWN


@dataclass(eq=False, slots=True)
class Operation:
    """One operation. `operands` are in printed order; `groups` names them by the part they play."""

    name: str
    operands: tuple[Value, ...] = field(default=(), repr=False)
    results: tuple[Value, ...] = field(default=(), repr=False)
    attributes: dict[str, Any] = field(default_factory=dict[str, Any])
    """Properties and attributes as int, float, bool, str, list, dict, Encoding or Type."""
    regions: list[Region] = field(default_factory=list["Region"], repr=False)
    location: Location = UNKNOWN
    groups: dict[str, tuple[Value, ...]] = field(default_factory=dict[str, tuple[Value, ...]], repr=False)
    """Operands by part: `{"barrier": (%b,), "pred": (%true,)}`; absent optional parts are missing keys."""
    line: int = 0
    """1-based line in the TTGIR text."""
    block: Block | None = field(default=None, repr=False)
    """The block that holds the operation."""

    def operand(self, part: str) -> Value | None:
        """The single operand that plays `part`, or None where the operation prints none."""
        found = self.groups.get(part)
        return found[0] if found else None

    @property
    def result(self) -> Value:
        """The only result."""
        (only,) = self.results
        return only

    def walk(self) -> Iterator[Operation]:
        """This operation and all that its regions hold, in order."""
        yield self
        for region in self.regions:
            yield from region.walk()


@dataclass(eq=False, slots=True)
class Block:
    label: str = ""
    arguments: tuple[Value, ...] = ()
    operations: list[Operation] = field(default_factory=list[Operation], repr=False)
    region: Region | None = field(default=None, repr=False)

    @property
    def terminator(self) -> Operation | None:
        """The operation that ends the block; None where it is not printed, as in a loop that carries nothing."""
        last = self.operations[-1] if self.operations else None
        return last if last is not None and last.name in TERMINATORS else None

    @property
    def body(self) -> list[Operation]:
        """The operations before the terminator."""
        return self.operations if self.terminator is None else self.operations[:-1]

    @property
    def yielded(self) -> tuple[Value, ...]:
        """What the terminator passes on."""
        terminator = self.terminator
        return terminator.operands if terminator is not None else ()


@dataclass(eq=False, slots=True)
class Region:
    name: str = ""
    """`default` and `partition0`... in `ttg.warp_specialize`; otherwise empty."""
    blocks: list[Block] = field(default_factory=list[Block])
    attributes: dict[str, Any] = field(default_factory=dict[str, Any])
    """What the region's heading carries: `num_warps` of a partition."""
    parent: Operation | None = field(default=None, repr=False)

    @property
    def entry(self) -> Block:
        return self.blocks[0]

    def walk(self) -> Iterator[Operation]:
        for block in self.blocks:
            for operation in block.operations:
                yield from operation.walk()


@dataclass(eq=False, slots=True)
class Module:
    """A whole TTGIR file."""

    attributes: dict[str, Any]
    functions: dict[str, Operation] = field(repr=False)
    """`tt.func` operations by name; the kernel is the public one."""
    text: str
    source: str
    """Where the text came from, for messages."""

    @property
    def kernel(self) -> Operation:
        """The public function."""
        for function in self.functions.values():
            if function.attributes.get("sym_visibility", "public") == "public":
                return function
        return next(iter(self.functions.values()))

    def walk(self) -> Iterator[Operation]:
        for function in self.functions.values():
            yield from function.walk()
