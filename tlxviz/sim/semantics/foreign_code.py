"""`tt`: inline assembly and device functions."""

from __future__ import annotations

import re

from tlxviz.ir.encodings import layout_of
from tlxviz.ir.markers import probe_number, range_bound
from tlxviz.ir.operation import Operation, Value
from tlxviz.ir.places import distributed
from tlxviz.ir.types import ScalarType, TensorType, element_of
from tlxviz.sim import costs
from tlxviz.sim.emitter import Emitter, emits
from tlxviz.sim.expressions import tuple_code
from tlxviz.sim.libdevice import extern_function
from tlxviz.sim.ptx.lanes import warps_of
from tlxviz.sim.representation import Absent, Dense, Pointer, Scalar
from tlxviz.sim.semantics.operands import finish_uniform, scalar_type, skip, uniform


@emits("tt.elementwise_inline_asm")
def inline_asm(e: Emitter, op: Operation) -> None:
    marker = probe_number(op)
    if marker is not None:
        for result in op.results:
            e.set(result, Absent())
        if e.traced:
            e.line(f"marks += {marker}, len(rows)")
        return
    if range_bound(op) is not None:
        for result in op.results:
            e.set(result, Absent())
        e.flush()
        e.record(begin="t")
        return
    text = str(op.attributes["asm_string"])
    _asm_cost(e, op, text)
    pure = bool(op.attributes.get("pure", False))
    if pure and skip(e, op):
        for result in op.results:
            e.set(result, Absent())
        return
    if not pure:
        e.settle_loads()
        e.order()
        e.poll()
    names = tuple(_asm_type(value) for value in op.operands)
    results = tuple(_asm_type(value) for value in op.results)
    constraints = str(op.attributes.get("constraints", ""))
    program = e.unit.asm((text, constraints, int(op.attributes.get("packed_element", 1)), names, results))
    operands: list[str] = []
    for value in op.operands:
        held = e.get(value)
        operands.append(f"address_of({held.base}, {held.offset})" if isinstance(held, Pointer) else e.dense(value))
    found = [e.fresh() for _ in op.results]
    e.line("environment.begin(cta, me, t)" if e.timed else "pass")
    target = f"{', '.join(found)}{',' if len(found) == 1 else ''} = " if found else ""
    e.line(f"{target}{program}.run({tuple_code(operands)}, environment{_warps(e, op, text)})")
    if not pure and e.timed:
        e.line("t += environment.elapsed()")
    for name, result in zip(found, op.results, strict=True):
        e.set(result, Dense(name) if isinstance(result.type, TensorType) else Scalar(name))


def _warps(e: Emitter, op: Operation, text: str) -> str:
    """An argument for which elements the lanes of a warp hold together, if the assembly combines those."""
    if "redux." not in text:
        return ""
    for value in op.operands:
        if isinstance(value.type, TensorType):
            layout = distributed(layout_of(value.type.encoding), value.type.shape)
            return "" if layout is None else f", {e.constant(warps_of(layout))}"
    return ""


def _asm_type(value: Value) -> str:
    element = element_of(value.type)
    return element.name if isinstance(element, ScalarType) else "ptr"


_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_INSTRUCTION = re.compile(r"[\s{}]*(?:[\w$%]+\s*:(?!:)[\s{}]*)?(?:@\s*!?\s*\S+\s+)?([.\w:]+)\s*(.*)", re.DOTALL)
"""What stands before a semicolon: an instruction's name and its operands."""


def instructions_of(text: str) -> int:
    """Instructions of the machine that inline assembly is, for the elements that it takes at once.

    Declarations are none, and two registers that are given one name need no move. Arithmetic on such a pair is one
    instruction, and keeps the pipe busy for two.
    """
    count = 0
    for part in _COMMENT.sub(" ", text).split(";"):
        found = _INSTRUCTION.match(part)
        if found is None or found[1].startswith("."):
            continue
        pairs = found[1] == "mov.b64" and found[2].count(",") == 2 and "{" in found[2]
        count += 0 if pairs else 2 if ".f32x2" in found[1] else 1
    return max(1, count)


def _asm_cost(e: Emitter, op: Operation, text: str) -> None:
    type_ = op.results[0].type if op.results else op.operands[0].type if op.operands else ScalarType("i32")
    packed = max(1, int(op.attributes.get("packed_element", 1)))
    functions = sum(text.count(name) for name in ("ex2.", "lg2.", "rcp.", "rsqrt.", "sqrt.", "tanh.", "sin.", "cos."))
    costs.issue(e, type_, instructions_of(text) / packed)
    if functions:
        costs.special(e, type_, functions / packed)


@emits("tt.extern_elementwise")
def extern_elementwise(e: Emitter, op: Operation) -> None:
    costs.issue(e, op.result.type, 8.0)
    costs.special(e, op.result.type)
    if skip(e, op):
        return
    name = e.constant(extern_function(str(op.attributes["symbol"])))
    dtype = e.dtype(scalar_type(op.result.type))
    if all(uniform(e, value) is not None for value in op.operands):
        arguments = ", ".join(
            f"tensor({uniform(e, value)}, dtype={e.dtype(scalar_type(value.type))})" for value in op.operands
        )
        finish_uniform(e, op, f"{name}({arguments}).to({dtype}).item()")
        return
    e.result_dense(op, f"{name}({', '.join(e.dense(value) for value in op.operands)}).to({dtype})")
