"""What the functions of one kernel share while they are written."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tlxviz.devices.model import Device
from tlxviz.ir.operation import Operation, Region, Value
from tlxviz.ir.pairs import has_paired_products
from tlxviz.ir.program import Agent, Program
from tlxviz.sim.liveness import Liveness
from tlxviz.sim.ptx import compile_asm


@dataclass(frozen=True, slots=True)
class Options:
    """What to compile a kernel for."""

    values: bool
    """Whether tensors are computed, or only what feeds control flow, addresses and barriers."""
    traced: bool
    """Whether events are recorded."""
    cycle_limit: int
    """Cycles after which an agent counts as running away."""
    detailed: bool = False
    """Whether rows have `engine.DETAILS`."""
    watched: bool = False
    """Whether an observer (`observer.Observer`) is told of what orders agents and of what they touch."""
    paced: bool = False
    """Whether somebody (`observer.Pacing`) holds up agents; an observer does as well."""
    nans: bool = False
    """Whether somebody (`observer.NanWatch`) is told of results with elements that are no numbers."""


_PRODUCTS = frozenset({"ttng.warp_group_dot", "ttng.tc_gen5_mma", "ttng.tc_gen5_mma_scaled"})

Line = tuple[int, str, Operation | None]
"""Indentation, text, and the operation that it belongs to."""


@dataclass(slots=True)
class Unit:
    """What the functions of one kernel share while they are written."""

    program: Program
    device: Device
    options: Options
    liveness: Liveness
    narrow: set[int]
    """Buffers that keep their own dtype, because somebody reinterprets them."""
    borrowing: set[int]
    """Buffers whose slots may stand for tiles that descriptors keep."""
    namespace: dict[str, Any] = field(default_factory=dict[str, Any])
    """Globals of the generated code."""
    lines: list[Line] = field(default_factory=list[Line])
    """The functions that are finished."""
    arrays: set[Value] = field(default_factory=set[Value])
    """Values that hold a whole array of mbarriers."""
    callees: dict[tuple[str, int], str] = field(default_factory=dict[tuple[str, int], str])
    """Python names of functions that were not inlined, by name and warps of the caller."""
    agent_of: dict[Region, Agent] = field(default_factory=dict[Region, Agent])
    first_thread: dict[int, int] = field(default_factory=dict[int, int])
    """Number of the first thread of each agent."""
    marked: bool = False
    """Whether there are markers."""
    polls: bool = False
    """Whether the kernel has loops in which it may wait for memory."""
    meets_after: Operation | None = None
    """The operation after which the CTAs of a cluster meet without being told to: see `cluster_barriers`."""
    addressing: dict[Value, bool] = field(default_factory=dict[Value, bool])
    """Which tensors are made of ranges and scalars only; filled by `costs`."""
    counter: int = 0
    _multiplies: bool | None = None
    _pairs: bool | None = None
    _operations: dict[str, Operation] | None = None
    _users: dict[Value, list[Operation]] | None = None
    _asm: dict[Any, str] = field(default_factory=dict[Any, str])

    @property
    def multiplies(self) -> bool:
        """Whether the kernel has products that run beside its warps."""
        if self._multiplies is None:
            self._multiplies = any(name in _PRODUCTS for name in self._first)
        return self._multiplies

    @property
    def _first(self) -> dict[str, Operation]:
        """The first operation of each name."""
        if self._operations is None:
            self._operations = {}
            for op in self.program.module.walk():
                self._operations.setdefault(op.name, op)
        return self._operations

    @property
    def first_tensor_alloc(self) -> Operation | None:
        """The first allocation of tensor memory."""
        return self._first.get("ttng.tmem_alloc")

    @property
    def copies_to_tensor_memory(self) -> bool:
        """Whether the tensor cores copy from shared memory."""
        return "ttng.tmem_copy" in self._first

    @property
    def pairs(self) -> bool:
        """Whether the tensor cores of two CTAs work together."""
        if self._pairs is None:
            self._pairs = has_paired_products(self.program)
        return self._pairs

    @property
    def clustered(self) -> bool:
        """Whether CTAs run in clusters of more than one."""
        return math.prod(self.program.cluster) > 1

    @property
    def detailed(self) -> bool:
        """Whether rows have `engine.DETAILS`. With clusters, since a trace says whose barrier an arrival is for."""
        return self.options.detailed or self.clustered

    @property
    def live(self) -> set[Value]:
        """Values that are computed."""
        return self.liveness.live

    @property
    def contents(self) -> set[int]:
        """Buffers whose contents are computed."""
        return self.liveness.buffers

    def users(self, value: Value) -> list[Operation]:
        """Operations that take `value`."""
        if self._users is None:
            self._users = {}
            for op in self.program.module.walk():
                for operand in op.operands:
                    self._users.setdefault(operand, []).append(op)
        return self._users.get(value, [])

    def constant(self, value: Any, prefix: str = "K") -> str:
        """A global name for `value`."""
        self.counter += 1
        name = f"{prefix}{self.counter}"
        self.namespace[name] = value
        return name

    def asm(self, key: tuple[Any, ...]) -> str:
        """A global name for compiled inline assembly."""
        found = self._asm.get(key)
        if found is None:
            found = self._asm[key] = self.constant(compile_asm(*key), "ASM")
        return found

    def add_function(self, heading: str, body: Sequence[Line], prologue: Sequence[str] = ()) -> None:
        """Takes over the lines of a finished function."""
        self.lines.append((0, heading, None))
        self.lines += [(1, text, None) for text in prologue]
        self.lines += body
