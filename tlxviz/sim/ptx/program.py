"""Statements of PTX compiled into steps over a register file."""

from __future__ import annotations

from collections.abc import Callable

from tlxviz.sim.ptx.instructions import BUILDERS
from tlxviz.sim.ptx.lanes import compile_redux
from tlxviz.sim.ptx.memory import MemoryOpcode, each, parse_memory, to_bits
from tlxviz.sim.ptx.operands import (
    State,
    Step,
    fetch_address,
    fetch_bits,
    fetch_bits_as,
    fetch_guard,
    fetch_operand,
    fetch_packed,
    machine,
    register_width,
    store_operand,
)
from tlxviz.sim.ptx.parse import Label, Operand, Parsed, Sink, Statement, Vector, refused
from tlxviz.sim.ptx.types import SIGNED, TYPES, Opcode, PtxType, Refusal, read_bits

_FENCES = ("membar", "fence", "bar", "barrier", "griddepcontrol")
_HINTS = ("prefetch", "prefetchu", "applypriority", "discard", "pmevent")
_LANES = ("shfl", "vote", "activemask", "match", "elect")
_OTHERS = ("mov", "ld", "ldu", "st", "atom", "red", "bra", "ret", "exit", "nanosleep", "redux")

SUPPORTED = "supported instructions: " + ", ".join(sorted({*BUILDERS, *_FENCES, *_HINTS, *_OTHERS}))


def _compute(statement: Statement, op: Opcode) -> Step:
    """An instruction that computes results from sources."""
    destination, *sources = statement.operands or (Sink(),)
    operation = BUILDERS[op.name](op, len(sources))
    if op.name == "createpolicy":
        sources = sources[: len(operation.sources)]
    if len(sources) != len(operation.sources):
        raise Refusal(f"{len(sources)} operands after the result, expected {len(operation.sources)}")
    fetches = [fetch_operand(source, kind) for source, kind in zip(sources, operation.sources, strict=True)]
    targets = destination.parts if isinstance(destination, Vector) else (destination,)
    if len(targets) > len(operation.results):
        raise Refusal(f"{len(targets)} results, expected {len(operation.results)}")
    stores = [store_operand(target, kind) for target, kind in zip(targets, operation.results, strict=False)]
    apply, several, guard = operation.apply, len(operation.results) > 1, fetch_guard(statement)
    first = stores[0]

    def step(state: State) -> None:
        mask = guard(state) if guard else None
        value = apply(*[fetch(state) for fetch in fetches])
        if several:
            for store, part in zip(stores, value, strict=False):
                store(state, part, mask)
        else:
            first(state, value, mask)

    return step


def _move(statement: Statement, op: Opcode) -> Step:
    """`mov`, also between a register and a vector of its parts."""
    op.only("")
    if len(statement.operands) != 2:
        raise Refusal("mov takes a result and a source")
    target, source = statement.operands
    guard = fetch_guard(statement)
    if not isinstance(target, Vector) and not isinstance(source, Vector):
        kind = op.type if op.type.lanes == 1 else TYPES[f"b{op.type.bits}"]
        fetch, store = fetch_operand(source, kind), store_operand(target, kind)

        def plain(state: State) -> None:
            store(state, fetch(state), guard(state) if guard else None)

        return plain
    count = len(target.parts) if isinstance(target, Vector) else len(source.parts) if isinstance(source, Vector) else 1
    whole = op.type.bits
    if whole % count or whole // count not in SIGNED:
        raise Refusal(f"{whole} bits do not split into {count} registers")
    part = TYPES[f"b{whole // count}"]
    parts = source.parts if isinstance(source, Vector) else target.parts if isinstance(target, Vector) else ()
    if any(register_width(piece) not in (None, part.bits) for piece in parts):
        raise Refusal(f"the registers in the braces must have {part.bits} bits each")
    read = fetch_packed(source, whole, part)
    stores = [store_operand(piece, part) for piece in target.parts] if isinstance(target, Vector) else []
    one = None if isinstance(target, Vector) else store_operand(target, TYPES[f"b{whole}"])

    def step(state: State) -> None:
        value, mask = read(state), guard(state) if guard else None
        if one is not None:
            one(state, value, mask)
            return
        lanes = value.unsqueeze(-1).view(SIGNED[part.bits])
        for index, store in enumerate(stores):
            store(state, lanes[..., index], mask)

    return step


def _pieces(operand: Operand, memory: MemoryOpcode) -> tuple[Operand, ...]:
    pieces = operand.parts if isinstance(operand, Vector) else (operand,)
    if len(pieces) != memory.count:
        raise Refusal(f"{len(pieces)} registers for {memory.count} values")
    return pieces


def _load(statement: Statement, op: Opcode) -> Step:
    memory = parse_memory(op)
    if len(statement.operands) < 2:
        raise Refusal("ld takes a result and an address")
    address = fetch_address(statement.operands[1])
    stores = [store_operand(piece, _held(memory.type)) for piece in _pieces(statement.operands[0], memory)]
    guard, access = fetch_guard(statement), memory.access

    def step(state: State) -> None:
        environment, base, mask = machine(state), address(state), guard(state) if guard else None
        for index, store in enumerate(stores):
            where = base + index * access.bytes if index else base
            value = each(lambda at, _: environment.load(at, access), where, (), mask, memory.type)
            store(state, read_bits(value, _held(memory.type)), mask)

    return step


