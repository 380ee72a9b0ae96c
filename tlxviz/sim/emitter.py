"""Writes the Python source of one warp group: names, lines, representations of values, time and records."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from tlxviz.ir.operation import Operation, Value
from tlxviz.ir.program import Agent, BarrierArray
from tlxviz.ir.sites import kernel_line
from tlxviz.ir.types import MemDescType, ScalarType, TensorType, Type, element_of
from tlxviz.sim.dtypes import torch_dtype
from tlxviz.sim.errors import UnsupportedOperation
from tlxviz.sim.expressions import is_literal, parts_code, tuple_code
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
from tlxviz.sim.unit import Line, Unit

Emit = Callable[["Emitter", Operation], None]
EMITTERS: dict[str, Emit] = {}
"""The semantics of operations, filled by `emits`."""
_HEAVY_SLOTS = 48  # below this, sharing the schedulers with other warp groups changes nothing that shows
_HEAVY_WITHOUT_PRODUCTS = 8
"""The same in kernels that are nothing but arithmetic, of which an SM runs many CTAs at once."""
_PIECE = 256
"""Cycles of work in one go: warp groups that compute at the same time take turns."""


def emits(*names: str) -> Callable[[Emit], Emit]:
    """Registers a function as the semantics of operations; a second registration is a mistake."""

    def register(function: Emit) -> Emit:
        for name in names:
            if name in EMITTERS:
                raise ValueError(f"{name} has semantics already")
            EMITTERS[name] = function
        return function

    return register


@dataclass(slots=True)
class Cost:
    """Work since the last time the clock moved, in cycles of the warp group running alone."""

    slots: float = 0.0
    """Issue slots on the busiest scheduler."""
    logic: float = 0.0
    """Cycles of the pipe for comparisons, logic and packed conversions."""
    mufu: float = 0.0
    shared: float = 0.0
    """Cycles of the path to shared memory, which shuffles take as well."""
    latency: float = 0.0


class Emitter:
    """Writes one function."""

    def __init__(self, unit: Unit, agent: Agent | None, warps: int, *, timed: bool = True) -> None:
        self.unit = unit
        self.agent = agent
        """The warp group that it is the function of; None for a function that several may call."""
        self.timed = timed
        """Whether it runs on a warp group's clock; a combine region does not."""
        self.warps = warps
        self.threads = 32 * warps
        self.body: list[Line] = []
        self.indent = 1
        self.held: dict[Value, Held] = {}
        self.loops: list[str] = []
        self.cost = Cost()
        self.operation: Operation | None = None
        self.pending: dict[Value, str] = {}
        self.reading = False
        """Whether warps may still read shared memory that others are about to write."""
        self.unmet = False
        """Whether the warps of the group have not met since one of them arrived at an mbarrier."""
        self.unbounded = 0
        """Loops around the operation whose trip count is not known when they begin."""
        self._checked: list[set[str]] = [set()]
        self.joined_at: tuple[str, str] | None = None
        """Variables with the cycles at which the default task began and ceased to wait for its partitions."""

    # ------------------------------------------------------------------ lines and names

    def line(self, text: str) -> None:
        """Appends a line at the indentation reached."""
        self.body.append((self.indent, text, self.operation))

    @contextmanager
    def block(self, heading: str) -> Generator[None]:
        """An indented block under `heading`."""
        self.line(heading)
        self.indent += 1
        before = len(self.body)
        self._checked.append(set())
        yield
        self._checked.pop()
        if len(self.body) == before:
            self.line("pass")
        self.indent -= 1

    def check_slot(self, index: str, slots: int, name: str) -> None:
        """The next lines run only where `index` is a slot of `name`."""
        key = f"{index} < {slots}"
        if any(key in checked for checked in self._checked):
            return
        if not (index.isdigit() and int(index) < slots):
            self.line(f"if not 0 <= {index} < {slots}: bad_slot({index}, {slots}, {name!r})")
        self._checked[-1].add(key)

    def poll(self) -> None:
        """The operation reads memory, perhaps until somebody writes it."""
        if self.unbounded and self.timed and self.operation is not None:
            place = self.constant(kernel_line(self.operation.location, self.unit.program.kernel.location))
            self.line(f"loop.poll(me, t, {place})")

    def wrote(self) -> None:
        """The operation wrote memory."""
        if self.timed and self.unit.polls:
            self.line("loop.version += 1")

    def fresh(self, prefix: str = "v") -> str:
        """A new name."""
        self.unit.counter += 1
        return f"{prefix}{self.unit.counter}"

    def let(self, code: str, prefix: str = "v") -> str:
        """A new variable for the value of `code`; names and literals stay what they are."""
        if code.isidentifier() or is_literal(code):
            return code
        name = self.fresh(prefix)
        self.line(f"{name} = {code}")
        return name

    def queue(self, unit: str, cycles: int | str) -> str:
        """A new variable for the cycle at which a unit of the SM takes up work that keeps it busy so long.

        Args:
            unit: The attribute of `Sm` that says from when on the unit is free, such as `tma_free`.
            cycles: How long, as a number or as code.
        """
        x = self.fresh("x")
        self.line(f"{x} = sm.{unit}")
        self.line(f"if {x} < t: {x} = t")
        self.line(f"sm.{unit} = {x} + {cycles}")
        return x

    def constant(self, value: Any) -> str:
        """A global name for `value`."""
        return self.unit.constant(value)

    # ------------------------------------------------------------------ values

    def alive(self, value: Value) -> bool:
        """Whether `value` is computed."""
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
        """Says how `value` is held."""
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
                if is_literal(code):
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
        """Assigns the only result one number, view or descriptor."""
        self.set(op.result, Scalar(self.let(code)))

    def shape(self, value: Value) -> tuple[int, ...]:
        """Sizes of a tensor or memory view; none for anything else."""
        match value.type:
            case TensorType(shape=shape) | MemDescType(shape=shape):
                return shape
            case _:
                return ()

    # ------------------------------------------------------------------ representations across control flow

    def joined(self, a: Held, b: Held, type_: Type) -> Held:
        """A representation that `a` and `b` can both be converted to."""
        rank = len(type_.shape) if isinstance(type_, TensorType) else 0
        return join(a, b, rank)

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

    def charge(
        self,
        slots: float = 0.0,
        *,
        logic: float = 0.0,
        mufu: float = 0.0,
        shared: float = 0.0,
        latency: float = 0.0,
    ) -> None:
        """Adds work that the warp group does before its next operation that others can see."""
        cost = self.cost
        cost.slots += slots
        cost.logic += logic
        cost.mufu += mufu
        cost.shared += shared
        cost.latency += latency

    @property
    def started(self) -> bool:
        """Whether work has been charged since the clock moved last, which a result may still be part of."""
        cost = self.cost
        return max(cost.slots, cost.logic, cost.mufu, cost.shared) > 0

    def flush(self) -> None:
        """Moves the clock by the work since the last time."""
        cost = self.cost
        latency = round(cost.latency)
        self.cost = Cost()
        if not self.timed:
            return
        longest = max(cost.slots, cost.logic, cost.mufu, cost.shared)
        if longest >= (_HEAVY_SLOTS if self.unit.multiplies else _HEAVY_WITHOUT_PRODUCTS):
            pieces = math.ceil(longest / _PIECE)
            work = self.unit.constant(self._work(cost, pieces), "W")
            if pieces > 1:
                self.line(f"for _ in range({pieces}):")
                self.indent += 1
            self.line("if heap[0][0] < t: t = yield t")
            self.line(f"t = sm.compute(t, {work})")
            if pieces > 1:
                self.indent -= 1
            if latency:
                self.line(f"t += {latency}")
            return
        total = round(longest) + latency
        if total:
            self.line(f"t += {total}")

    def _work(self, cost: Cost, pieces: int) -> tuple[float, ...]:
        """The argument of `Sm.compute`."""
        alu, memory = self.unit.device.alu, self.unit.device.memory
        share = min(1.0, self.warps / alu.schedulers)
        slower = (
            alu.fp32 / alu.fp32_beside_products,
            alu.compare / alu.compare_beside_products,
            alu.mufu / alu.mufu_beside_products,
            memory.shared_bytes_per_cycle / memory.shared_beside_products,
        )
        alone = [each / pieces for each in (cost.slots, cost.logic, cost.mufu, cost.shared)]
        beside = [each * factor for each, factor in zip(alone, slower, strict=True)]
        drag, drag_beside = (self._drag(*each) for each in (alone, beside))
        # what the FP32 pipe does; comparisons and the MUFU leave the products alone
        others = cost.logic * alu.compare + cost.mufu * alu.mufu
        plain = max(0.0, cost.slots - others / (32 * alu.schedulers))
        taken = self.unit.device.tensor_core.taken_by_fp32 * share * plain / pieces
        more = (late - each for late, each in zip(beside, alone, strict=True))
        return (taken, share, max(beside) + drag_beside, drag, drag_beside - drag, *alone, *more)

    def _drag(self, slots: float, logic: float, mufu: float, shared: float) -> float:
        """What work takes longer than its longest part: a warp issues in order, and the fewer warps a scheduler has,
        the less do the pipes work at the same time."""
        alu = self.unit.device.alu
        parts = (max(slots, logic), mufu, shared)
        rest = sum(parts) - max(parts)
        return rest * alu.serial_fraction / max(1.0, self.warps / alu.schedulers)

    def order(self) -> None:
        """Nothing earlier is left to happen elsewhere when the next line runs."""
        self.flush()
        if self.timed:
            if self.paced:
                self.line("t += watch.hold(me)")
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
        """Whether this function records events."""
        return self.unit.options.traced and self.timed

    @property
    def values(self) -> bool:
        """Whether tensors are computed."""
        return self.unit.options.values

    def site(self) -> int:
        """The number of the operation being written, as a site; -1 if it is none."""
        assert self.operation is not None
        site = self.unit.program.site_of.get(self.operation)
        return site.index if site else -1

    def iteration(self) -> tuple[str, str]:
        """Expressions for the iteration of the outermost and the innermost loop."""
        if self.agent is not None or not self.timed:
            return (self.loops[0], self.loops[-1]) if self.loops else ("-1", "-1")
        # a function that is called has those of its caller, and may have loops of its own
        return (f"({self.loops[0]} if outer < 0 else outer)", self.loops[-1]) if self.loops else ("outer", "inner")

    def record(
        self,
        *,
        begin: str,
        end: str = "t",
        slot: str = "-1",
        phase: str = "-1",
        cause: str = "-1",
        engine: int = 0,
        barrier: str = "",
        number: str = "",
        peer: str = "",
    ) -> None:
        """Records an event at the operation being written: of this warp group, or of an engine (see `engine.ROW`).

        Args:
            begin: When it began.
            end: When it ended.
            slot: Slot; that of `barrier` by default.
            phase: Phase; the number of those that `barrier` had completed by default.
            cause: The row that let it go on.
            engine: Whose event it is.
            barrier: The mbarrier that it is about.
            number: The number of the phase that it is about, where `phase` is something else.
            peer: The rank of the CTA whose memory it writes, where that is not about an mbarrier.
        """
        if not self.traced:
            return
        if barrier:
            slot = f"{barrier}.slot"
            phase = f"{barrier}.completed" if phase == "-1" else phase
        code = self.site() + engine * len(self.unit.program.sites)
        outer, inner = self.iteration()
        row = [f"base + {code}", begin, end, outer, inner, slot, phase, cause]
        if self.unit.detailed:
            home = peer or "-1" if not barrier else f"{barrier}.home.rank" if self.unit.clustered else "0"
            row += [f"{barrier}.array" if barrier else "-1", home, number or phase]
        self.line(f"emit(({', '.join(row)}))")

    def watch(self, event: str, *details: str, at: bool = True) -> None:
        """Tells the observer of an event at the operation being written, if there is one."""
        if not self.watched:
            return
        self.line(f"watch.{event}({self.told(*details, at=at)})")

    def late(self, cycle: str, engine: str) -> str:
        """The cycle at which an engine has done what it is handed here: later than `cycle`, if it is held up."""
        return self.let(f"{cycle} + watch.lag(me, {engine!r})", "x") if self.paced else cycle

    def watch_arrival(self, cycle: str, barriers: str) -> None:
        """Tells the observer of an arrival that is under way, and again at the cycle of its heap entry, after it."""
        if self.watched:
            sent = f"watch.sent({self.told(barriers)})"
            self.line(f"heappush(heap, ({cycle}, next(seq), watch.landed, {sent}))")

    def told(self, *details: str, at: bool = True) -> str:
        """Arguments of an observer: the warp group, and with `at` the operation and when it is executed."""
        if not at:
            return ", ".join(["me", *details])
        outer, inner = self.iteration()
        return ", ".join(["me", self.constant(self.operation), f"(t, {outer}, {inner})", *details])

    @property
    def watched(self) -> bool:
        """Whether an observer is told what this function does."""
        return self.unit.options.watched and self.timed

    @property
    def paced(self) -> bool:
        """Whether somebody may hold up what this function does."""
        return self.watched or (self.unit.options.paced and self.timed)

    def row(self) -> str:
        """A variable with the number of the row that the next record gets; -1 where nothing is recorded."""
        return self.let("len(rows)", "n") if self.traced else "-1"

    def foreign(self, row: str) -> str:
        """A row of this function as the cause of something in another CTA of the cluster; -1 if nothing is recorded."""
        return f"{row} + cta.origin" if self.traced else "-1"

    def is_barrier(self, value: Value) -> bool:
        """Whether a view of memory is of mbarriers."""
        return isinstance(self.unit.program.roots.get(value), BarrierArray)

    def mark(self) -> str:
        """A variable with the time at which the operation was reached."""
        if not self.traced:
            return "t"
        name = self.fresh("s")
        self.line(f"{name} = t")
        return name

    # ------------------------------------------------------------------ operations

    def emit(self, op: Operation) -> None:
        """Writes one operation."""
        emit = EMITTERS.get(op.name)
        if emit is None:
            raise UnsupportedOperation(f"the simulator does not know {op.name}")
        outside = self.operation
        self.operation = op
        if self.pending:
            for operand in op.operands:
                if operand in self.pending:
                    self.await_load(self.pending.pop(operand))
        emit(self, op)
        if self.unit.options.nans and self.timed:
            self._watch_nans(op)
        self.operation = outside

    def _watch_nans(self, op: Operation) -> None:
        """Tells who looks for it of a result with an element that is no number."""
        for result in op.results:
            held, element = self.held.get(result), element_of(result.type)
            if isinstance(held, Dense) and isinstance(element, ScalarType) and element.is_float:
                code = self.let(held.code)
                self.set(result, Dense(code))
                self.line(f"if has_nan({code}): watch.nan({self.told()})")


def _widen(parts: tuple[Part | None, ...], target: tuple[Part | None, ...]) -> list[str]:
    return [part.code if part else "0" for part, wish in zip(parts, target, strict=True) if wish]
