"""The layout of each tensor that the source names, and what changes of layout in registers take."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from tlxviz.analysis.layouts.context import Context, variable
from tlxviz.analysis.layouts.conversions import Exchange, Way, exchange
from tlxviz.analysis.layouts.model import Conversion, TensorLayout
from tlxviz.analysis.layouts.reasons import reason
from tlxviz.analysis.layouts.words import element_bits, element_name
from tlxviz.ir.accesses import agent_of
from tlxviz.ir.encodings import layout_of
from tlxviz.ir.linear import LinearLayout
from tlxviz.ir.operation import Operation, Value
from tlxviz.ir.places import distributed
from tlxviz.ir.program import Program
from tlxviz.ir.types import ScalarType, TensorType, TokenType, element_of

_WORD_BITS = 32
_LANES = 32
_MASK = ScalarType("i1")


def tensor_layouts(context: Context) -> tuple[TensorLayout, ...]:
    """All tensors that the source gives a name, in the order of the TTGIR; once for warp groups that do the same."""
    parts: dict[tuple[Any, ...], list[Value]] = {}
    for operation in context.operations:
        for value in operation.results:
            name = variable(value)
            if name:
                line = context.line(operation.location)
                parts.setdefault((name, line.file, line.line, context.agents(operation)), []).append(value)
    merged: dict[tuple[Any, ...], tuple[TensorLayout, list[str]]] = {}
    for (*_, agents), values in parts.items():
        value = _assigned(values)
        made = _described(context, value) if value is not None else None
        if made is not None:
            key = (made.name, made.location.file, made.location.line, made.shape, made.element, repr(made.layout))
            merged.setdefault(key, (made, []))[1].extend(agents)
    return tuple(replace(made, agents=tuple(dict.fromkeys(agents))) for made, agents in merged.values())


def _assigned(values: list[Value]) -> Value | None:
    """What the source assigns: of the parts of an expression, which all have its name, the last.

    A mask is passed over where something else is there: the compiler makes some of its own, under the same names.
    """
    if any(isinstance(value.type, TokenType) for value in values):  # a copy past the registers
        return None
    tensors = [value for value in values if isinstance(value.type, TensorType)]
    others = [value for value in tensors if element_of(value.type) != _MASK]
    if others:
        return others[-1]
    return tensors[-1] if tensors and len(tensors) == len(values) else None


def _described(context: Context, value: Value) -> TensorLayout | None:
    type_ = value.type
    if not isinstance(type_, TensorType) or type_.encoding is None or not isinstance(value.owner, Operation):
        return None
    layout, location = layout_of(type_.encoding), value.owner.location
    bits = element_bits(type_.element)
    held = distributed(layout, type_.shape) if not context.spread else None
    return TensorLayout(
        name=variable(value),
        location=context.line(location),
        agents=(),
        shape=type_.shape,
        element=element_name(type_.element),
        layout=layout,
        chosen=context.pins.of(location),
        why=reason(value, context.uses),
        registers=None if held is None or not bits else -(-_different(held) * bits // _WORD_BITS),
        copies=None if held is None else _copies(held),
    )


def _different(layout: LinearLayout) -> int:
    """Elements of a thread, each counted once."""
    return 1 << sum(any(basis) for basis in layout.bases["register"])


def _copies(layout: LinearLayout) -> int:
    """How many threads hold each element."""
    threads = layout.size("lane") * layout.size("warp")
    return max(1, _different(layout) * threads // math.prod(layout.shape))


def conversions(context: Context) -> tuple[Conversion, ...]:
    """All `ttg.convert_layout`, in the order of the TTGIR; those of warp groups that do the same once."""
    merged: dict[Conversion, list[str]] = {}
    for operation in context.operations:
        if operation.name == "ttg.convert_layout":
            made = _converted(context, operation)
            if made is not None:
                merged.setdefault(made, []).extend(context.agents(operation))
    return tuple(replace(made, agents=tuple(dict.fromkeys(agents))) for made, agents in merged.items())


def converting(program: Program) -> dict[int, int]:
    """Lines of the TTGIR that change a layout in registers, to the warps that run them."""
    found: dict[int, int] = {}
    for operation in program.module.walk():
        if operation.name == "ttg.convert_layout":
            agent = agent_of(program, operation)
            found[operation.line] = agent.warps if agent is not None else program.num_warps
    return found


def _converted(context: Context, operation: Operation) -> Conversion | None:
    source, target = operation.operands[0], operation.result
    before, after = source.type, target.type
    if not isinstance(before, TensorType) or not isinstance(after, TensorType):
        return None
    first, second = layout_of(before.encoding), layout_of(after.encoding)
    held, wanted = distributed(first, before.shape), distributed(second, after.shape)
    bits = element_bits(after.element)
    made = None
    if held is not None and wanted is not None and bits and not context.spread:
        made = exchange(held, wanted, bits)
    in_memory = made is None or made.way is Way.SHARED_MEMORY
    return Conversion(
        name=variable(source) or variable(target),
        location=context.line(operation.location),
        agents=(),
        shape=after.shape,
        element=element_name(after.element),
        source=first,
        target=second,
        why=reason(target, context.uses),
        exchange=made,
        scratch=context.scratch.get(operation.line) if in_memory else 0,
        cycles=None if made is None else _cycles(context, made),
    )


def _cycles(context: Context, made: Exchange) -> float:
    if made.way is Way.SHARED_MEMORY:
        return context.busy(made.transactions)
    return made.shuffles * _LANES * made.warps / context.device.alu.shuffle