def _held(ptx_type: PtxType) -> PtxType:
    """The type that a memory value travels as: only the sign matters, for a register that is wider."""
    return ptx_type if ptx_type.kind == "s" and ptx_type.lanes == 1 else TYPES[f"b{ptx_type.bits}"]


def _store_memory(statement: Statement, op: Opcode) -> Step:
    memory = parse_memory(op)
    if len(statement.operands) < 2:
        raise Refusal("st takes an address and a value")
    address = fetch_address(statement.operands[0])
    values = [fetch_bits_as(piece, memory.type) for piece in _pieces(statement.operands[1], memory)]
    guard, access = fetch_guard(statement), memory.access

    def step(state: State) -> None:
        environment, base, mask = machine(state), address(state), guard(state) if guard else None
        for index, value in enumerate(values):
            where = base + index * access.bytes if index else base
            each(lambda at, bits: environment.store(at, bits[0], access), where, (value(state),), mask, memory.type)

    return step


def _atomic(statement: Statement, op: Opcode) -> Step:
    memory = parse_memory(op)
    operands = statement.operands if op.name == "atom" else (Sink(), *statement.operands)
    compared = memory.operation == "cas"
    if len(operands) < 3 + compared:
        raise Refusal(f"{op.name} needs more operands")
    address, store = fetch_address(operands[1]), store_operand(operands[0], _held(memory.type))
    values = [fetch_bits_as(operand, memory.type) for operand in operands[2 : 3 + compared]]
    guard, access, operation = fetch_guard(statement), memory.access, memory.operation

    def step(state: State) -> None:
        environment, mask = machine(state), guard(state) if guard else None

        def visit(at: int, bits: tuple[int, ...]) -> int:
            return environment.atomic(operation, at, bits[-1], access, bits[0] if compared else None)

        old = each(visit, address(state), tuple(value(state) for value in values), mask, memory.type)
        store(state, read_bits(old, _held(memory.type)), mask)

    return step


def _branch(statement: Statement, parsed: Parsed) -> Step:
    label = statement.operands[0] if statement.operands else None
    if not isinstance(label, Label):
        raise Refusal("a branch goes to a label")
    target, guard = parsed.labels[label.name], fetch_guard(statement)

    def step(state: State) -> int | None:
        return target if guard is None or bool(guard(state).all()) else None

    return step


def _leave(statement: Statement, parsed: Parsed) -> Step:
    guard, end = fetch_guard(statement), len(parsed.statements)
    return lambda state: end if guard is None or bool(guard(state).all()) else None


def _sleep(statement: Statement) -> Step:
    duration, guard = fetch_bits(statement.operands[0], 32), fetch_guard(statement)

    def step(state: State) -> None:
        if guard is None or bool(guard(state).any()):
            machine(state).sleep(to_bits(duration(state).reshape(-1)[0]))

    return step


def _fence(statement: Statement) -> Step:
    guard, name = fetch_guard(statement), statement.opcode
    if statement.operands and name.startswith(("bar.red", "bar.cta.red", "barrier.red", "barrier.cta.red")):
        raise Refusal("it reduces over the threads of a program, which elementwise execution does not have")

    def step(state: State) -> None:
        # Pure arithmetic may run without a machine, and then there is nothing to order.
        if state.environment is not None and (guard is None or bool(guard(state).any())):
            state.environment.fence(name)

    return step


def _compile(statement: Statement, parsed: Parsed) -> Step:
    op = Opcode.parse(statement.opcode)
    if op.name in _LANES:
        raise Refusal("it exchanges values between the lanes of a warp, which elementwise execution does not have")
    special: dict[str, Callable[[Statement, Opcode], Step]] = {
        "mov": _move, "ld": _load, "ldu": _load, "st": _store_memory, "atom": _atomic, "red": _atomic,
    }  # fmt: skip
    if op.name in special:
        return special[op.name](statement, op)
    if op.name == "bra":
        return _branch(statement, parsed)
    if op.name in ("ret", "exit"):
        return _leave(statement, parsed)
    if op.name == "nanosleep":
        return _sleep(statement)
    if op.name == "redux":
        return compile_redux(statement, op)
    if op.name in _FENCES:
        return _fence(statement)
    if op.name in _HINTS:
        return lambda _state: None
    if op.name in BUILDERS:
        return _compute(statement, op)
    raise Refusal(f"the instruction {op.name} is not supported")


def compile_statements(asm: str, parsed: Parsed) -> tuple[tuple[Step, ...], bool]:
    """The steps, and whether any of them branches."""
    steps: list[Step] = []
    for statement in parsed.statements:
        try:
            step = _compile(statement, parsed)
        except Refusal as refusal:
            raise refused(asm, statement.text, str(refusal), SUPPORTED) from None
        steps.append(step)
    names = {statement.opcode.split(".")[0] for statement in parsed.statements}
    return tuple(steps), bool(names & {"bra", "ret", "exit"})
