"""TMA descriptors: alignment, sizes of boxes, and tiles that lie outside of their tensors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tlxviz.check.model import Finding, Place, Severity
from tlxviz.check.static.courses import Step
from tlxviz.check.static.facts import DescriptorFacts, TensorFacts
from tlxviz.check.static.registry import Kernel, rule
from tlxviz.ir.operands import captured
from tlxviz.ir.operation import Block, Operation, Value
from tlxviz.ir.program import Descriptor
from tlxviz.ir.types import PointerType, bytes_of

_ALIGNMENT = 16
_BOX = 256
"""Elements of a box along a dimension, at most."""


@rule
def makers(kernel: Kernel) -> Iterator[Finding]:
    """Descriptors that are made on the device of what TMA cannot copy: the GPU reports an illegal instruction."""
    for op in kernel.program.module.walk():
        if op.name == "ttng.tensormap_create":
            for wrong, advice in _wrong(kernel, op):
                yield _misshapen(kernel, op, wrong, advice)


def _wrong(kernel: Kernel, op: Operation) -> Iterator[tuple[str, str]]:
    number = kernel.scalars.number
    for value in op.groups.get("global_stride", ()):
        stride = number(value)
        if stride is not None and stride % _ALIGNMENT:
            yield (
                f"its rows are {stride:,} bytes apart, which is no multiple of {_ALIGNMENT}",
                "Pad the rows, or copy without TMA.",
            )
    boxes = [number(value) for value in op.groups.get("box_dim", ())]
    for box in boxes:
        if box is not None and not 0 < box <= _BOX:
            yield f"its box has {box} elements in one dimension, and TMA takes {_BOX}", "Make the box smaller."
    base = op.operand("global_address")
    size = _element(base)
    inner = boxes[0] if boxes else None
    if inner is not None and size and inner * size % _ALIGNMENT:
        yield (
            f"a row of its box has {inner * size} bytes, which is no multiple of {_ALIGNMENT}",
            "Make the innermost dimension of the box wider.",
        )
    address = None if base is None else _address(kernel, base)
    if address is not None and address % _ALIGNMENT:
        yield (
            f"its tensor begins {address % _ALIGNMENT} bytes behind a multiple of {_ALIGNMENT}",
            "Begin it at an aligned address.",
        )


def _element(base: Value | None) -> int:
    return bytes_of(base.type.pointee) if base is not None and isinstance(base.type, PointerType) else 0


def _address(kernel: Kernel, base: Value) -> int | None:
    offset = 0
    value = captured(base)
    while isinstance(value.owner, Operation):
        made = value.owner
        if made.name != "tt.addptr":
            return None
        step = kernel.scalars.number(made.operands[1])
        if step is None:
            return None
        offset += step * _element(value)
        value = captured(made.operands[0])
    return _begin(kernel, value, value.owner, offset)


def _begin(kernel: Kernel, value: Value, block: Block, offset: int) -> int | None:
    parameters = kernel.facts.parameters
    if block is not kernel.program.kernel.regions[0].entry or value.index >= len(parameters):
        return None
    fact = parameters[value.index]
    return fact.address + offset if isinstance(fact, TensorFacts) else None


def _misshapen(kernel: Kernel, op: Operation, wrong: str, advice: str) -> Finding:
    name = kernel.subjects.descriptor(op)
    users = [site for site in kernel.program.sites if _descriptor(kernel, site.operation) == name]
    made = kernel.place_of(op, f"makes {name}", name)
    used = [Place(kernel.subjects.doing(s.operation), s.agent.name, s.location, name, -1, -1) for s in users]
    role = made.role or kernel.program.agents[0].name
    return kernel.finding(
        "descriptor",
        Severity.ERROR,
        f"{role} makes the descriptor {name} of what TMA cannot copy: {wrong}",
        [made, *used],
        ("strides, addresses and rows of a box are multiples of 16 bytes; a box has up to 256 elements a dimension",),
        advice,
    )


def _descriptor(kernel: Kernel, op: Operation) -> str:
    value = op.operand("desc")
    root = kernel.program.roots.get(value) if value is not None else None
    return root.name if isinstance(root, Descriptor) else ""


@rule
def tiles(kernel: Kernel) -> Iterator[Finding]:
    """Copies of tiles that lie outside of their tensors altogether."""
    told: set[int] = set()
    for course in kernel.courses:
        for step in course.steps if course.complete else ():
            shape = _shape(kernel, step)
            if step.corner and shape and step.site.index not in told and _is_outside(step.corner, shape):
                told.add(step.site.index)
                yield _outside(kernel, step, shape)


def _shape(kernel: Kernel, step: Step) -> tuple[int, ...]:
    """Of the tensor; empty where it is not known."""
    value = step.site.operation.operand("desc")
    root = kernel.program.roots.get(value) if value is not None else None
    if not isinstance(root, Descriptor) or not isinstance(root.value.owner, Block):
        return ()
    parameters = kernel.facts.parameters
    fact = parameters[root.value.index] if root.value.index < len(parameters) else None
    return fact.shape if isinstance(fact, DescriptorFacts) else ()


def _is_outside(corner: Sequence[int], shape: Sequence[int]) -> bool:
    return len(corner) == len(shape) and any(start >= size for start, size in zip(corner, shape, strict=True))


def _outside(kernel: Kernel, step: Step, shape: Sequence[int]) -> Finding:
    name, doing = _descriptor(kernel, step.site.operation), kernel.subjects.doing(step.site.operation)
    role = step.site.agent.name
    return kernel.finding(
        "descriptor",
        Severity.WARNING,
        f"{role}: {doing} by {name} at {list(step.corner)}, which is outside of its tensor of {list(shape)}",
        [Place(f"{doing} by {name}", role, step.site.location, name, -1, 0, step.outer, step.inner)],
        ("what lies outside reads as zeros, and is not written",),
        "Coordinates are elements, in the order of the tensor's dimensions: see whether two are swapped.",
    )
