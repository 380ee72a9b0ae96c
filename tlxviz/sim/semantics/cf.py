"""`cf`: functions whose control flow is a graph of blocks, as a loop over the number of the block to run."""

from __future__ import annotations

from collections.abc import Sequence

from tlxviz.ir.operation import Block, Operation, Region, Value
from tlxviz.ir.types import PointerType, TensorType, element_of
from tlxviz.sim.emitter import Emitter, emits
from tlxviz.sim.errors import UnsupportedOperation
from tlxviz.sim.order import compiled_order
from tlxviz.sim.representation import Absent, Dense, DensePointers, Held, Pointer, Scalar, codes, shape_of


def emit_body(e: Emitter, region: Region) -> list[str]:
    """Writes a function's body; gives the expressions of what it returns, as `passed` has them."""
    if len(region.blocks) == 1:
        block = region.entry
        for operation in compiled_order(block.body):
            e.emit(operation)
        return passed(e, block.yielded)
    return _graph(e, region)


def passed(e: Emitter, values: Sequence[Value]) -> list[str]:
    """Expressions of values that go into a function or come out of it, in the representation `plain`."""
    expressions: list[str] = []
    for value in values:
        held, wanted = e.get(value) if e.alive(value) else Absent(), plain(value)
        expressions += (
            ["None"] * len(codes(wanted)) if isinstance(held, Absent) else e.convert(held, wanted, value.type)
        )
    return expressions


def _graph(e: Emitter, region: Region) -> list[str]:
    numbers = {block.label: number for number, block in enumerate(region.blocks)}
    for block in region.blocks[1:]:
        for argument in block.arguments:
            held = plain(argument) if e.alive(argument) else Absent()
            e.set(argument, e.variables(held, "c"))
    returned = next((block.terminator for block in region.blocks if block.terminator and not _branches(block)), None)
    results = [e.fresh("ret") for value in (returned.operands if returned else ()) for _ in codes(plain(value))]
    state = e.fresh("at")
    e.line(f"{state} = 0")
    e.unbounded += 1
    with e.block("while True:"):
        if e.timed:
            e.line(f"if t > {e.unit.options.cycle_limit}: runaway(t)")
        for number, block in enumerate(region.blocks):
            with e.block(f"{'if' if number == 0 else 'elif'} {state} == {number}:"):
                for operation in compiled_order(block.body):
                    e.emit(operation)
                _leave(e, block, state, numbers, results)
    e.unbounded -= 1
    return results


def _branches(block: Block) -> bool:
    return block.terminator is not None and block.terminator.name in ("cf.br", "cf.cond_br")


def plain(argument: Value) -> Held:
    """The representation of a value that crosses from one block or function into another."""
    if isinstance(element_of(argument.type), PointerType):
        return DensePointers("", "") if isinstance(argument.type, TensorType) else Pointer("", "")
    return Dense("") if isinstance(argument.type, TensorType) else Scalar("")


def _leave(e: Emitter, block: Block, state: str, numbers: dict[str, int], results: list[str]) -> None:
    op = block.terminator
    if op is None:
        raise UnsupportedOperation(f"block {block.label} does not end with a terminator")
    e.operation = op
    e.settle_loads()
    e.flush()
    labels = op.attributes.get("successors", [])
    match op.name:
        case "cf.cond_br":
            flag = e.scalar(op.operands[0])
            for heading, label, part in ((f"if {flag}:", labels[0], "true_args"), ("else:", labels[1], "false_args")):
                with e.block(heading):
                    _jump(e, block, label, op.groups.get(part, ()))
                    e.line(f"{state} = {numbers[label]}")
        case "cf.br":
            _jump(e, block, labels[0], op.groups.get("args", op.operands))
            e.line(f"{state} = {numbers[labels[0]]}")
        case _:
            e.assign(results, passed(e, op.operands))
            e.line("break")


def _jump(e: Emitter, block: Block, label: str, values: tuple[Value, ...]) -> None:
    assert block.region is not None
    target = next(other for other in block.region.blocks if other.label == label)
    targets: list[str] = []
    sources: list[str] = []
    for argument, value in zip(target.arguments, values, strict=True):
        held = e.held[argument]
        targets += codes(held)
        sources += [] if isinstance(held, Absent) else e.convert(e.get(value), shape_of(held), argument.type)
    e.assign(targets, sources)


@emits("cf.br", "cf.cond_br")
def branch(e: Emitter, op: Operation) -> None:
    """Written by the graph that holds it."""
