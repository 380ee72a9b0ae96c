"""`ttng`: products of the fifth-generation tensor cores, whose sums are in tensor memory.

A product runs by itself. It takes its operands and gives its result when it is complete, in the order of issue, and
then arrives at its barriers: a kernel that reads a sum too early, or writes an operand too early, computes wrong
numbers here, as it may on a GPU.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass

from tlxviz.devices.model import Tcgen05
from tlxviz.ir.operation import Operation, Value
from tlxviz.ir.types import MemDescType, ScalarType, element_of
from tlxviz.sim.emitter import Emitter, emits
from tlxviz.sim.engine import TENSOR_CORE
from tlxviz.sim.errors import UnsupportedOperation
from tlxviz.sim.expressions import tuple_code
from tlxviz.sim.representation import Scalar
from tlxviz.sim.runtime.products import Factor, Product
from tlxviz.sim.semantics.operands import scalar_type
from tlxviz.sim.semantics.shared_memory import contents, is_tensor_memory
from tlxviz.sim.semantics.sync import barrier, close_guard, open_guard

ROW_BYTES = 32
"""Bytes of a row of A, and of a column of B, that one instruction reads, whatever the type."""
_WIDEST = 256
"""Columns of an instruction."""
_FLOATS = {"e4m3": "f8E4M3FN", "e5m2": "f8E5M2"}


@dataclass(frozen=True, slots=True)
class Work:
    """What a product asks of the tensor cores of each SM that takes part."""

    flop: int
    instructions: int
    each: float
    """Cycles from one instruction to the next."""
    first: float
    """Cycles from issue until a wait for one instruction goes on."""


def figures(e: Emitter) -> Tcgen05:
    """What the device's file says of these products.

    Raises:
        UnsupportedOperation: the device has none.
    """
    found = e.unit.device.tcgen05
    if found is None:
        raise UnsupportedOperation(f"tcgen05, which {e.unit.device.title} does not have: try --device sim:b200")
    return found


def _paired(op: Operation) -> bool:
    """Whether a product is of a pair of CTAs."""
    return "two_ctas" in op.attributes


def work_of(e: Emitter, op: Operation) -> Work:
    """How much a product is, and how long its instructions take."""
    core = figures(e)
    a, d = op.groups["a"][0], op.groups["d"][0]
    assert isinstance(a.type, MemDescType)
    assert isinstance(d.type, MemDescType)
    rows, width = d.type.shape
    depth = a.type.shape[-1] * (2 if _format(op, "lhs") == "e2m1" else 1)
    pair, in_tensor_memory = _paired(op), is_tensor_memory(a)
    tall = min(rows, int(d.type.encoding.parameters["blockM"]) if d.type.encoding is not None else rows)
    wide = min(width, _WIDEST)
    rate, step = _rate(e, op)
    count = math.ceil(rows / tall) * math.ceil(width / wide) * max(1, depth // step)
    flop = 2 * rows * width * depth
    counted = 128 if not pair else tall
    turn = 2 * counted * wide * step / rate
    read = (0 if in_tensor_memory else tall) + (wide // 2 if pair else wide)
    key = f"{'ts' if in_tensor_memory else 'ss'}_{'64' if tall == 64 else '128'}"
    floor = core.ts_floor_cycles if in_tensor_memory else getattr(core, f"{key}_floor_cycles")
    if pair:
        latency = getattr(core, f"pair_{key}_latency_cycles")
    else:
        latency = core.ts_latency_cycles if in_tensor_memory else getattr(core, f"{key}_latency_cycles")
    if op.operand("a_scale") is not None:
        latency += core.scaled_cycles
    each = max(turn, read * ROW_BYTES / core.shared_bytes_per_cycle, floor)
    return Work(flop, count, each, turn + latency)


def _format(op: Operation, side: str) -> str:
    """The format of an operand of a scaled product; empty for any other."""
    return str(op.attributes.get(side, ""))


def _rate(e: Emitter, op: Operation) -> tuple[float, int]:
    """FLOP per cycle and SM, and the steps along K that one instruction does."""
    core, tcgen05 = e.unit.device.tensor_core, figures(e)
    if op.name == "ttng.tc_gen5_mma":
        element = scalar_type(op.groups["a"][0].type)
        rates = {"f16": core.fp16, "bf16": core.bf16, "f32": core.tf32, "i8": core.int8}
        return rates.get(element.name, core.fp8), ROW_BYTES // element.bytes
    formats = {_format(op, "lhs"), _format(op, "rhs")}
    if formats == {"e2m1"}:
        return (tcgen05.nvf4 if _scale_is_float(op.groups["a_scale"][0]) else tcgen05.mxf4), 2 * ROW_BYTES
    return (tcgen05.fp4 if "e2m1" in formats else core.fp8), ROW_BYTES


def _scale_is_float(value: Value) -> bool:
    element = element_of(value.type)
    return isinstance(element, ScalarType) and element.is_float


def _factor(e: Emitter, op: Operation, part: str, side: str, axis: int) -> Factor:
    """How an operand is read."""
    value = op.groups[part][0]
    element = scalar_type(value.type)
    root = e.unit.program.roots.get(value)
    wide = (
        not is_tensor_memory(value)
        and element.is_float
        and element.bytes < 4
        and root is not None
        and root.index not in e.unit.narrow
    )
    kind = _format(op, side)
    if kind == "e2m1":
        return Factor("fp4", axis)
    if kind and kind not in _FLOATS:
        raise UnsupportedOperation(f"a scaled product of {kind}")
    if kind and element.is_integer:
        return Factor(_FLOATS[kind], axis)
    if wide:
        return Factor("", axis)
    if element.name == "f32":
        return Factor("tf32", axis)
    return Factor("double" if element.is_integer else "float", axis)


def _told(e: Emitter, op: Operation) -> str:
    """The mbarriers that a product arrives at, as a tuple; empty where there are none."""
    told: list[str] = []
    for value, condition in zip(op.groups.get("barriers", ()), op.groups.get("barrier_preds", ()), strict=True):
        b, chosen = barrier(e, value), e.scalar(condition)
        told.append(b if chosen == "True" else f"*(({b},) if {chosen} else ())")
    return tuple_code(told) if told else ""


def _sources(e: Emitter, op: Operation) -> str:
    """What a product reads and writes, as `runtime.products.Sources`."""
    views = [e.scalar(op.groups[part][0]) for part in ("a", "b", "d")]
    scales = [e.scalar(op.groups[part][0]) if op.operand(part) else "None" for part in ("a_scale", "b_scale")]
    return f"({', '.join([*views, *scales, e.scalar(op.groups['use_d'][0])])})"


@contextmanager
def _leader(e: Emitter, pair: bool) -> Generator[None]:
    """Of a pair of CTAs the first one issues; the other one lends its memory and its tensor cores."""
    if not pair:
        yield
        return
    if not e.unit.clustered:
        raise UnsupportedOperation("a product of two CTAs in a kernel without clusters: launch it with ctas_per_cga")
    e.flush()
    with e.block("if not cta.rank & 1:"):
        yield
        e.flush()


@emits("ttng.tc_gen5_mma", "ttng.tc_gen5_mma_scaled")
def product(e: Emitter, op: Operation) -> None:
    core, work, pair = figures(e), work_of(e, op), _paired(op)
    e.settle_loads()
    told, sources = _told(e, op), _sources(e, op) if contents(e, op.groups["d"][0]) else "None"
    guarded = open_guard(e, op)
    with _leader(e, pair):
        _issue(e, op, core, work, told, sources)
    close_guard(e, guarded)
    for result in op.results:
        e.set(result, Scalar("None"))


def _issue(e: Emitter, op: Operation, core: Tcgen05, work: Work, told: str, sources: str) -> None:
    pair = _paired(op)
    duration = max(1, round(work.instructions * work.each))
    last = work.first + (work.instructions - 1) * work.each + (core.batch_cycles if work.instructions > 1 else 0)
    # that a wait goes on takes time of its own
    complete = max(1, round(last - e.unit.device.sync.mbarrier_wake))
    takes = round(work.instructions * core.issue_cycles + len(op.groups.get("barriers", ())) * core.commit_cycles)
    spec = e.constant(
        Product(
            e.site(),
            e.site() + TENSOR_CORE * len(e.unit.program.sites),
            duration,
            complete,
            work.flop,
            _factor(e, op, "a", "lhs", 1),
            _factor(e, op, "b", "rhs", 0),
            e.unit.options.detailed,
        )
    )
    slot = f"{e.scalar(op.groups['d'][0])}.slot"
    e.flush()
    begin = e.mark()
    e.order()
    row = e.row()
    x, done = e.fresh("x"), e.fresh("x")
    from_ = e.late("max(t, me.copied)" if e.unit.copies_to_tensor_memory else "t", "tcgen05")
    if pair:
        outer, inner = e.iteration()
        e.line(f"{x}, {done} = multiply_paired({spec}, cta, {from_}, {row}, ({outer}, {inner}), {slot})")
    else:
        e.line(f"{x}, {done} = sm.multiply({from_}, {duration}, {complete}, {work.flop})")
    _watch(e, op, pair)
    e.line(f"t += {takes}")
    if "is_async" not in op.attributes:
        e.line(f"if t < {done}: t = {done}")
        e.watch("tensor_work_done", at=False)
    e.record(begin=begin, slot=slot)
    e.record(begin=x, end=done, slot=slot, cause=row, engine=TENSOR_CORE)
    cause = f"{row} + 1" if e.traced else "-1"
    e.line(f"me.products = ({done}, {cause})")
    if told or sources != "None":
        prepare = "of_pair" if pair else "of_one"
        finished = f"{prepare}({spec}, cta, {sources}, {told or '()'}, {cause})"
        e.line(f"heappush(heap, ({done}, next(seq), finish_product, {finished}))")
    if told:
        e.watch_arrival(done, f"[each for each, _ in arrivals_of_pair(cta, {told}, -1, -1)]" if pair else told)


def _watch(e: Emitter, op: Operation, pair: bool) -> None:
    read = [e.scalar(value) for part in ("a", "b", "a_scale", "b_scale") for value in op.groups.get(part, ())]
    total, added = e.scalar(op.groups["d"][0]), e.scalar(op.groups["use_d"][0])
    if added != "False":
        read.append(total if added == "True" else f"*(({total},) if {added} else ())")
    e.watch("tensor_work", tuple_code(read), total, str(pair))


@emits("ttng.tc_gen5_commit")
def commit(e: Emitter, op: Operation) -> None:
    """An mbarrier is told when all that the warp group has handed to the tensor cores until now is complete.

    In a kernel of pairs the first CTA commits, and both are told.
    """
    core = figures(e)
    e.settle_loads()
    guarded = open_guard(e, op)
    b = barrier(e, op.groups["barrier"][0])
    with _leader(e, e.unit.pairs):
        _commit(e, core, b)
    close_guard(e, guarded)


def _commit(e: Emitter, core: Tcgen05, b: str) -> None:
    e.flush()
    begin = e.mark()
    e.charge(latency=core.commit_cycles)
    e.order()
    row = e.row()
    e.record(begin=begin, barrier=b)
    done, cause = e.fresh("x"), e.fresh("n")
    e.line(f"{done}, {cause} = me.products")
    e.line(f"if {done} <= t: {done}, {cause} = t, {row}")
    arrivals = f"arrivals_of_pair(cta, ({b},), {cause}, {e.foreign(cause)})" if e.unit.pairs else f"(({b}, {cause}),)"
    e.line(f"heappush(heap, ({done}, next(seq), arrive_complete, ({e.site()}, cta, {arrivals})))")
    e.watch_arrival(done, f"[told for told, _ in {arrivals}]")
