"""`scf`: loops and branches, as Python loops and branches."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tlxviz.ir.operation import Block, Operation, Value
from tlxviz.sim.emitter import Emitter, emits
from tlxviz.sim.order import compiled_order
from tlxviz.sim.representation import Absent, Held, Scalar, codes, rebuild, shape_of

ARRIVALS = frozenset({"ttng.arrive_barrier", "tlx.warp_barrier_arrive"})


def start(e: Emitter, initial: Sequence[Value], arguments: Sequence[Value]) -> list[Held]:
    """Representations to try first for loop-carried values: those of the initial values."""
    return [
        shape_of(e.get(value)) if e.alive(argument) else Absent()
        for value, argument in zip(initial, arguments, strict=True)
    ]


class Attempt:
    """Writes a piece of code that may have to be written again, with other representations of loop-carried values."""

    def __init__(self, e: Emitter) -> None:
        self.e = e
        self._length = len(e.body)
        self._held = dict(e.held)

    def undo(self) -> None:
        """Forgets what was written since."""
        del self.e.body[self._length :]
        self.e.held = dict(self._held)


def _limit(e: Emitter) -> None:
    if e.timed:
        e.line(f"if t > {e.unit.options.cycle_limit}: runaway(t)")


def _enter_loop(e: Emitter, counts: bool) -> str | None:
    if not (counts and (e.traced or e.watched)):
        e.loops.append("-1")
        return None
    counter = e.fresh("i")
    e.line(f"{counter} = -1")
    e.loops.append(counter)
    return counter


def _has_sites(e: Emitter, op: Operation) -> bool:
    return any(inner in e.unit.program.site_of or inner.name == "tt.call" for inner in op.walk())


def _loop(
    e: Emitter,
    op: Operation,
    heading: str,
    initial: Sequence[Value],
    arguments: Sequence[Value],
    write: Callable[[], tuple[list[Held], Sequence[Value]]],
) -> list[Held]:
    """Writes a loop; gives what holds the values that it carries.

    Args:
        e: The function being written.
        op: The loop.
        heading: Its Python.
        initial: What the carried values are before the first round.
        arguments: What they are called inside.
        write: Writes the inside; gives how the values of the next round are held, and the values.
    """
    e.settle_loads()
    e.flush()
    shapes = start(e, initial, arguments)
    while True:
        attempt = Attempt(e)
        carried = [e.variables(shape, "c") for shape in shapes]
        first = [e.get(v) if not isinstance(s, Absent) else Absent() for v, s in zip(initial, shapes, strict=True)]
        e.assign(*_conversions(e, carried, first, shapes, initial))
        counter = _enter_loop(e, _has_sites(e, op))
        # what the round before may have left, however often the loop is written
        inside = {inner.name for inner in op.walk()}
        e.unmet, e.reading = not inside.isdisjoint(ARRIVALS), "ttng.warp_group_dot_wait" in inside
        with e.block(heading):
            if counter:
                e.line(f"{counter} += 1")
            _limit(e)
            for argument, held in zip(arguments, carried, strict=True):
                e.set(argument, held)
            e.charge(slots=2)
            yielded, values = write()
            wider = _wider(e, shapes, yielded, arguments)
            if wider == shapes:
                e.assign(*_conversions(e, carried, yielded, shapes, values))
        e.loops.pop()
        e.unmet, e.reading = not inside.isdisjoint(ARRIVALS), "ttng.warp_group_dot_wait" in inside
        if wider == shapes:
            return carried
        attempt.undo()
        shapes = wider


@emits("scf.for")
def emit_for(e: Emitter, op: Operation) -> None:
    body = op.regions[0].entry
    variable, *arguments = body.arguments
    lower, upper, step = (e.scalar(value) for value in (op.groups["lower"] + op.groups["upper"] + op.groups["step"]))
    name = e.fresh("k")

    def write() -> tuple[list[Held], Sequence[Value]]:
        e.set(variable, Scalar(name))
        return _body(e, body), body.yielded

    heading = f"for {name} in range({lower}, {upper}, {step}):"
    carried = _loop(e, op, heading, op.groups.get("init", ()), arguments, write)
    for result, held in zip(op.results, carried, strict=True):
        e.set(result, held)


def _body(e: Emitter, block: Block) -> list[Held]:
    """Writes a block but for its terminator; gives the representations of what it yields."""
    for operation in compiled_order(block.body):
        e.emit(operation)
    yielded = [e.get(value) if e.alive(value) else Absent() for value in block.yielded]
    e.settle_loads()
    e.flush()
    return yielded


def _wider(e: Emitter, shapes: list[Held], yielded: list[Held], arguments: Sequence[Value]) -> list[Held]:
    return [
        shape if isinstance(shape, Absent) else e.joined(shape, held, argument.type)
        for shape, held, argument in zip(shapes, yielded, arguments, strict=True)
    ]


def _conversions(
    e: Emitter, carried: Sequence[Held], sources: Sequence[Held], shapes: Sequence[Held], values: Sequence[Value]
) -> tuple[list[str], list[str]]:
    targets: list[str] = []
    expressions: list[str] = []
    for held, source, shape, value in zip(carried, sources, shapes, values, strict=True):
        targets += codes(held)
        expressions += e.convert(source, shape, value.type)
    return targets, expressions


@emits("scf.while")
def emit_while(e: Emitter, op: Operation) -> None:
    before, after = op.regions[0].entry, op.regions[1].entry
    flag = before.yielded[0]
    kept: list[Held] = []

    def write() -> tuple[list[Held], Sequence[Value]]:
        forwarded = _body(e, before)[1:]
        # what is passed on stands in variables of its own: the next round assigns the carried ones
        kept[:] = [rebuild(held, [e.fresh("w") for _ in codes(held)]) for held in forwarded]
        e.assign([c for held in kept for c in codes(held)], [c for held in forwarded for c in codes(held)])
        e.line(f"if not {e.scalar(flag)}: break")
        for argument, held in zip(after.arguments, kept, strict=True):
            e.set(argument, held)
        return _body(e, after), after.yielded

    e.unbounded += 1
    _loop(e, op, "while True:", op.operands, before.arguments, write)
    e.unbounded -= 1
    for result, held in zip(op.results, kept, strict=True):
        e.set(result, held)


@emits("scf.if")
def emit_if(e: Emitter, op: Operation) -> None:
    flag = e.scalar(op.operands[0])
    e.settle_loads()
    e.charge(slots=2)
    e.flush()
    branches = [region.entry for region in op.regions if region.blocks]
    results = op.results
    yields: list[list[Held]] = []
    marks: list[int] = []
    for number, block in enumerate(branches):
        with e.block(f"if {flag}:" if number == 0 else "else:"):
            yields.append(_body(e, block))
            e.line("pass")
            marks.append(len(e.body))
    if not results:
        return
    shapes = [
        e.joined(a, b, result.type) if e.alive(result) else Absent()
        for a, b, result in zip(yields[0], yields[1], results, strict=True)
    ]
    merged = [e.variables(shape, "b") for shape in shapes]
    # the assignments go to the end of each branch, the last branch first so that positions stay valid
    for number in (1, 0):
        tail = e.body[marks[number] :]
        del e.body[marks[number] :]
        e.indent += 1
        targets, sources = _conversions(e, merged, yields[number], shapes, branches[number].yielded)
        e.assign(targets, sources)
        e.indent -= 1
        e.body += tail
    for result, held in zip(results, merged, strict=True):
        e.set(result, held)


@emits("scf.yield", "scf.condition", "tt.return", "ttg.warp_return", "ttg.warp_yield")
def terminator(e: Emitter, op: Operation) -> None:
    """What a terminator passes on is assigned by the operation that holds the block."""
