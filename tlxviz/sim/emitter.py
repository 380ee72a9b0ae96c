"""Writes the Python source of one warp group: names, lines, costs, and the code that every synchronizing operation shares."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tlxviz.devices.model import Device
from tlxviz.ir.operation import Block, Operation, Region, Value
from tlxviz.ir.program import Agent, Program
from tlxviz.ir.types import MemDescType, PointerType, ScalarType, TensorType, Type, element_of
from tlxviz.sim.dtypes import torch_dtype
from tlxviz.sim.errors import UnsupportedOperation
from tlxviz.sim.liveness import Liveness
from tlxviz.sim.representation import (
    Absent,
    Dense,
    DensePointers,
    Held,
    Index,
    Mask,
    Part,
    Pointer,
    Pointers,
    Scalar,
    Uniform,
    codes,
    join,
    rebuild,
    shape_of,
)

Emit = Callable[["Emitter", Operation], None]
_EMITTERS: dict[str, Emit] = {}
_HEAVY_SLOTS = 48  # below this, sharing the schedulers with other warp groups changes nothing that shows


def emits(*names: str) -> Callable[[Emit], Emit]:
    """Registers a function as the semantics of operations; a second registration is a mistake."""

    def register(function: Emit) -> Emit:
        for name in names:
            if name in _EMITTERS:
                raise ValueError(f"{name} has semantics already")
            _EMITTERS[name] = function
        return function

    return register


def supported_operations() -> frozenset[str]:
    """Names of the operations that have semantics."""
    return frozenset(_EMITTERS)


@dataclass(frozen=True, slots=True)
class Options:
    """What to compile a kernel for."""

    values: bool
    """Whether tensors are computed, or only what feeds control flow, addresses and barriers."""
    traced: bool
    """Whether events are recorded."""
    cycle_limit: int
    """Cycles after which an agent counts as running away."""


Line = tuple[int, str, Operation | None]


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
    callees: dict[str, str] = field(default_factory=dict[str, str])
    """Python names of functions that were not inlined."""
    agent_of: dict[Region, Agent] = field(default_factory=dict[Region, Agent])
    first_thread: dict[int, int] = field(default_factory=dict[int, int])
    """Number of the first thread of each agent."""
    addressing: dict[Value, bool] = field(default_factory=dict[Value, bool])
    """Which tensors are made of ranges and scalars only; filled by `costs`."""
    counter: int = 0
    _asm: dict[Any, str] = field(default_factory=dict[Any, str])

    @property
    def live(self) -> set[Value]:
        """Values that are computed."""
        return self.liveness.live

    @property
    def contents(self) -> set[int]:
        """Buffers whose contents are computed."""
        return self.liveness.buffers

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
            from tlxviz.sim.ptx import compile_asm

            found = self._asm[key] = self.constant(compile_asm(*key), "ASM")
        return found

    def add_function(self, heading: str, emitter: Emitter, prologue: Sequence[str] = ()) -> None:
        """Takes over the lines of a finished function."""
        self.lines.append((0, heading, None))
        self.lines += [(1, text, None) for text in prologue]
        self.lines += emitter.body


@dataclass(slots=True)
class Cost:
    """Work since the last time the clock moved, in cycles of the warp group running alone."""

    slots: float = 0.0
    """Issue slots on the busiest scheduler."""
    mufu: float = 0.0
    latency: float = 0.0


class Emitter:
    """Writes one function."""

    def __init__(self, unit: Unit, agent: Agent | None, warps: int) -> None:
        self.unit = unit
        self.agent = agent
        self.warps = warps
        self.threads = 32 * warps
        self.body: list[Line] = []
        self.indent = 1
        self.held: dict[Value, Held] = {}
        self.loops: list[str] = []
        self.cost = Cost()
        self.operation: Operation | None = None
        self.pending: dict[Value, str] = {}
        self.timed = agent is not None
        self.joined_at: tuple[str, str] | None = None
        """Variables with the cycles at which the default task began and ceased to wait for its partitions."""

    # ------------------------------------------------------------------ lines and names

    def line(self, text: str) -> None:
        self.body.append((self.indent, text, self.operation))

    @contextmanager
    def block(self, heading: str) -> Iterator[None]:
        """An indented block under `heading`."""
        self.line(heading)
        self.indent += 1
        before = len(self.body)
        yield
        if len(self.body) == before:
            self.line("pass")
        self.indent -= 1

    def fresh(self, prefix: str = "v") -> str:
        self.unit.counter += 1
        return f"{prefix}{self.unit.counter}"

    def let(self, code: str, prefix: str = "v") -> str:
        """A new variable for the value of `code`; names and literals stay what they are."""
        if code.isidentifier() or _is_literal(code):
            return code
        name = self.fresh(prefix)
        self.line(f"{name} = {code}")
        return name

    def constant(self, value: Any) -> str:
        return self.unit.constant(value)

    # ------------------------------------------------------------------ values

    def alive(self, value: Value) -> bool:
        return value in self.unit.live

    def get(self, value: Value) -> Held:
        """How `value` is held; waits for it if it is still being loaded."""
        if self.pending and value in self.pending:
            self.await_load(self.pending.pop(value))
        try:
            return self.held[value]
        except KeyError:
            raise UnsupportedOperation(f"{value.name} is used where it is not defined") from None

    def set(self, value: Value, held: Held) -> None:
        self.held[value] = held

    def scalar(self, value: Value) -> str:
        """The expression of a scalar, memory view, barrier or descriptor."""
        held = self.get(value)
        match held:
            case Scalar(code) | Uniform(code):
                return code
            case Dense(code):
                return code
            case Absent():
                raise UnsupportedOperation(f"{value.name} is needed but was not computed")
            case _:
                raise UnsupportedOperation(f"{value.name} is held as {type(held).__name__} where a scalar is needed")

    def dense(self, value: Value) -> str:
        """An expression for `value` as a torch tensor (a scalar stays a scalar)."""
        return self.to_dense(self.get(value), value.type)

    def to_dense(self, held: Held, type_: Type) -> str:
        """An expression for a representation as a torch tensor."""
        match held:
            case Dense(code) | Scalar(code):
                return code
            case Uniform(code):
                dtype = torch_dtype(element_of(type_))
                assert isinstance(type_, TensorType)
                if _is_literal(code):
                    import torch

                    return self.constant(
                        torch.full(type_.shape, eval(code, {"inf": float("inf"), "nan": float("nan")}), dtype=dtype)
                    )
                return self.let(f"full({list(type_.shape)}, {code}, dtype={self.dtype(element_of(type_))})")
            case Index(offset, parts):
                assert isinstance(type_, TensorType)
                dtype = self.dtype(element_of(type_))
                return self.let(f"indices({offset}, {parts_code(parts)}, {type_.shape}).to({dtype})")
            case Mask(parts):
                assert isinstance(type_, TensorType)
                return self.let(f"mask_tensor({tuple_code(parts)}, {type_.shape})")
            case Absent():
                raise UnsupportedOperation("a value is needed but was not computed")
            case Pointer() | Pointers() | DensePointers():
                raise UnsupportedOperation("arithmetic on a tensor of pointers")

    def dtype(self, type_: Type) -> str:
        """A global name for the torch dtype of an element type."""
        dtype = torch_dtype(type_)
        name = str(dtype).replace("torch.", "d_")
        self.unit.namespace[name] = dtype
        return name

    def result_dense(self, op: Operation, code: str) -> None:
        """Assigns the only result a torch tensor."""
        self.set(op.result, Dense(self.let(code)))

    def result_scalar(self, op: Operation, code: str) -> None:
        self.set(op.result, Scalar(self.let(code)))

    def shape(self, value: Value) -> tuple[int, ...]:
        match value.type:
            case TensorType(shape=shape) | MemDescType(shape=shape):
                return shape
            case _:
                return ()

    # ------------------------------------------------------------------ representations across control flow

    def joined(self, a: Held, b: Held, type_: Type) -> Held:
        rank = len(type_.shape) if isinstance(type_, TensorType) else 0
        element = element_of(type_)
        return join(a, b, rank, isinstance(element, ScalarType) and element.is_integer)

    def convert(self, held: Held, wanted: Held, type_: Type) -> list[str]:
        """Expressions that bring `held` into the representation `wanted`."""
        if shape_of(held) == wanted:
            return codes(held)
        match held, wanted:
            case _, Absent():
                return []
            case Index(offset, parts), Index(_, target):
                return [offset, *_widen(parts, target)]
            case Uniform(code), Index(_, target):
                return [code, *("0" for part in target if part)]
            case Pointers(base, offset, parts), Pointers(_, _, target):
                return [base, offset, *_widen(parts, target)]
            case Pointers(base, offset, parts), DensePointers():
                assert isinstance(type_, TensorType)
                return [base, f"indices({offset}, {parts_code(parts)}, {type_.shape})"]
            case Mask(parts), Mask(target):
                assert isinstance(type_, TensorType)
                return [
                    part if part is not None else f"(0, {size})"
                    for part, wish, size in zip(parts, target, type_.shape, strict=True)
                    if wish is not None
                ]
            case _, Dense():
                return [self.to_dense(held, type_)]
            case _:
                raise UnsupportedOperation(f"a value changes from {type(held).__name__} to {type(wanted).__name__}")

    def variables(self, shape: Held, prefix: str) -> Held:
        """The representation `shape` in new variables."""
        return rebuild(shape, [self.fresh(prefix) for _ in codes(shape)])

    def assign(self, targets: list[str], sources: list[str]) -> None:
        """One parallel assignment."""
        pairs = [(t, s) for t, s in zip(targets, sources, strict=True) if t != s]
        if pairs:
            self.line(f"{', '.join(t for t, _ in pairs)} = {', '.join(s for _, s in pairs)}")

    # ------------------------------------------------------------------ time

    def charge(self, slots: float = 0.0, mufu: float = 0.0, latency: float = 0.0) -> None:
        """Adds work that the warp group does before its next operation that others can see."""
        cost = self.cost
        cost.slots += slots
        cost.mufu += mufu
        cost.latency += latency

    def flush(self) -> None:
        """Moves the clock by the work since the last time."""
        cost = self.cost
        slots, mufu, latency = cost.slots, cost.mufu, round(cost.latency)
        self.cost = Cost()
        if not self.timed:
            return
        if max(slots, mufu) >= _HEAVY_SLOTS:
            self.line("if heap[0][0] < t: t = yield t")
            tail = f" + {latency}" if latency else ""
            self.line(f"t = sm.compute(t, {round(slots)}, {round(mufu)}){tail}")
            return
        total = round(max(slots, mufu)) + latency
        if total:
            self.line(f"t += {total}")

    def order(self) -> None:
        """Nothing earlier is left to happen elsewhere when the next line runs."""
        self.flush()
        if self.timed:
            self.line("if heap[0][0] < t: t = yield t")

    def await_load(self, ready: str) -> None:
        """Waits until a global load has delivered."""
        self.flush()
        self.line(f"if t < {ready}: t = {ready}")

    def settle_loads(self) -> None:
        """Waits for every load under way: what follows may use any of them."""
        for ready in dict.fromkeys(self.pending.values()):
            self.await_load(ready)
        self.pending.clear()

    # ------------------------------------------------------------------ records

    @property
    def traced(self) -> bool:
        return self.unit.options.traced and self.agent is not None

    @property
    def values(self) -> bool:
        return self.unit.options.values

    def site(self) -> int:
        """The number of the operation being written, as a site; -1 if it is none."""
        assert self.operation is not None
        site = self.unit.program.site_of.get(self.operation)
        return site.index if site else -1

    def iteration(self) -> tuple[str, str]:
        """Expressions for the iteration of the outermost and the innermost loop."""
        return (self.loops[0], self.loops[-1]) if self.loops else ("-1", "-1")

    def record(
        self, *, begin: str, end: str = "t", slot: str = "-1", phase: str = "-1", cause: str = "-1", engine: int = 0
    ) -> None:
        """Records an event at the operation being written: of this warp group, or of an engine (see `engine.ROW`)."""
        if self.traced:
            code = self.site() + engine * len(self.unit.program.sites)
            outer, inner = self.iteration()
            self.line(f"emit(({code}, {begin}, {end}, {outer}, {inner}, {slot}, {phase}, {cause}))")

    def row(self) -> str:
        """A variable with the number of the row that the next record gets; -1 where nothing is recorded."""
        return self.let("len(rows)", "n") if self.traced else "-1"

    def mark(self) -> str:
        """A variable with the time at which the operation was reached."""
        if not self.traced:
            return "t"
        name = self.fresh("s")
        self.line(f"{name} = t")
        return name

    # ------------------------------------------------------------------ operations

    def emit_block(self, block: Block) -> None:
        """All operations of a block but its terminator's meaning, which the caller gives."""
        for operation in block.operations:
            self.emit(operation)

    def emit(self, op: Operation) -> None:
        emitter = _EMITTERS.get(op.name)
        if emitter is None:
            raise UnsupportedOperation(f"the simulator does not know {op.name}")
        outside = self.operation
        self.operation = op
        if self.pending:
            for operand in op.operands:
                if operand in self.pending:
                    self.await_load(self.pending.pop(operand))
        emitter(self, op)
        self.operation = outside


def _is_literal(code: str) -> bool:
    text = code.removeprefix("-")
    return text.replace(".", "", 1).replace("e", "", 1).replace("-", "", 1).replace("+", "", 1).isdigit() or code in (
        "True",
        "False",
        "None",
        "inf",
        "-inf",
        "nan",
    )


def tuple_code(items: Any) -> str:
    """A tuple display of expressions; None stays None."""
    inside = [str(item) for item in items]
    return f"({', '.join(inside)}{',' if len(inside) == 1 else ''})"


def parts_code(parts: tuple[Part | None, ...]) -> str:
    """A tuple display of the parts of an index tensor."""
    return tuple_code(part.code if part else None for part in parts)


def _widen(parts: tuple[Part | None, ...], target: tuple[Part | None, ...]) -> list[str]:
    return [part.code if part else "0" for part, wish in zip(parts, target, strict=True) if wish]


def is_pointer(type_: Type) -> bool:
    """Whether a value of the type is a pointer or a tensor of pointers."""
    return isinstance(element_of(type_), PointerType)
