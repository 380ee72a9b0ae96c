"""Operations with the calls that lead to them: what a function that is not inlined does, each of its calls does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tlxviz.ir.accesses import agent_of
from tlxviz.ir.operation import Operation, Value
from tlxviz.ir.program import Agent, BarrierArray, Buffer, Descriptor, Program
from tlxviz.ir.roots import Origins

_CALL = "tt.call"


@dataclass(frozen=True, slots=True)
class Place:
    """An operation as it is reached in one way."""

    operation: Operation
    calls: tuple[Operation, ...] = ()
    """That lead to it, from the kernel's on; none in the kernel itself."""


def places(program: Program) -> Iterator[Place]:
    """All of a program's, in the order of the kernel, with functions in the place of their calls."""
    yield from _within(program, program.kernel, ())


def _within(program: Program, function: Operation, calls: tuple[Operation, ...]) -> Iterator[Place]:
    for operation in function.walk():
        yield Place(operation, calls)
        if operation.name == _CALL:
            called = program.module.functions.get(operation.attributes["callee"])
            if called is not None and operation not in calls:
                yield from _within(program, called, (*calls, operation))


def agent_at(program: Program, place: Place) -> Agent | None:
    """The warp group that is there; None for what no warp group reaches."""
    return agent_of(program, place.calls[0] if place.calls else place.operation)


def root_at(program: Program, value: Value, place: Place) -> BarrierArray | Buffer | Descriptor | None:
    """What a value there is a view of; None where that depends on the way taken within the functions."""
    found = program.roots.get(value)
    if found is not None or not place.calls:
        return found
    origin = Origins(program.module, place.calls).origin(value)
    return program.roots.get(origin) if origin is not None else None


def called(call: Operation) -> str:
    """The name that a called function has in the source: `scaled` of `module.scaled__fp32_fp32__`."""
    name = str(call.attributes["callee"]).rpartition(".")[2]
    end = name.find("__", 1)
    return name if end < 0 else name[:end]
