"""Code that is written as a Python function of its own: combine regions, and functions that were not inlined."""

from __future__ import annotations

from tlxviz.ir.operation import Operation, Region
from tlxviz.ir.types import TensorType
from tlxviz.sim import costs
from tlxviz.sim.emitter import Emitter, emits, tuple_code
from tlxviz.sim.errors import UnsupportedOperation
from tlxviz.sim.representation import Absent, Dense, Scalar, codes
from tlxviz.sim.semantics.agents import prologue
from tlxviz.sim.semantics.cf import emit_body, passed, plain
from tlxviz.sim.semantics.operands import scalar_type, skip

_SUMS = {"arith.addf": "sum", "arith.addi": "sum", "arith.mulf": "prod", "arith.muli": "prod"}
_EXTREMES = {
    "arith.maxnumf": "amax_number",
    "arith.minnumf": "amin_number",
    "arith.maximumf": "amax",
    "arith.minimumf": "amin",
    "arith.maxsi": "amax",
    "arith.minsi": "amin",
}
_SCANS = {"arith.addf": "cumsum", "arith.addi": "cumsum", "arith.mulf": "cumprod", "arith.muli": "cumprod"}


def region_function(e: Emitter, region: Region) -> str:
    """The name of a Python function that does what a combine region does, on tensors."""
    inner = Emitter(e.unit, None, e.warps, timed=False)
    inner.operation = e.operation
    inner.held = dict(e.held)
    names: list[str] = []
    for argument in region.entry.arguments:
        name = inner.fresh("a")
        names.append(name)
        inner.set(argument, Dense(name))
    for operation in region.entry.body:
        inner.emit(operation)
    results = [inner.dense(value) for value in region.entry.yielded]
    inner.line(f"return {tuple_code(results)}")
    function = e.fresh("combine")
    e.unit.add_function(f"def {function}({', '.join(names)}):", inner.body)
    return function


def _number_function(e: Emitter, region: Region) -> str:
    """The name of a Python function that does what a region does, on numbers."""
    inner = Emitter(e.unit, None, e.warps, timed=False)
    inner.operation = e.operation
    inner.held = dict(e.held)
    names = [inner.fresh("a") for _ in region.entry.arguments]
    for argument, name in zip(region.entry.arguments, names, strict=True):
        inner.set(argument, Scalar(name))
    inner.line(f"return {tuple_code(emit_body(inner, region))}")
    function = e.fresh("each")
    e.unit.add_function(f"def {function}({', '.join(names)}):", inner.body)
    return function


def _only(op: Operation) -> str | None:
    """The name of the one operation of a combine region on its two arguments; None if there is more to it."""
    block = op.regions[0].entry
    if len(block.operations) != 2 or len(op.results) != 1:
        return None
    first = block.operations[0]
    return first.name if set(first.operands) == set(block.arguments) else None


@emits("tt.reduce")
def reduce(e: Emitter, op: Operation) -> None:
    _reduction_cost(e, op)
    if skip(e, op):
        for result in op.results:
            e.set(result, Absent())
        return
    axis = op.attributes["axis"]
    only = _only(op)
    source = op.operands[0]
    result = op.results[0]
    tail = "" if isinstance(result.type, TensorType) else ".item()"
    if only in _SUMS or only in _EXTREMES:
        dense = e.dense(source)
        dtype = e.dtype(scalar_type(result.type))
        if only in _SUMS:
            code = f"{dense}.{_SUMS[only]}({axis}, dtype={dtype})"
        else:
            code = f"{_EXTREMES[only]}({dense}, {axis})"
        _set(e, op, [code + tail])
        return
    function = region_function(e, op.regions[0])
    found = e.fresh()
    sources = tuple_code(e.dense(operand) for operand in op.operands)
    e.line(f"{found} = reduce_by({function}, {sources}, {axis})")
    _set(e, op, [f"{found}[{number}]{tail}" for number in range(len(op.results))])


def _set(e: Emitter, op: Operation, expressions: list[str]) -> None:
    for result, code in zip(op.results, expressions, strict=True):
        name = e.let(code)
        e.set(result, Dense(name) if isinstance(result.type, TensorType) else Scalar(name))


def _reduction_cost(e: Emitter, op: Operation) -> None:
    inside = op.regions[0].entry.body
    first = inside[0] if len(inside) == 1 else None
    costs.reduction(e, op.operands[0].type, int(op.attributes["axis"]), first, len(op.operands))


