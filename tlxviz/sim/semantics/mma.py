"""Matrix products: wgmma, and `tt.dot` on tensor cores or as multiply-adds."""

from __future__ import annotations

import math

from tlxviz.ir.operation import Operation, Value
from tlxviz.ir.types import MemDescType, ScalarType, TensorType, bytes_of, element_of
from tlxviz.sim import costs
from tlxviz.sim.emitter import Emitter, emits
from tlxviz.sim.engine import TENSOR_CORE
from tlxviz.sim.expressions import tuple_code
from tlxviz.sim.representation import Absent, Dense, Uniform
from tlxviz.sim.semantics.operands import scalar_type, skip
from tlxviz.sim.semantics.sync import drain


def flop(op: Operation) -> int:
    """Floating-point operations of an MMA: a multiply-add counts two."""
    type_ = op.result.type
    a = op.groups["a"][0].type
    assert isinstance(type_, TensorType)
    assert isinstance(a, (TensorType, MemDescType))
    return 2 * type_.size * a.shape[-1]


K_BYTES = 32
"""Bytes of a row of A that one wgmma multiplies, whatever the type."""


def product_cycles(e: Emitter, op: Operation) -> tuple[int, int, int]:
    """Cycles that the wgmmas of a product keep the SM's tensor cores busy; how many there are; their columns."""
    core = e.unit.device.tensor_core
    type_, first = op.result.type, op.groups["a"][0].type
    assert isinstance(type_, TensorType)
    assert isinstance(first, (TensorType, MemDescType))
    *batch, rows, width = type_.shape
    columns = _instruction_columns(type_)
    depth = max(1, first.shape[-1] * bytes_of(element_of(first)) // K_BYTES)
    count = math.prod(batch) * max(1, rows // 64) * max(1, width // columns) * depth
    if isinstance(first, MemDescType):
        least = core.narrow_cycles + core.narrow_cycles_per_column * columns
    else:
        least = core.narrow_register_cycles
    each = max(flop(op) / tensor_rate(e, op) / count, least)
    return max(1, math.ceil(count * each)), count, columns


def _instruction_columns(type_: TensorType) -> int:
    """N of the instructions: what the layout says, or as much as one can have."""
    encoding = type_.encoding
    shape = encoding.parameters.get("instrShape") if encoding is not None else None
    widest = min(256, type_.shape[-1])
    return min(widest, shape[1]) if isinstance(shape, (list, tuple)) and len(shape) > 1 else widest


def tensor_rate(e: Emitter, op: Operation) -> float:
    """FLOP per cycle and SM for the operand type of an MMA."""
    core = e.unit.device.tensor_core
    element = element_of(op.groups["a"][0].type)
    name = element.name if isinstance(element, ScalarType) else ""
    rates = {"f16": core.fp16, "bf16": core.bf16, "f32": core.tf32, "f64": core.fp64, "i8": core.int8}
    return rates.get(name, core.fp8)


def _multiply_adds(op: Operation) -> bool:
    """Whether the layout of the result says that no tensor core computes it, as where fp32 has to stay exact."""
    type_ = op.result.type
    assert isinstance(type_, TensorType)
    return type_.encoding is not None and type_.encoding.name == "blocked"


def _operand(e: Emitter, value: Value, exact: bool) -> str:
    """An operand as f32 (f64 for wide and integer types); tensor cores drop bits of it, unless it is `exact`."""
    element = scalar_type(value.type)
    code = e.scalar(value) if isinstance(value.type, MemDescType) else e.dense(value)
    held_wide = False
    if isinstance(value.type, MemDescType):
        code = f"{code}.tensor"
        root = e.unit.program.roots.get(value)
        held_wide = root is not None and root.index not in e.unit.narrow and element.is_float and element.bytes < 4
    if held_wide:
        return code
    match element.name:
        case "f32":
            return code if exact else f"tf32({code})"
        case "f64":
            return code
        case _ if element.is_integer:
            return f"{code}.double()"
        case _:
            return f"{code}.float()"


def dot_code(e: Emitter, op: Operation) -> str:
    """The product in the accumulator's type; a zero accumulator costs nothing."""
    a, b, c = (op.groups[part][0] for part in "abc")
    exact = _multiply_adds(op)
    x, y = _operand(e, a, exact), _operand(e, b, exact)
    held = e.get(c)
    type_ = scalar_type(op.result.type)
    zero = isinstance(held, Uniform) and held.code in ("0.0", "0", "-0.0")
    use = op.operand("use_c")
    if use is not None and e.scalar(use) == "False":
        zero = True
    batched = len(e.shape(op.result)) > 2
    integer = type_.is_integer
    function = "mm" if not batched else "matmul"
    if zero:
        code = f"{function}({x}, {y})"
    else:
        previous = e.dense(c)
        if type_.name != "f32" and type_.name != "f64":
            previous = f"{previous}.double()" if integer else f"{previous}.float()"
        code = f"addmm({previous}, {x}, {y})" if not batched else f"{previous} + matmul({x}, {y})"
        if use is not None and e.scalar(use) != "True":
            code = f"({code} if {e.scalar(use)} else {function}({x}, {y}))"
    return code if type_.name in ("f32", "f64") else f"({code}).to({e.dtype(type_)})"


@emits("tt.dot")
def dot(e: Emitter, op: Operation) -> None:
    if _multiply_adds(op):
        _fma(e, op)
    else:
        _mma_sync(e, op)
    if skip(e, op):
        e.set(op.result, Absent())
    else:
        e.result_dense(op, dot_code(e, op))


def _fma(e: Emitter, op: Operation) -> None:
    """One multiply-add per element and step; operands come from shared memory and are counted where they are loaded."""
    work = flop(op)
    costs.multiply_adds(e, scalar_type(op.result.type), work // 2)
    if e.timed:
        e.flush()
        e.line(f"sm.flop += {work}")


def _mma_sync(e: Emitter, op: Operation) -> None:
    work = flop(op)
    duration = max(1, math.ceil(work / tensor_rate(e, op) / e.unit.device.tensor_core.mma_sync_fraction))
    e.settle_loads()
    e.flush()
    begin = e.mark()
    e.order()
    row = e.row()
    x = "t"
    if e.timed:
        x = e.queue("tensor_free", duration)
        e.line(f"t = {x} + {duration}; sm.tensor_busy += {duration}; sm.flop += {work}")
    e.record(begin=begin)
    e.record(begin=x, end="t", cause=row, engine=TENSOR_CORE)


_ADDRESS_INSTRUCTIONS = 4
"""For the descriptors of a wgmma's operands; they are scalars' work, and two of them depend on each other."""


@emits("ttng.warp_group_dot")
def warp_group_dot(e: Emitter, op: Operation) -> None:
    core = e.unit.device.tensor_core
    result = op.result
    duration, count, columns = product_cycles(e, op)
    work = flop(op)
    own = count / max(1, e.warps // 4)
    first = op.groups["a"][0]
    e.settle_loads()
    e.flush()
    begin = e.mark()
    e.charge(slots=_ADDRESS_INSTRUCTIONS * own * max(1.0, e.warps / e.unit.device.alu.schedulers))
    e.charge(latency=core.issue_cycles)
    if not isinstance(first.type, MemDescType):
        e.charge(latency=core.register_cycles)
    e.order()
    row = e.row()
    slot = f"{e.scalar(op.groups['b'][0])}.slot"  # B's, after which the site is named; A may be in registers
    took = round(max(0.0, own - 1) * columns * core.issue_cycles_per_column)
    e.line(f"t = sm.issue(t, {took}, {count - core.queue}, {duration}, {duration / count})")
    x = e.let(f"sm.tensor_free - {duration}", "x")
    e.record(begin=begin, slot=slot)
    e.line(f"sm.tensor_busy += {duration}; sm.flop += {work}")
    done = e.late(f"{x} + {duration + round(core.completion_cycles)}", "wgmma")
    if e.traced:
        e.record(begin=x, end=f"{x} + {duration}", slot=slot, phase="-1", cause=row, engine=TENSOR_CORE)
        e.line(f"me.mmas.append(({done}, {row} + 1))")
    else:
        e.line(f"me.mmas.append(({done}, -1))")
    in_memory = [value for part in "ab" for value in op.groups[part] if isinstance(value.type, MemDescType)]
    e.watch("multiplies", tuple_code(e.scalar(value) for value in in_memory))
    if skip(e, op):
        e.set(result, Absent())
    else:
        e.set(result, Dense(e.let(dot_code(e, op))))
    if not op.attributes.get("isAsync", False):
        drain(e, "me.mmas", "{q}", core.wait_cycles)
        e.watch("multiplied", "0", at=False)


@emits("ttng.warp_group_dot_wait")
def warp_group_dot_wait(e: Emitter, op: Operation) -> None:
    for result, operand in zip(op.results, op.operands, strict=True):
        e.set(result, e.held.get(operand, Absent()))
        if operand in e.unit.arrays:
            e.unit.arrays.add(result)
    drain(e, "me.mmas", f"len({{q}}) > {op.attributes['pendings']}", e.unit.device.tensor_core.wait_cycles)
    e.watch("multiplied", "len(me.mmas)", at=False)
    e.reading = True