@emits("tt.scan")
def scan(e: Emitter, op: Operation) -> None:
    _reduction_cost(e, op)
    costs.block_barrier(e)
    if skip(e, op):
        for result in op.results:
            e.set(result, Absent())
        return
    axis, reverse = op.attributes["axis"], bool(op.attributes.get("reverse", False))
    only = _only(op)
    if only in _SCANS and not reverse:
        dtype = e.dtype(scalar_type(op.results[0].type))
        e.result_dense(op, f"{e.dense(op.operands[0])}.{_SCANS[only]}({axis}, dtype={dtype})")
        return
    function = region_function(e, op.regions[0])
    sources = tuple_code(e.dense(operand) for operand in op.operands)
    found = e.fresh()
    e.line(f"{found} = scan_by({function}, {sources}, {axis}, {reverse})")
    for number, result in enumerate(op.results):
        e.set(result, Dense(e.let(f"{found}[{number}]")))


@emits("tt.map_elementwise")
def map_elementwise(e: Emitter, op: Operation) -> None:
    """A scalar region applied to each element; with `pack`, to groups of consecutive ones."""
    costs.issue(e, op.results[0].type, float(sum(1 for _ in op.regions[0].walk())))
    if skip(e, op):
        for result in op.results:
            e.set(result, Absent())
        return
    pack = int(op.attributes.get("pack", 1))
    body = op.regions[0]
    branches = len(body.blocks) > 1 or any(inner.regions for inner in body.walk())
    function = _number_function(e, body) if branches else region_function(e, body)
    found = e.fresh()
    sources = tuple_code(e.dense(operand) for operand in op.operands)
    if branches:
        dtypes = tuple_code(e.dtype(scalar_type(result.type)) for result in op.results)
        e.line(f"{found} = map_numbers({function}, {sources}, {pack}, {dtypes})")
    else:
        e.line(f"{found} = map_by({function}, {sources}, {pack}, {len(op.results)})")
    for number, result in enumerate(op.results):
        e.set(result, Dense(e.let(f"{found}[{number}]")))


@emits("tt.reduce.return", "tt.scan.return", "tt.map_elementwise.return")
def combine_return(e: Emitter, op: Operation) -> None:
    """Written by the function that holds it."""


def callee(e: Emitter, name: str) -> str:
    """The Python name of a function that was not inlined: a generator on the clock of the warp group that calls it."""
    key = name, e.warps
    found = e.unit.callees.get(key)
    if found is not None:
        return found
    function = e.unit.program.module.functions.get(name)
    if function is None:
        raise UnsupportedOperation(f"a call of {name}, which the module does not define")
    python = e.unit.callees[key] = e.fresh("call")
    inner = Emitter(e.unit, None, e.warps, timed=e.timed)
    inner.unbounded = e.unbounded
    names: list[str] = ["cta", "me"]
    if e.timed:
        names += ["t", "outer", "inner"]
    for argument in function.regions[0].entry.arguments:
        held = inner.variables(plain(argument), "a")
        inner.set(argument, held if inner.alive(argument) else Absent())
        names += codes(held)
    results = tuple_code(emit_body(inner, function.regions[0]))
    if e.timed:
        inner.settle_loads()
        inner.flush()
        results = f"t, {results}"
    inner.line(f"return {results}")
    if e.timed:
        inner.line("yield")  # a generator also where nothing else makes it one
    e.unit.add_function(f"def {python}({', '.join(names)}):", inner.body, prologue(inner) if e.timed else ())
    return python


@emits("tt.call")
def call(e: Emitter, op: Operation) -> None:
    """A function that was not inlined: written once, called like any other."""
    name = str(op.attributes["callee"])
    function = e.unit.program.module.functions.get(name)
    for argument, operand in zip(function.regions[0].entry.arguments if function else (), op.operands, strict=False):
        if operand in e.unit.arrays and e.shape(operand)[0] > 1:
            e.unit.arrays.add(argument)
    name = callee(e, name)
    e.settle_loads()
    e.charge(slots=20)
    e.flush()
    clock = ["t", *e.iteration()] if e.timed else []
    codes_of = [passed(e, [value]) for value in op.operands]
    # in the function, an array of one mbarrier is that mbarrier: another call may pass a slot of an array
    single = [value in e.unit.arrays and e.shape(value)[0] == 1 for value in op.operands]
    given = [f"{code}[0]" if one else code for one, found in zip(single, codes_of, strict=True) for code in found]
    arguments = ", ".join(["cta", "me", *clock, *given])
    found = [e.variables(plain(result), "v") for result in op.results]
    names = tuple_code(code for held in found for code in codes(held))
    if e.timed:
        e.line(f"t, {names} = yield from {name}({arguments})")
    else:
        e.line(f"{names} = {name}({arguments})" if op.results else f"{name}({arguments})")
    for held, result in zip(found, op.results, strict=True):
        e.set(result, held if e.alive(result) else Absent())
